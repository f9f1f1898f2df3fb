package scenario

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"github.com/sqlflake/sqlflake/benchmarks/internal/measure"
	"github.com/sqlflake/sqlflake/benchmarks/storage/internal/engine"
	"github.com/sqlflake/sqlflake/benchmarks/storage/internal/key"
)

var mixed = Scenario{
	Name:     "mixed",
	Title:    "A mixed workload",
	Question: "Does the key show when half of the statements read a row, a quarter insert and a quarter update recent rows?",
	Cases: func(o Options, e engine.Engine) []measure.Params {
		clients := 1
		if e.Dialect() != "sqlite" {
			clients = slices.Max(o.Clients)
		}
		return []measure.Params{measure.P("rows", share(o.Rows, 8, 2000), "clients", clients)}
	},
	Timed: true,
	Run:   runMixed,
}

// mix is a workload of single statements. Its clients are threads of one process and take their keys from one source.
type mix struct {
	b     *Bench
	table engine.Table
	ids   []any // of the rows that are read and updated

	mu     sync.Mutex
	source key.Source // nil if the database makes the keys
	took   []time.Duration
	added  int // rows
}

func runMixed(ctx context.Context, b *Bench) (map[string]float64, error) {
	m := &mix{b: b, table: b.Table("mixed", account)}
	in, err := b.fill(ctx, m.table, b.Number("rows"), &m.ids)
	if err != nil {
		return nil, err
	}
	m.source = in.Source
	n, clients := max(len(m.ids)/10, min(len(m.ids), 1000), 4), b.Number("clients")
	values, err := b.cost(ctx, n, func() error {
		return concurrently(ctx, clients, func(ctx context.Context, client int) error { return m.client(ctx, client, clients, n) })
	}, m.table.Name)
	if err != nil {
		return nil, err
	}
	values["operations"] = values["rate"]
	delete(values, "rate") // of rows
	percentiles(values, m.took, "p50", "p99")
	var rows int
	err = b.get(ctx, "SELECT count(*) FROM "+m.table.Name, nil, &rows)
	if err == nil && rows != len(m.ids)+m.added {
		err = fmt.Errorf("the table has %d rows, want %d", rows, len(m.ids)+m.added)
	}
	return values, err
}

// Draw makes keys for all clients.
func (m *mix) Draw(dst []any) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.source.Draw(dst)
}

func (m *mix) client(ctx context.Context, client, clients, n int) error {
	conn, err := m.b.DB().Conn(ctx)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close() }()
	w := &writer{b: m.b, in: Insert{Table: m.table, Fill: fillAccount}, conn: conn}
	if m.source != nil {
		w.source = m
	}
	defer w.close()
	get, err := conn.PrepareContext(ctx, fmt.Sprintf("SELECT name, amount, created_at FROM %s WHERE id = %s",
		m.table.Name, m.b.Placeholder(1)))
	if err != nil {
		return err
	}
	defer func() { _ = get.Close() }()
	set, err := conn.PrepareContext(ctx, m.b.updateText(m.table.Name))
	if err != nil {
		return err
	}
	defer func() { _ = set.Close() }()
	random := rand.New(rand.NewPCG(m.b.Options.Seed, uint64(client))) //nolint:gosec // a benchmark's choice of rows
	newest := m.ids[max(len(m.ids)-recent, 0):]
	var took []time.Duration
	for i := client; i < n; i += clients {
		start := time.Now()
		switch len(took) % 4 {
		case 0, 2:
			var name string
			var amount, created int64
			id := m.b.Value(m.ids[random.IntN(len(m.ids))])
			err = get.QueryRowContext(ctx, id).Scan(&name, &amount, &created)
		case 1:
			err = w.write(ctx, 1, len(m.ids)+i, 1)
		case 3:
			err = updateRow(ctx, set, m.b.Value(newest[random.IntN(len(newest))]))
		}
		if err != nil {
			return err
		}
		took = append(took, time.Since(start))
	}
	m.b.Progress(len(took))
	m.mu.Lock()
	defer m.mu.Unlock()
	m.took, m.added = append(m.took, took...), m.added+(len(took)+2)/4
	return nil
}
