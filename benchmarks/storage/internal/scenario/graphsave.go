package scenario

import (
	"context"
	"database/sql"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"

	"github.com/sqlflake/sqlflake/benchmarks/storage/internal/engine"
	"github.com/sqlflake/sqlflake/benchmarks/storage/internal/key"
)

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
		{Name: "order_id", References: order.Name}, {Name: "amount"},
	}, "order_id")
	tag := b.Table("graph_tag", []engine.Column{
		{Name: "line_id", References: line.Name}, {Name: "amount"},
	}, "line_id")
	for i, l := range []level{
		{order, 1, 1, nil}, {line, graphLines, graphLines, nil}, {tag, graphLines * graphTags, graphTags, nil},
	} {
		l.keys = make([]any, l.rows)
		s.levels[i] = l
	}
	var err error
	if s.source, err = b.source(0, 1); err != nil {
		return nil, err
	}
	return s, b.Create(ctx, order, line, tag)
}

// readsBack reports whether the keys of a level are read from the database. Nothing refers to those of the last level.
func (s *saver) readsBack(at int) bool { return s.source == nil && at < len(s.levels)-1 }

// insert returns the statement for the rows of a level, and its values.
func (s *saver) insert(at int) (text string, args []any) {
	l := s.levels[at]
	for i := range l.rows {
		if s.source != nil {
			args = append(args, s.b.Value(l.keys[i]))
		}
		if at > 0 {
			args = append(args, s.b.Value(s.levels[at-1].keys[i/l.parent]))
		}
		args = append(args, int64(i))
	}
	return s.b.insertText(l.table, l.rows, s.source != nil, s.readsBack(at)), args
}

// save sends as many statements together as have known keys. Keys made by the client are all known; those of
// auto-increment are known when the level above has been returned.
func (s *saver) save(ctx context.Context) error {
	for _, l := range s.levels {
		if s.source == nil {
			break
		}
		if err := s.source(l.keys); err != nil {
			return err
		}
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

func (s *saver) ping(ctx context.Context) error { return s.conn.PingContext(ctx) }

// inBatches sends batches to PostgreSQL: one, or one for each level whose keys are read back.
func (s *saver) inBatches(ctx context.Context, conn *pgx.Conn) error {
	batch := &pgx.Batch{}
	batch.Queue("BEGIN")
	for at, l := range s.levels {
		text, args := s.insert(at)
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
		text, args := s.insert(at)
		all, allArgs = all+text, append(allArgs, args...)
		if !s.readsBack(at) {
			all += "; "
			continue
		}
		rows, err := s.conn.QueryContext(ctx, all, allArgs...)
		if err != nil {
			return err
		}
		var keys []any
		err = eachKey(rows, func(id any) { keys = append(keys, id) })
		if err == nil && len(keys) != len(l.keys) {
			err = fmt.Errorf("%d keys were returned, want %d", len(keys), len(l.keys))
		}
		copy(l.keys, keys)
		if err != nil {
			return err
		}
		all, allArgs = "", nil
	}
	_, err := s.conn.ExecContext(ctx, all+"COMMIT", allArgs...)
	return err
}
