package scenario

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/sqlflake/sqlflake/benchmarks/internal/measure"
	"github.com/sqlflake/sqlflake/benchmarks/storage/internal/engine"
	"github.com/sqlflake/sqlflake/benchmarks/storage/internal/key"
)

var load = Scenario{
	Name:     "load",
	Title:    "Inserting rows",
	Question: "How much disk space does a key take, and how fast are inserts?",
	Kinds:    []string{"auto", "snowflake", "uuidv7", "uuidv7-server", "uuidv4"},
	Sizes:    []string{"snowflake-clustered", "snowflake-skewed", "snowflake-bigint", "uuidv4-text"},
	Cases: func(o Options, _ engine.Engine) []measure.Params {
		return []measure.Params{measure.P("rows", o.Rows, "batch", slices.Max(o.Batch))}
	},
	Run: inserting("load"),
}

var clients = Scenario{
	Name:     "clients",
	Title:    "Several writers",
	Question: "What changes if several processes, each with its own worker and connection, insert at the same time?",
	Kinds:    []string{"auto", "snowflake", "snowflake-clustered", "uuidv7", "uuidv7-server"},
	Sizes:    []string{"snowflake-seconds", "uuidv4"},
	Cases: func(o Options, e engine.Engine) []measure.Params {
		if e.Dialect() == "sqlite" {
			return nil // one writer at a time
		}

		var cases []measure.Params
		for _, batch := range o.Batch {
			rows := share(o.Rows, max(map[int]int{1: 8, 10: 2}[batch], 1), 5000) // small statements are slow
			cases = append(cases, measure.P("rows", max(rows, o.Clients), "clients", o.Clients, "batch", batch))
		}

		return cases
	},
	Run: inserting("clients"),
}

var paced = Scenario{
	Name:  "paced",
	Title: "Writers that do not hurry",
	Question: "How large is the table if several processes insert a row at a time, at an ordinary rate? Their order " +
		"is simulated.",
	Kinds: slices.Concat(clients.Kinds, clients.Sizes),
	Cases: func(o Options, e engine.Engine) []measure.Params {
		if e.Dialect() == "sqlite" {
			return nil // one writer at a time
		}
		var cases []measure.Params
		for _, pace := range []int{125, 1} { // rows a second and client
			cases = append(cases, measure.P("rows", o.Rows, "clients", o.Clients, "batch", 1, "pace", pace))
		}
		return cases
	},
	Once: func(measure.Params) bool { return true }, // sizes only
	Run: func(ctx context.Context, b *Bench) (map[string]float64, error) {
		return b.paced(ctx, key.Config{
			Seed: b.Options.Seed, Clients: b.Number("clients"), Pace: b.Number("pace"), Batch: b.Number("batch"),
		})
	},
}

// paced inserts the rows of all clients in the order of their arrival, over one connection, in large statements: a
// B-tree does not tell them from the single ones.
func (b *Bench) paced(ctx context.Context, c key.Config) (map[string]float64, error) {
	table := b.Table("paced", account)
	source, err := b.Kind.New(c)
	if err == nil {
		err = b.Create(ctx, table)
	}
	if err != nil {
		return nil, err
	}

	in := Insert{Table: table, Rows: b.Number("rows"), Batch: 1000, Source: source, Fill: fillAccount}
	values, err := b.Measure(ctx, table.Name, in.Rows, func() error { return b.Do(ctx, in) })
	delete(values, "rate")
	return values, err
}

// account is the table that most scenarios fill: key, short name, amount and time.
var account = []engine.Column{{Name: "name", Text: true}, {Name: "amount"}, {Name: "created_at"}}

// fillAccount sets the columns after the key of row i.
func fillAccount(row []any, i int) {
	row[0] = fmt.Sprintf("account number %06d", i%1_000_000)
	row[1] = int64(i%10_000) * 100
	row[2] = int64(1_800_000_000_000 + i)
}

// Insert describes rows to insert into a table.
type Insert struct {
	Table engine.Table
	Rows  int
	Batch int // rows a statement
	// Clients insert concurrently, each with its own connection and source of keys; at least 1.
	Clients int
	Source  key.Source             // of a single client whose keys continue an earlier insert; nil: a new one
	First   int                    // number of the first row, for Fill
	Fill    func(row []any, i int) // sets the columns after the key
	Keep    func(id any)           // called with each key, of a single client; may be nil
}

// readsBack returns an error if the database makes the keys and cannot return them.
func (b *Bench) readsBack() error {
	if !b.Kind.Counted || b.Returning() {
		return nil
	}
	return engine.Unsupported("this server has no INSERT ... RETURNING, so a program cannot read back the keys that " +
		"it has counted")
}

// Do inserts the rows. If ctx ends it returns the context's cause, and the first error of a client ends the others.
func (b *Bench) Do(ctx context.Context, in Insert) error {
	if in.Keep != nil {
		if err := b.readsBack(); err != nil {
			return err
		}
	}

	clients := max(in.Clients, 1)
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)

	var wg sync.WaitGroup
	for client := range clients {
		wg.Go(func() {
			if err := b.client(ctx, in, client, clients); err != nil {
				cancel(err)
			}
		})
	}

	wg.Wait()
	return context.Cause(ctx)
}

// source returns the keys of one of several clients in this round.
func (b *Bench) source(client, clients int) (key.Source, error) {
	return b.Kind.New(key.Config{Seed: b.Options.Seed + uint64(b.Round), Client: client, Clients: clients})
}

