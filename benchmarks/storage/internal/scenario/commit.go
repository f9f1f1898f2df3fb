package scenario

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/sqlflake/sqlflake/benchmarks/internal/measure"
	"github.com/sqlflake/sqlflake/benchmarks/storage/internal/engine"
)

var commit = Scenario{
	Name:     "commit",
	Title:    "One row a commit",
	Question: "How long does a program wait until a row is safe on the disk?",
	Cases: func(o Options, e engine.Engine) []measure.Params {
		n := 1 // SQLite has one writer at a time
		if e.Dialect() != "sqlite" && len(o.Clients) > 0 {
			n = slices.Max(o.Clients)
		}
		return []measure.Params{measure.P("rows", max(min(o.Rows/100, 1000), n), "clients", n)}
	},
	Run: runCommit,
}

// durably returns the statements that make a connection wait for the disk and that restore its setting. On MariaDB this
// is the server's setting.
func (b *Bench) durably(ctx context.Context) (session, after string, err error) {
	switch b.Dialect() {
	case "sqlite":
		var before int
		err = b.get(ctx, "PRAGMA synchronous", nil, &before)
		return "PRAGMA synchronous = FULL", fmt.Sprintf("PRAGMA synchronous = %d", before), err
	case "postgres":
		return "SET synchronous_commit = on", "RESET synchronous_commit", nil // to the connection's initial value
	}
	return "", "", nil
}

// flushes are the settings of servers without which no commit waits for the disk.
var flushes = map[string]struct{ name, query, safe string }{
	"postgres": {"fsync", "SHOW fsync", "on"},
	"mariadb":  {"innodb_flush_log_at_trx_commit", "SELECT @@innodb_flush_log_at_trx_commit", "1"},
}

// unflushed returns a note if the server does not flush commits regardless of the connection's setting.
func (b *Bench) unflushed(ctx context.Context) error {
	setting, value := flushes[b.Dialect()], ""
	if setting.query == "" {
		return nil
	}
	if err := b.get(ctx, setting.query, nil, &value); err != nil || value == setting.safe {
		return err
	}
	return engine.Unsupported("%s is %s on this server, so its commits do not wait for the disk", setting.name, value)
}

func runCommit(ctx context.Context, b *Bench) (map[string]float64, error) {
	table := b.Table("commits", account)
	if err := b.Create(ctx, table); err != nil {
		return nil, err
	}
	session, after, err := b.durably(ctx)
	if err != nil {
		return nil, err
	}
	var mu sync.Mutex
	var times []time.Duration
	in := Insert{
		Table: table, Rows: b.Number("rows"), Batch: 1, Clients: b.Number("clients"), Fill: fillAccount,
		Session: session, After: after,
		Took: func(d time.Duration) {
			mu.Lock()
			defer mu.Unlock()
			times = append(times, d)
		},
	}
	values, err := b.cost(ctx, in.Rows, func() error { return b.Do(ctx, in) }, table.Name)
	if err != nil {
		return nil, err
	}
	percentiles(values, times, "p50", "p99")
	return values, b.unflushed(ctx)
}
