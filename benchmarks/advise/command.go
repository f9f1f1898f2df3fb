package advise

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/sqlflake/sqlflake/benchmarks/advise/arrival"
)

const usage = `storage -advise predicts how full the pages of a primary key's index will be, and recommends a fill
factor and other settings. It needs no database: it simulates the order in which keys arrive, and inserts them into a model
of the database's B-tree. The scenario arrival measures the same on a database.

	go run ./storage -advise -db postgres -workers 16 -rate 10000 -skew 20ms -lag 5ms -batch 1

`

// Command parses the flags of storage -advise and prints the answer.
func Command(ctx context.Context, args []string, out, help io.Writer) error {
	var q Question
	flags := flag.NewFlagSet("storage -advise", flag.ContinueOnError)
	flags.SetOutput(io.Discard) // an error is one sentence; help follows below
	explain := func() {
		flags.SetOutput(help)
		fmt.Fprint(help, usage)
		flags.PrintDefaults()
	}
	flags.StringVar(&q.Database, "db", "postgres", strings.Join(Databases(), ", "))
	flags.IntVar(&q.Workers, "workers", 1, "generators that insert at the same time, such as processes")
	flags.Float64Var(&q.Rate, "rate", 1000, "rows a second inserted by all workers at peak load")
	flags.DurationVar(&q.Skew, "skew", 10*time.Millisecond, "difference between the slowest and the fastest clock")
	flags.DurationVar(&q.Lag, "lag", time.Millisecond,
		"mean `time` between drawing a key and its INSERT; 0 for one connection, in order")
	flags.IntVar(&q.Batch, "batch", 1, "rows of a statement, whose keys are drawn together")
	var layouts []string
	for _, l := range arrival.Layouts() {
		layouts = append(layouts, l.Name)
	}
	flags.StringVar(&q.Key, "key", layouts[0], strings.Join(layouts, ", "))
	flags.IntVar(&q.Row, "row", 100, "`bytes` of a row without its key (MariaDB, MySQL, SQLite store rows in the key's tree)")
	flags.IntVar(&q.Fill, "fill", 0, "current fill factor of the index in `percent` (PostgreSQL; default 90)")
	flags.StringVar(&q.Table, "table", "orders", "`name` of the table in statements")
	format := flags.String("format", "text", "text, json")
	if err := flags.Parse(args); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			explain()
		}
		return err
	}
	if flags.NArg() > 0 {
		return fmt.Errorf("unknown argument %q; see -advise -h", flags.Arg(0))
	}
	if *format != "text" && *format != "json" {
		return fmt.Errorf("-format: unknown format %q; there are text, json", *format)
	}
	answer, err := Ask(ctx, q)
	if err != nil {
		if ctx.Err() != nil {
			return err
		}
		return fmt.Errorf("-%w", err) // the message begins with the name of the flag
	}
	if *format == "json" {
		encoder := json.NewEncoder(out)
		encoder.SetIndent("", "  ")
		encoder.SetEscapeHTML(false)
		return encoder.Encode(answer)
	}
	return answer.WriteText(out)
}