// client inserts the rows first, first+clients, ... in batches.
func (b *Bench) client(ctx context.Context, in Insert, client, clients int) error {
	conn, err := b.DB().Conn(ctx)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close() }()

	source := in.Source
	if source == nil {
		if source, err = b.source(client, clients); err != nil {
			return err
		}
	}

	w := &writer{b: b, in: in, conn: conn, source: source}
	defer w.close()

	n := (in.Rows - client + clients - 1) / clients
	for next := in.First + client; n > 0; {
		size := min(in.Batch, n)
		if err := w.write(ctx, size, next, clients); err != nil {
			return err
		}
		n -= size
		next += size * clients
	}

	return nil
}

// writer writes batches over one connection.
type writer struct {
	b      *Bench
	in     Insert
	conn   *sql.Conn
	source key.Source // nil: the database makes the keys

	size      int // of the prepared statement, in rows
	statement *sql.Stmt
	keys      []any
	args      []any
}

func (w *writer) close() {
	if w.statement != nil {
		_ = w.statement.Close()
	}
}

// write inserts size rows. The first is row first, and the others follow in steps.
func (w *writer) write(ctx context.Context, size, first, step int) error {
	sent := 0 // columns with a key
	if w.source != nil {
		sent = 1
		w.keys = append(w.keys[:0], make([]any, size)...)
		if err := w.source(w.keys); err != nil {
			return fmt.Errorf("%s keys: %w", w.b.Kind.Name, err)
		}
	}

	width := sent + len(w.in.Table.Columns)
	w.args = append(w.args[:0], make([]any, size*width)...)
	for i := range size {
		row := w.args[i*width : (i+1)*width]
		if sent > 0 {
			row[0] = w.b.Value(w.keys[i])
			if w.in.Keep != nil {
				w.in.Keep(w.keys[i])
			}
		}
		w.in.Fill(row[sent:], first+i*step)
	}

	reads := sent == 0 && w.in.Keep != nil
	if w.statement == nil || w.size != size {
		w.close()
		var err error
		w.statement, err = w.conn.PrepareContext(ctx, w.b.insertText(w.in.Table, size, sent > 0, reads))
		if err != nil {
			return err
		}
		w.size = size
	}

	if !reads {
		_, err := w.statement.ExecContext(ctx, w.args...)
		return err
	}

	rows, err := w.statement.QueryContext(ctx, w.args...)
	if err != nil {
		return err
	}

	return eachKey(rows, w.in.Keep)
}

// eachKey calls f with the keys that a statement returns: int64, or UUIDs as text.
func eachKey(rows *sql.Rows, f func(id any)) error {
	defer rows.Close()

	for rows.Next() {
		var id any
		if err := rows.Scan(&id); err != nil {
			return err
		}
		f(id)
	}

	return errors.Join(rows.Err(), rows.Close())
}

// insertText returns the statement that inserts rows, with or without their keys.
func (b *Bench) insertText(t engine.Table, rows int, withKey, returning bool) string {
	var names []string
	if withKey {
		names = []string{"id"}
	}

	for _, c := range t.Columns {
		names = append(names, c.Name)
	}

	var text strings.Builder
	fmt.Fprintf(&text, "INSERT INTO %s (%s) VALUES ", t.Name, strings.Join(names, ", "))
	before := "("
	for i := range rows * len(names) {
		if i > 0 && i%len(names) == 0 {
			before = "), ("
		}
		text.WriteString(before + b.Placeholder(i+1))
		before = ", "
	}

	text.WriteByte(')')
	if returning {
		text.WriteString(" RETURNING id")
	}

	return text.String()
}

var children = Scenario{
	Name:     "children",
	Title:    "Rows that refer to others",
	Question: "What does a key cost in the tables that refer to it?",
	Kinds:    four,
	Sizes:    []string{"uuidv4-text"},
	Cases: func(o Options, _ engine.Engine) []measure.Params {
		rows := min(o.Rows, mostChildren)
		return []measure.Params{measure.P("parents", max(rows/5, 1), "rows", rows)}
	},
	Run: runChildren,
}

// mostChildren is the most rows of the table, which is filled again for each run.
const mostChildren = 50_000

// recent is the number of rows among which a parent is chosen: rows belong to the latest ones.
const recent = 1000

func runChildren(ctx context.Context, b *Bench) (map[string]float64, error) {
	parent := b.Table("children_parent", account)
	child := b.Table("children", []engine.Column{
		{Name: "parent_id", References: parent.Name}, {Name: "amount"},
	}, "parent_id")
	if err := b.Create(ctx, parent, child); err != nil {
		return nil, err
	}

	var parents []any
	err := b.Do(ctx, Insert{
		Table: parent, Rows: b.Number("parents"), Batch: 1000, Fill: fillAccount,
		Keep: func(id any) { parents = append(parents, id) },
	})
	if err != nil {
		return nil, err
	}

	random, rows := b.random(), b.Number("rows")
	in := Insert{Table: child, Rows: rows, Batch: 1000, Fill: func(row []any, i int) {
		newest := i * len(parents) / rows
		row[0], row[1] = b.Value(parents[max(newest-random.IntN(recent), 0)]), int64(i)
	}}
	return b.Measure(ctx, child.Name, rows, func() error { return b.Do(ctx, in) }, parent.Name)
}
