// Command peers puts generators of other libraries and of this module through ordinary trouble, and prints which of
// them issue an ID twice.
//
//	go run ./peers
//
// What an ID costs is in the benchmarks of this package: go test -bench=. -count=6 ./peers
package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/sqlflake/sqlflake/benchmarks/internal/document"
)

const usage = `usage: go run ./peers

Puts generators of other libraries and of this module through ordinary trouble: a second instance, a restart after the
clock was set back, a burst and a crash, the end of the time bits. Each generator runs in its own processes, set up as
its documentation says. Prints a Markdown table of the IDs that came twice; takes 25 seconds.
`

func main() {
	if runChild() {
		return
	}

	if len(os.Args) > 1 {
		fmt.Fprint(os.Stderr, usage)
		os.Exit(2)
	}

	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Stdout, os.Stderr)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "peers:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, out, progress io.Writer) error {
	var all []result
	for i, s := range scenarios() {
		fmt.Fprintf(progress, "%d of %d: %s\n", i+1, len(scenarios()), s.title)
		results, err := s.run(ctx)
		if err != nil {
			return err
		}
		all = append(all, results...)
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
