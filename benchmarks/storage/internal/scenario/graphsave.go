package scenario

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"
)

// insert returns the statement that inserts rows of a level.
func (s *saver) insert(at, rows int) string {
	t := s.levels[at].table
	var names []string
	if s.source != nil {
		names = append(names, "id")
	}
	for _, c := range t.Columns {
		names = append(names, c.Name)
	}
	var text strings.Builder
	fmt.Fprintf(&text, "INSERT INTO %s (%s) VALUES ", t.Name, strings.Join(names, ", "))
	n := 0
	for i := range rows {
		if i > 0 {
			text.WriteString(", ")
		}
		for j := range names {
			n++
			text.WriteString(map[bool]string{true: "(", false: ", "}[j == 0])
			text.WriteString(s.b.Placeholder(n))
		}
		text.WriteByte(')')
	}
	if s.readsBack(at) {
		text.WriteString(" RETURNING id")
	}
	return text.String()
}

// readsBack reports whether the keys of a level are read from the database. Nothing refers to those of the last level.
func (s *saver) readsBack(at int) bool { return s.source == nil && at < len(s.levels)-1 }

// keys returns the keys of all levels if the client makes them, otherwise none.
func (s *saver) keys() ([3][]any, error) {
	var keys [3][]any
	for at, l := range s.levels {
		keys[at] = make([]any, l.rows)
		if s.source == nil {
			continue
		}
		if err := s.source.Draw(keys[at]); err != nil {
			return keys, err
		}
	}
	return keys, nil
}

// args returns the values of n rows of a level, beginning with row first.
func (s *saver) args(keys [3][]any, at, first, n int) []any {
	var args []any
	for i := first; i < first+n; i++ {
		if s.source != nil {
			args = append(args, s.b.Value(keys[at][i]))
		}
		if at > 0 {
			args = append(args, s.b.Value(keys[at-1][i/s.levels[at].parent]))
		}
		args = append(args, int64(i))
	}
	return args
}

// queryer is a connection or a transaction.
type queryer interface {
	ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
}

// write inserts n rows of a level, beginning with row first, and sets their keys if the database makes them.
func (s *saver) write(ctx context.Context, tx queryer, keys *[3][]any, at, first, n int) error {
	text, args := s.insert(at, n), s.args(*keys, at, first, n)
	if !s.readsBack(at) {
		_, err := tx.ExecContext(ctx, text, args...)
		return err
	}
	rows, err := tx.QueryContext(ctx, text, args...)
	if err != nil {
		return err
	}
	return read64(rows, keys[at][first:first+n])
}

// read64 sets dst to the numbers that a statement returned.
func read64(rows *sql.Rows, dst []any) error {
	defer rows.Close()
	i := 0
	for ; rows.Next() && i < len(dst); i++ {
		var id int64
		if err := rows.Scan(&id); err != nil {
			return err
		}
		dst[i] = id
	}
	if err := errors.Join(rows.Err(), rows.Close()); err != nil {
		return err
	}
	if i != len(dst) {
		return fmt.Errorf("%d keys were returned, want %d", i, len(dst))
	}
	return nil
}

func (s *saver) byRow(ctx context.Context) error {
	return s.inTransaction(ctx, func(tx queryer, keys *[3][]any) error {
		for at, l := range s.levels {
			for i := range l.rows {
				if err := s.write(ctx, tx, keys, at, i, 1); err != nil {
					return err
				}
			}
		}
		return nil
	})
}

func (s *saver) byLevel(ctx context.Context) error {
	return s.inTransaction(ctx, func(tx queryer, keys *[3][]any) error {
		for at, l := range s.levels {
			if err := s.write(ctx, tx, keys, at, 0, l.rows); err != nil {
				return err
			}
		}
		return nil
	})
}

func (s *saver) inTransaction(ctx context.Context, f func(tx queryer, keys *[3][]any) error) error {
	keys, err := s.keys()
	if err != nil {
		return err
	}
	tx, err := s.conn.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	if err := f(tx, &keys); err != nil {
		return errors.Join(err, tx.Rollback())
	}
	return tx.Commit()
}

func (s *saver) pipelined(ctx context.Context) error {
	keys, err := s.keys()
	if err != nil {
		return err
	}
	if s.b.Dialect() == "mariadb" {
		return s.inOneText(ctx, &keys)
	}
	return s.conn.Raw(func(driver any) error {
		std, ok := driver.(*stdlib.Conn)
		if !ok {
			return fmt.Errorf("the connection is of the driver %T, not of pgx", driver)
		}
		return s.inBatches(ctx, std.Conn(), &keys)
	})
}

// inBatches sends batches to PostgreSQL: one, or one for each level whose keys are read back.
func (s *saver) inBatches(ctx context.Context, conn *pgx.Conn, keys *[3][]any) error {
	batch := &pgx.Batch{}
	batch.Queue("BEGIN")
	for at, l := range s.levels {
		queued := batch.Queue(s.insert(at, l.rows), s.args(*keys, at, 0, l.rows)...)
		if s.readsBack(at) {
			queued.Query(func(rows pgx.Rows) error {
				i := 0
				var id int64
				_, err := pgx.ForEachRow(rows, []any{&id}, func() error {
					keys[at][i] = id
					i++
					return nil
				})
				return err
			})
		}
		last := at == len(s.levels)-1
		if last {
			batch.Queue("COMMIT")
		}
		if last || s.readsBack(at) {
			if err := conn.SendBatch(ctx, batch).Close(); err != nil {
				return err
			}
			batch = &pgx.Batch{}
		}
	}
	return nil
}

// inOneText sends texts of several statements to MariaDB: one, or one for each level whose keys are read back.
func (s *saver) inOneText(ctx context.Context, keys *[3][]any) error {
	text, args := "BEGIN; ", []any(nil)
	for at, l := range s.levels {
		text += s.insert(at, l.rows)
		args = append(args, s.args(*keys, at, 0, l.rows)...)
		switch {
		case at == len(s.levels)-1:
			_, err := s.conn.ExecContext(ctx, text+"; COMMIT", args...)
			return err
		case s.readsBack(at):
			rows, err := s.conn.QueryContext(ctx, text, args...)
			if err != nil {
				return err
			}
			if err := read64(rows, keys[at]); err != nil {
				return err
			}
			text, args = "", nil
		default:
			text += "; "
		}
	}
	return nil
}
