package scenario

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"

	"github.com/sqlflake/sqlflake/benchmarks/storage/internal/engine"
	"github.com/sqlflake/sqlflake/benchmarks/storage/internal/key"
)

// styles are the ways to save a graph. rows: a statement for each row, as object-relational mappers do that read keys
// back row by row. statements: a statement for each level. pipelined: all statements together whose keys are known.
// Keys made by the client are all known; those of auto-increment are known when the level above has been returned.
var styles = map[string]func(s *saver, ctx context.Context) error{
	"rows":       func(s *saver, ctx context.Context) error { return s.oneByOne(ctx, true) },
	"statements": func(s *saver, ctx context.Context) error { return s.oneByOne(ctx, false) },
	"pipelined":  (*saver).pipelined,
}

// saver saves graphs on one connection.
type saver struct {
	b      *Bench
	conn   *sql.Conn
	source key.Source // nil: the database makes the keys
	levels [3]level
}

// level is a table of a graph.
type level struct {
	table  engine.Table
	rows   int   // of a graph
	parent int   // of row i is row i/parent of the level above
	keys   []any // of the graph that is being saved
}

// saver creates the tables.
func (b *Bench) saver(ctx context.Context) (*saver, error) {
	s := &saver{b: b}
	order := b.Table("graph_order", []engine.Column{{Name: "amount"}})
	line := b.Table("graph_line", []engine.Column{
		{Name: "order_id", Type: engine.Key, References: order.Name}, {Name: "amount"},
	}, "order_id")
	tag := b.Table("graph_tag", []engine.Column{
		{Name: "line_id", Type: engine.Key, References: line.Name}, {Name: "amount"},
	}, "line_id")
	for i, l := range []level{
		{order, 1, 1, nil}, {line, graphLines, graphLines, nil}, {tag, graphLines * graphTags, graphTags, nil},
	} {
		l.keys = make([]any, l.rows)
		s.levels[i] = l
	}
	var err error
	if s.source, err = b.source(0, 1, nil); err != nil {
		return nil, err
	}
	return s, b.Create(ctx, order, line, tag)
}

// readsBack reports whether the keys of a level are read from the database. Nothing refers to those of the last level.
func (s *saver) readsBack(at int) bool { return s.source == nil && at < len(s.levels)-1 }

// draw sets the keys of all levels if the client makes them.
func (s *saver) draw() error {
	for _, l := range s.levels {
		if s.source == nil {
			return nil
		}
		if err := s.source.Draw(l.keys); err != nil {
			return err
		}
	}
	return nil
}

// insert returns the statement for n rows of a level, and its values, beginning with those of row first.
func (s *saver) insert(at, first, n int) (text string, args []any) {
	l := s.levels[at]
	for i := first; i < first+n; i++ {
		if s.source != nil {
			args = append(args, s.b.Value(l.keys[i]))
		}
		if at > 0 {
			args = append(args, s.b.Value(s.levels[at-1].keys[i/l.parent]))
		}
		args = append(args, int64(i))
	}
	return s.b.insertText(l.table, n, s.source != nil, s.readsBack(at)), args
}

// send runs a statement and sets the keys that it returns.
func (s *saver) send(ctx context.Context, text string, args, keys []any) error {
	if keys == nil {
		_, err := s.conn.ExecContext(ctx, text, args...)
		return err
	}
	rows, err := s.conn.QueryContext(ctx, text, args...)
	if err != nil {
		return err
	}
	i := 0
	err = eachKey(rows, func(id any) {
		if i < len(keys) {
			keys[i] = id
		}
		i++
	})
	if err == nil && i != len(keys) {
		err = fmt.Errorf("%d keys were returned, want %d", i, len(keys))
	}
	return err
}

// oneByOne waits for each statement, which has one row or all rows of a level.
func (s *saver) oneByOne(ctx context.Context, byRow bool) error {
	err := errors.Join(s.draw(), s.send(ctx, "BEGIN", nil, nil))
	for at, l := range s.levels {
		n := l.rows
		if byRow {
			n = 1
		}
		for first := 0; first < l.rows && err == nil; first += n {
			var keys []any
			if s.readsBack(at) {
				keys = l.keys[first : first+n]
			}
			text, args := s.insert(at, first, n)
			err = s.send(ctx, text, args, keys)
		}
	}
	if err != nil {
		return errors.Join(err, s.send(context.WithoutCancel(ctx), "ROLLBACK", nil, nil))
	}
	return s.send(ctx, "COMMIT", nil, nil)
}

// pipelined sends as many statements together as have known keys.
func (s *saver) pipelined(ctx context.Context) error {
	if err := s.draw(); err != nil {
		return err
	}
	if s.b.Dialect() == "mariadb" {
		return s.inOneText(ctx)
	}
	return s.conn.Raw(func(driver any) error {
		std, ok := driver.(*stdlib.Conn)
		if !ok {
			return fmt.Errorf("the connection is of the driver %T, not of pgx", driver)
		}
		return s.inBatches(ctx, std.Conn())
	})
}

// inBatches sends batches to PostgreSQL: one, or one for each level whose keys are read back.
func (s *saver) inBatches(ctx context.Context, conn *pgx.Conn) error {
	batch := &pgx.Batch{}
	batch.Queue("BEGIN")
	for at, l := range s.levels {
		text, args := s.insert(at, 0, l.rows)
		queued := batch.Queue(text, args...)
		if !s.readsBack(at) {
			continue
		}
		queued.Query(func(rows pgx.Rows) error {
			ids, err := pgx.CollectRows(rows, pgx.RowTo[int64])
			for i, id := range ids {
				l.keys[i] = id
			}
			return err
		})
		if err := conn.SendBatch(ctx, batch).Close(); err != nil {
			return err
		}
		batch = &pgx.Batch{}
	}
	batch.Queue("COMMIT")
	return conn.SendBatch(ctx, batch).Close()
}

// inOneText sends texts of several statements to MariaDB: one, or one for each level whose keys are read back.
func (s *saver) inOneText(ctx context.Context) error {
	all, allArgs := "BEGIN; ", []any(nil)
	for at, l := range s.levels {
		text, args := s.insert(at, 0, l.rows)
		all, allArgs = all+text, append(allArgs, args...)
		if !s.readsBack(at) {
			all += "; "
			continue
		}
		if err := s.send(ctx, all, allArgs, l.keys); err != nil {
			return err
		}
		all, allArgs = "", nil
	}
	return s.send(ctx, all+"COMMIT", allArgs, nil)
}
