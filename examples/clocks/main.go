// Clocks puts the rules of articles for clocks and sequences beside the generators of this repository: each goes through
// the same schedules on a simulated clock. It needs nothing.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

const usage = `usage: go run ./examples/clocks [-json]

Runs the rules that articles give for clocks and sequences, and the generators of this repository, through the same
schedules on a simulated clock, and prints a Markdown table of what was repeated, refused and waited for.

  -json  print JSON instead of a table

For example, what has repeated an ID:

  go run ./examples/clocks -json | jq -c '.[] | select(.duplicates > 0) | [.schedule, .generator, .duplicates]'
`

// result is a row of the table.
type result struct {
	Schedule     string        `json:"schedule"`
	Generator    string        `json:"generator"`
	IDs          int           `json:"ids"`
	Duplicates   int           `json:"duplicates"` // IDs that were issued before
	Errors       int           `json:"errors"`
	LongestWait  time.Duration `json:"longest_wait_ns"` // of a call, in simulated time
	TopRemainder float64       `json:"top_remainder"`   // share of the most frequent id % 16
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := run(ctx, os.Args[1:], os.Stdout)
	stop()
	if err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "clocks:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string, out io.Writer) error {
	flags := flag.NewFlagSet("clocks", flag.ContinueOnError)
	flags.SetOutput(out)
	flags.Usage = func() { fmt.Fprint(out, usage) }
	asJSON := flags.Bool("json", false, "")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if flags.NArg() > 0 {
		return fmt.Errorf("unexpected argument %q", flags.Arg(0))
	}
	results, err := simulate(ctx)
	if err != nil {
		return err
	}
	if *asJSON {
		encoder := json.NewEncoder(out)
		encoder.SetIndent("", "  ")
		return encoder.Encode(results)
	}
	_, err = io.WriteString(out, table(results))
	return err
}

// simulate runs each schedule with each of its contenders.
func simulate(ctx context.Context) (results []result, err error) {
	dir, err := os.MkdirTemp("", "clocks")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	for _, s := range schedules() {
		for _, c := range s.contenders {
			w := newWorld(ctx, filepath.Join(dir, strconv.Itoa(len(results))))
			t := trial{start: c.start, machines: [2]*host{w.host(5), w.host(6)}}
			if err := t.run(ctx, s.rounds); err != nil {
				return nil, fmt.Errorf("%s: %s: %w", s.name, c.name, err)
			}
			results = append(results, t.result(s.name, c.name))
		}
	}
	return results, nil
}

// table returns the results as a Markdown table. A schedule is named in its first row only.
func table(results []result) string {
	var out strings.Builder
	out.WriteString("| schedule | generator | duplicates | errors | longest wait | top `id % 16` |\n|---|---|--:|--:|--:|--:|\n")
	last := ""
	for _, r := range results {
		name := r.Schedule
		if name == last {
			name = ""
		}
		last = r.Schedule
		wait := (r.LongestWait + time.Millisecond - 1).Truncate(time.Millisecond)
		fmt.Fprintf(&out, "| %s | %s | %d | %d | %v | %.0f %% |\n", name, r.Generator, r.Duplicates, r.Errors, wait, 100*r.TopRemainder)
	}
	return out.String()
}
