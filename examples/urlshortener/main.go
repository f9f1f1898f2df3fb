// Urlshortener is a web service that shortens links: a page and an API. Codes are the Base62 of the keys. The links are
// in a SQLite file, PostgreSQL, MariaDB or MySQL; any number of copies may run on one database, and none needs a number.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"gorm.io/driver/mysql"
	"gorm.io/driver/postgres"
	"gorm.io/driver/sqlite"
	"gorm.io/gorm"
)

const requestTime = 5 * time.Second

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Args[1:], os.Stdout)
	stop()
	if err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "urlshortener:", err)
		os.Exit(1)
	}
}

// run serves until ctx ends, and then finishes the requests that it has accepted.
func run(ctx context.Context, args []string, out io.Writer) (err error) {
	flags := flag.NewFlagSet("urlshortener", flag.ContinueOnError)
	flags.SetOutput(out)
	addr := flags.String("addr", "127.0.0.1:8080", "`address` to listen on; port 0 chooses one")
	dsn := flags.String("dsn", "", "`DSN` of PostgreSQL (postgres://...) or MySQL (default the SQLite file urlshortener.db)")
	base := flags.String("url", "", "`URL` that short links begin with (default http:// and the address)")
	if err := flags.Parse(args); err != nil {
		return err
	}
	listener, err := net.Listen("tcp", *addr)
	if err != nil {
		return err
	}
	defer listener.Close()
	if *base == "" {
		*base = "http://" + listener.Addr().String()
	}
	dialector, connections := dialectorOf(*dsn)
	s, err := open(ctx, dialector, connections, strings.TrimSuffix(*base, "/"))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.close()) }()

	server := &http.Server{
		Handler:        s.handler(),
		ReadTimeout:    10 * time.Second,
		WriteTimeout:   10*time.Second + requestTime,
		MaxHeaderBytes: 16 << 10,
	}
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(listener) }()
	fmt.Fprintf(out, "urlshortener: http://%s/\n", listener.Addr())
	select {
	case err := <-ended:
		return err
	case <-ctx.Done():
	}
	limit, cancel := context.WithTimeout(context.WithoutCancel(ctx), 2*requestTime)
	defer cancel()
	return server.Shutdown(limit)
}

// dialectorOf returns the driver and the size of the pool. SQLite has one writer at a time, and others would poll for
// their turn.
func dialectorOf(dsn string) (dialector gorm.Dialector, connections int) {
	switch {
	case dsn == "":
		return sqlite.Open("urlshortener.db?_journal_mode=WAL&_busy_timeout=4000&_txlock=immediate"), 1
	case strings.HasPrefix(dsn, "postgres"):
		return postgres.Open(dsn), 16
	}
	return mysql.Open(dsn), 16
}
