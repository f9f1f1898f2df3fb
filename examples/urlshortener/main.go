// Urlshortener is a web service that shortens links: an API, a page for visitors and one for the operator. Its links are
// in a SQLite file, PostgreSQL, MariaDB or MySQL. Any number of copies may run on one database, and none needs a number.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"
)

// requestTime limits what a request may wait for: the database, a connection of the pool, an ID.
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

// config is what the flags and the environment say.
type config struct {
	addr  string
	file  string        // of SQLite, unless there is a dsn
	dsn   string        // of PostgreSQL or MySQL
	codes string        // the kind
	keys  string        // for opaque codes
	base  *url.URL      // what the short links begin with
	limit time.Duration // of a request's waits
}

func parse(args []string, out io.Writer) (config, error) {
	c, empty := config{limit: requestTime}, error(nil)
	flags := flag.NewFlagSet("go run ./examples/urlshortener", flag.ContinueOnError)
	flags.SetOutput(out)
	flags.StringVar(&c.addr, "addr", "127.0.0.1:8080", "`address` to listen on; port 0 chooses one")
	flags.StringVar(&c.file, "db", "urlshortener.db", "SQLite `file`, created if it does not exist")
	flags.StringVar(&c.dsn, "dsn", "", "`DSN` of PostgreSQL or MySQL to use instead, such as postgres://postgres@localhost/test\n"+
		"or user:password@tcp(host:port)/database")
	flags.StringVar(&c.codes, "codes", "id", "`kind` of the codes: id, short or opaque")
	flags.Func("url", "`URL` that the short links begin with, such as https://s.example\n"+
		"(default http:// and the address that it listens on)", func(text string) (err error) {
		c.base, err = url.Parse(text)
		if err != nil || !isHost(c.base) || text != "http://"+c.base.Host && text != "https://"+c.base.Host || strings.HasSuffix(text, ":") {
			return errors.New("want http:// or https:// and a host, and nothing behind it")
		}
		return nil
	})
	if err := flags.Parse(args); err != nil {
		return c, err
	}
	if flags.NArg() > 0 {
		return c, fmt.Errorf("unexpected argument %q", flags.Arg(0))
	}
	flags.Visit(func(f *flag.Flag) { // such as -dsn "$DSN" where DSN is not set
		if f.Name != "url" && f.Value.String() == "" {
			empty = fmt.Errorf("-%s is empty", f.Name)
		}
	})
	c.keys = os.Getenv("URLSHORTENER_KEYS")
	return c, empty
}

// run serves until ctx ends, and then finishes the requests that it has accepted.
func run(ctx context.Context, args []string, out io.Writer) (err error) {
	c, err := parse(args, out)
	if err != nil {
		return err
	}
	listener, err := net.Listen("tcp", c.addr)
	if err != nil {
		return err
	}
	defer listener.Close()
	if c.base == nil {
		c.base = addressOf(listener)
	}
	s, err := open(ctx, c)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.close()) }()

	server := &http.Server{
		Handler:           s.handler(),
		ReadHeaderTimeout: 5 * time.Second,
		ReadTimeout:       10 * time.Second,
		WriteTimeout:      10*time.Second + requestTime,
		IdleTimeout:       time.Minute,
		MaxHeaderBytes:    16 << 10,
	}
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(listener) }()
	fmt.Fprintf(out, "urlshortener: %s/\n", addressOf(listener))
	select {
	case err := <-ended:
		return err
	case <-ctx.Done():
	}
	limit, cancel := context.WithTimeout(context.WithoutCancel(ctx), 2*requestTime)
	defer cancel()
	return server.Shutdown(limit)
}

func addressOf(listener net.Listener) *url.URL {
	host := listener.Addr().String()
	if at, ok := listener.Addr().(*net.TCPAddr); ok && at.IP.IsUnspecified() { // as with -addr :8080
		host = fmt.Sprintf("localhost:%d", at.Port)
	}
	return &url.URL{Scheme: "http", Host: host}
}
