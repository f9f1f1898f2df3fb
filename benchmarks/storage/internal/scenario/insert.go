package scenario

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/sqlflake/sqlflake/benchmarks/storage/internal/engine"
	"github.com/sqlflake/sqlflake/benchmarks/storage/internal/key"
)

// account is the table that most scenarios fill: key, short name, amount and time.
var account = []engine.Column{{Name: "name", Type: engine.Name}, {Name: "amount"}, {Name: "created_at"}}

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
	Batch int  // rows a statement
	Bulk  bool // COPY or the like, Batch rows at a time
	// Clients insert concurrently, each with its own connection and source of keys; at least 1.
	Clients int
	// Source has the keys if one client's keys go on from an earlier insert; nil: a new one of the kind for each client.
	Source key.Source
	First  int                      // number of the first row, for Fill
	Fill   func(row []any, i int)   // sets the columns after the key
	Keep   func(client int, id any) // called with each key that the program knows; may be nil
	Took   func(d time.Duration)    // called with the duration of each statement, from any goroutine
	Drew   func(d time.Duration)    // called with the time to draw its keys, from any goroutine
	// Session and After are statements that each connection runs before and after its work; empty: none. Connections
	// return to the pool.
	Session, After string
}

// readsBack returns an error if the database makes the keys and cannot return them.
func (b *Bench) readsBack() error {
	if !b.Kind.Counted || b.Returning() {
		return nil
	}
	return engine.Unsupported("this server has no INSERT ... RETURNING, so a program cannot read back the keys that it has " +
		"counted")
}

// Do inserts the rows.
func (b *Bench) Do(ctx context.Context, in Insert) error {
	if b.Kind.ReadBack || in.Keep != nil {
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

// client inserts the rows first, first+clients, ... in batches.
func (b *Bench) client(ctx context.Context, in Insert, client, clients int) (err error) {
	conn, err := b.DB().Conn(ctx)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close() }()
	if in.Session != "" {
		if _, err := conn.ExecContext(ctx, in.Session); err != nil {
			return err
		}
		defer func() {
			if _, failed := conn.ExecContext(context.WithoutCancel(ctx), in.After); err == nil {
				err = failed
			}
		}()
	}
	source := in.Source
	if source == nil {
		source, err = b.Kind.New(key.Config{Seed: b.Options.Seed + uint64(b.Round), Client: client, Clients: clients})
		if err != nil {
			return err
		}
	}
	w := &writer{b: b, in: in, conn: conn, source: source, client: client}
	defer w.close()
	n := in.Rows / clients
	if client < in.Rows%clients {
		n++
	}
	next := in.First + client
	for n > 0 {
		size := min(in.Batch, n)
		start := time.Now()
		if err := w.write(ctx, size, next, clients); err != nil {
			return err
		}
		if in.Took != nil {
			in.Took(time.Since(start))
		}
		b.Progress(size)
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
	source key.Source
	client int

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
	width := len(w.in.Table.Columns)
	sent := 0
	if w.source != nil {
		sent = 1
	}
	w.keys = append(w.keys[:0], make([]any, size*sent)...)
	if w.source != nil {
		start := time.Now()
		if err := w.source.Draw(w.keys); err != nil {
			return fmt.Errorf("%s keys: %w", w.b.Kind.Name, err)
		}
		if w.in.Drew != nil {
			w.in.Drew(time.Since(start))
		}
	}
	w.args = append(w.args[:0], make([]any, size*(width+sent))...)
	for i := range size {
		row := w.args[i*(width+sent):]
		if w.source != nil {
			row[0] = w.b.Value(w.keys[i])
			if w.in.Keep != nil {
				w.in.Keep(w.client, w.keys[i])
			}
		}
		w.in.Fill(row[sent:sent+width], first+i*step)
	}
	if w.in.Bulk {
		return w.bulk(ctx, size, width+sent)
	}
	if err := w.prepare(ctx, size, width+sent); err != nil {
		return err
	}
	if w.b.Kind.ReadBack || w.source == nil && w.in.Keep != nil {
		return w.readBack(ctx)
	}
	_, err := w.statement.ExecContext(ctx, w.args...)
	return err
}

func (w *writer) columns() []string {
	var names []string
	if w.source != nil {
		names = append(names, "id")
	}
	for _, c := range w.in.Table.Columns {
		names = append(names, c.Name)
	}
	return names
}

func (w *writer) prepare(ctx context.Context, size, width int) error {
	if w.statement != nil && w.size == size {
		return nil
	}
	w.close()
	var text strings.Builder
	fmt.Fprintf(&text, "INSERT INTO %s (%s) VALUES ", w.in.Table.Name, strings.Join(w.columns(), ", "))
	for i := range size {
		if i > 0 {
			text.WriteString(", ")
		}
		for j := range width {
			text.WriteString(map[bool]string{true: "(", false: ", "}[j == 0])
			text.WriteString(w.b.Placeholder(i*width + j + 1))
		}
		text.WriteByte(')')
	}
	if w.b.Kind.ReadBack || w.source == nil && w.in.Keep != nil {
		text.WriteString(" RETURNING id")
	}
	var err error
	w.statement, err = w.conn.PrepareContext(ctx, text.String())
	w.size = size
	return err
}

func (w *writer) readBack(ctx context.Context) error {
	rows, err := w.statement.QueryContext(ctx, w.args...)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		var id int64
		if err := rows.Scan(&id); err != nil {
			return err
		}
		if w.in.Keep != nil {
			w.in.Keep(w.client, id)
		}
	}
	return errors.Join(rows.Err(), rows.Close())
}

func (w *writer) bulk(ctx context.Context, size, width int) error {
	rows := make([][]any, size)
	for i := range rows {
		rows[i] = w.args[i*width : (i+1)*width]
	}
	return w.b.Bulk(ctx, w.conn, w.in.Table.Name, w.columns(), rows)
}
