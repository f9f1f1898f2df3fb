// Javascript shows what JavaScript makes of 64-bit IDs. Two users made in one millisecond, sent as JSON numbers, become
// one number, and both links are dead. As strings, which a snowflake.ID is in JSON, both links open; so they do with
// numbers of the layout JavaScriptSafe.
//
// It runs the demonstration in node, or with -serve in a browser. The database is SQLite in memory.
package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"os/signal"
	"time"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := run(ctx, os.Args[1:], os.Stdout)
	stop()
	if err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "javascript:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string, out io.Writer) error {
	flags := flag.NewFlagSet("go run ./examples/javascript", flag.ContinueOnError)
	flags.SetOutput(out)
	address := flags.String("serve", "", "serve the page at this `address`, such as 127.0.0.1:8080, until interrupted")
	asJSON := flags.Bool("json", false, "print JSON instead of tables")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if flags.NArg() > 0 {
		return fmt.Errorf("unexpected argument %q", flags.Arg(0))
	}
	db, err := openDB()
	if err != nil {
		return err
	}
	db = db.WithContext(ctx)
	if err := createUsers(db); err != nil {
		return err
	}
	listener, err := net.Listen("tcp", cmp.Or(*address, "127.0.0.1:0"))
	if err != nil {
		return err
	}
	limit := 10 * time.Second
	server := &http.Server{Handler: newHandler(db, time.Now), ReadTimeout: limit, WriteTimeout: limit, IdleTimeout: limit}
	go func() { _ = server.Serve(listener) }()
	defer func() { _ = server.Close() }()
	base := "http://" + listener.Addr().String()
	if *address != "" {
		fmt.Fprintln(out, base)
		<-ctx.Done()
		return nil
	}

	var r result
	if node, missing := exec.LookPath("node"); missing == nil {
		r, err = inNode(ctx, node, base)
	} else {
		r, err = inGo(db, time.Now())
		r.Engine = "Go as float64, because node is not installed"
	}
	if err != nil {
		return err
	}
	if *asJSON {
		encoder := json.NewEncoder(out)
		encoder.SetIndent("", "  ")
		return encoder.Encode(r)
	}
	return r.print(out)
}
