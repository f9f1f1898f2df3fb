// Command peers puts generators of other libraries and of this module through ordinary trouble, and prints which of
// them issue an ID twice.
//
//	go run ./peers
//
// What an ID costs is in the benchmarks of this package: go test -bench=. -count=6 ./peers
package main

import (
	"context"
	"encoding/csv"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/sqlflake/sqlflake/benchmarks/internal/document"
)

const usage = `usage: go run ./peers [-csv]

Puts generators of other libraries and of this module through ordinary trouble: a second instance, a restart after the
clock was set back, a burst and a crash, the end of the time bits. Each generator runs in its own processes, set up as
its documentation says. Prints a Markdown table of the IDs that came twice; takes 25 seconds.

  -csv  print CSV, a line for each library and event, instead of the table
`

func main() {
	if isChild() {
		return
	}

	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	interrupted := ctx.Err() != nil
	stop()

	switch {
	case err == nil || errors.Is(err, flag.ErrHelp):
	case interrupted:
		os.Exit(130)
	default:
		fmt.Fprintln(os.Stderr, "peers:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string, out, progress io.Writer) error {
	flags := flag.NewFlagSet("peers", flag.ContinueOnError)
	flags.SetOutput(out)
	flags.Usage = func() { fmt.Fprint(out, usage) }
	asCSV := flags.Bool("csv", false, "")

	if err := flags.Parse(args); err != nil {
		return err
	}
	if flags.NArg() > 0 {
		return fmt.Errorf("unknown argument %q; see -h", flags.Arg(0))
	}

	var all []result
	for i, s := range scenarios() {
		fmt.Fprintf(progress, "%d of %d: %s\n", i+1, len(scenarios()), s.title)
		results, err := s.run(ctx)
		if err != nil {
			return err
		}
		all = append(all, results...)
	}

	if *asCSV {
		rows := [][]string{columns}
		for _, r := range all {
			rows = append(rows, r.values())
		}
		return csv.NewWriter(out).WriteAll(rows)
	}

	_, err := io.WriteString(out, table(all))
	return err
}

// table has a row for each scenario and a column for each library.
func table(all []result) string {
	rows := [][]string{{"event"}}
	for _, l := range libraries() {
		rows[0] = append(rows[0], l.title)
	}

	for _, r := range all { // in this order
		if last := len(rows) - 1; rows[last][0] != r.Event {
			rows = append(rows, []string{r.Event})
		}
		rows[len(rows)-1] = append(rows[len(rows)-1], r.cell())
	}

	return document.Table(rows)
}
