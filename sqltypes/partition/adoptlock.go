package partition

import (
	"context"
	"fmt"
	"strings"
	"time"
)

// Modes of LOCK TABLE.
const (
	queue     = "SHARE UPDATE EXCLUSIVE" // conflicts with other changes and vacuum, not with readers and writers
	writers   = "SHARE ROW EXCLUSIVE"    // conflicts with writers
	exclusive = "ACCESS EXCLUSIVE"
)

type tableLock struct{ table, mode string }

// lockAll locks tables in the given order, for which writers wait for at most the lock timeout in total. Before that it
// waits for other changes of the tables and for autovacuum, behind which no writer waits.
func (s *Set) lockAll(ctx context.Context, q querier, locks ...tableLock) error {
	for _, l := range locks {
		if err := execScript(ctx, q, append(limits(queueTimeout, 0), "LOCK TABLE "+l.table+" IN "+queue+" MODE")); err != nil {
			return err
		}
	}
	start := time.Now()
	for _, l := range locks {
		left := s.lockTimeout - time.Since(start)
		if left <= 0 {
			return lockRefused{l.table}
		}
		if err := execScript(ctx, q, append(limits(left, 0), "LOCK TABLE "+l.table+" IN "+l.mode+" MODE")); err != nil {
			return err
		}
	}
	return execScript(ctx, q, limits(s.lockTimeout, s.swap))
}

// lockRefused is returned if the locks before that of the table took all the time. It has the SQLSTATE of the server's
// error.
type lockRefused struct{ table string }

func (e lockRefused) Error() string    { return "no time left to lock " + e.table }
func (e lockRefused) SQLState() string { return "55P03" }

// limits returns statements that limit the waits for locks and the time of the statements that follow in the
// transaction. A statement timeout of 0 is none.
func limits(lock, statement time.Duration) []string {
	ms := func(d time.Duration) int64 { return int64((d + time.Millisecond - 1) / time.Millisecond) }
	return []string{
		fmt.Sprintf("SET LOCAL lock_timeout = %d", max(ms(lock), 1)),
		fmt.Sprintf("SET LOCAL statement_timeout = %d", ms(statement)),
	}
}

// execAll executes statements in their order. Its error has the statement.
func execAll(ctx context.Context, q querier, statements []string) error {
	for _, statement := range statements {
		if _, err := q.ExecContext(ctx, statement); err != nil {
			return fmt.Errorf("%.300s: %w", statement, err)
		}
	}
	return nil
}

// execScript executes statements as one string, which takes one round trip: drivers send a string without parameters as
// it is. Its error has the last statement.
func execScript(ctx context.Context, q querier, statements []string) error {
	if _, err := q.ExecContext(ctx, strings.Join(statements, ";\n")); err != nil {
		return fmt.Errorf("%.300s: %w", statements[len(statements)-1], err)
	}
	return nil
}

// list returns the rows of a query with one column of text.
func list(ctx context.Context, q querier, query string, args ...any) ([]string, error) {
	rows, err := q.QueryContext(ctx, query, args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var texts []string
	for rows.Next() {
		var text string
		if err := rows.Scan(&text); err != nil {
			return nil, err
		}
		texts = append(texts, text)
	}
	return texts, rows.Err()
}
