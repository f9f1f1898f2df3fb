// Command storage compares what primary keys cost a database: the bytes of auto-increment, snowflake and UUID keys in
// tables and indexes, and the speed of inserting, finding and deleting rows.
//
//	go run ./storage -scenario load
//
// loads SQLite tables with each kind of key and prints a table of figures, with the ratio of each to auto-increment.
// With -out it writes a report as HTML, Markdown, CSV and JSON, and can be resumed.
// -h lists the flags; the README of this module explains the figures.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"

	"github.com/sqlflake/sqlflake/benchmarks/advise"
)

func main() { os.Exit(exit()) }

// exit runs the tool and returns its exit code.
func exit() int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop) // a second Ctrl-C ends the program at once
	err := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	if err == nil || errors.Is(err, flag.ErrHelp) {
		return 0
	}
	if text := sentence(err); text != context.Canceled.Error() && text != fmt.Sprint(context.Cause(ctx)) {
		fmt.Fprintln(os.Stderr, "storage:", text)
	}
	if errors.Is(err, context.Canceled) {
		return 130
	}
	return 1
}

// sentence writes an error in one line, without duplicate lines.
func sentence(err error) string {
	var parts []string
	seen := map[string]bool{}
	for line := range strings.Lines(err.Error()) {
		if line = strings.TrimSpace(line); line != "" && !seen[line] {
			seen[line] = true
			parts = append(parts, line)
		}
	}
	return strings.ReplaceAll(strings.Join(parts, "; "), ":; ", ": ")
}

func run(ctx context.Context, args []string, out, progress io.Writer) error {
	if at := slices.IndexFunc(args, func(arg string) bool { return arg == "-advise" || arg == "--advise" }); at >= 0 {
		return advise.Command(ctx, slices.Delete(slices.Clone(args), at, at+1), out, progress)
	}
	s, err := parse(args, progress)
	if err != nil {
		return err
	}
	switch {
	case s.cleanup:
		return s.clean(ctx, out)
	case s.report != "":
		return s.render(out, progress)
	case s.old != "":
		return s.compare(out)
	}
	return s.measure(ctx, out, progress)
}
