package partition

import (
	"context"
	"errors"
	"fmt"
	"slices"
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

func (l tableLock) statement() string {
	return "LOCK TABLE ONLY " + l.table + " IN " + l.mode + " MODE"
}

// lockAll locks tables in the given order. Writers wait for that for at most the lock timeout in total. Before, it
// waits for other changes of the tables and for autovacuum, behind which no writer waits.
func (s *Set) lockAll(ctx context.Context, q querier, locks ...tableLock) error {
	if err := execAll(ctx, q, limits(queueTimeout, 0)...); err != nil {
		return err
	}

	for _, l := range locks {
		if err := s.lock(ctx, q, tableLock{l.table, queue}, queueTimeout); err != nil {
			return err
		}
	}

	if err := s.lockInTurn(ctx, q, locks...); err != nil {
		return err
	}

	return execScript(ctx, q, limits(s.lockTimeout, s.swap))
}

// lockInTurn locks tables in the given order, and waits for at most the lock timeout in total.
func (s *Set) lockInTurn(ctx context.Context, q querier, locks ...tableLock) error {
	start := time.Now()
	for _, l := range locks {
		left := s.lockTimeout - time.Since(start)
		if left <= 0 {
			return lockRefused{l.table}
		}
		if err := s.lock(ctx, q, l, left); err != nil {
			return err
		}
	}
	return nil
}

// parentsFirst is an attempt of relatedLocks that locks each table once.
const parentsFirst = 2

// relatedLocks returns the locks of a table, and of those that foreign keys connect it with, for an attempt to change
// it. It leaves out tables that the role may only refer to, and so can't lock. A writer that has one of the tables and
// waits for another, locked one keeps the change from its locks. Writers take them in different orders, and so do
// attempts:
//
//   - The first one locks parents before children, in a mode that lets the checks of foreign keys through. It waits for
//     writers of a parent and then its children, as GORM's has-many and belongs-to, and for writers of children only.
//   - The second one waits for writers of a child and then its parent.
//   - The third one waits for SELECT FOR UPDATE of a parent and then writers of its children.
func relatedLocks(ctx context.Context, q querier, table string, attempt int) ([]tableLock, error) {
	const query = `SELECT DISTINCT (k.confrelid <> $1::text::regclass)::int || format('%I.%I', n.nspname, c.relname)
		FROM pg_constraint AS k
		JOIN pg_class AS c ON c.oid = CASE WHEN k.confrelid = $1::text::regclass THEN k.conrelid ELSE k.confrelid END
		JOIN pg_namespace AS n ON n.oid = c.relnamespace
		WHERE k.contype = 'f' AND $1::text::regclass IN (k.confrelid, k.conrelid) AND k.conparentid = 0
			AND has_table_privilege(c.oid, 'UPDATE, DELETE, TRUNCATE') ORDER BY 1`
	names, err := list(ctx, q, query, table) // first those that refer to the table, with a 0
	if err != nil {
		return nil, err
	}

	var locks []tableLock // parents first
	rest := []tableLock{{table, exclusive}}
	for _, text := range names {
		name, refers := strings.CutPrefix(text, "0")
		if refers {
			rest = append(rest, tableLock{name, exclusive})
		} else if name = text[1:]; !slices.Contains(rest, tableLock{name, exclusive}) {
			locks = append(locks, tableLock{name, writers})
		}
	}

	if attempt%3 == 0 && len(locks)+len(rest) > 1 { // there are foreign keys
		for _, l := range rest {
			locks = append(locks, tableLock{l.table, writers})
		}
	}

	locks = append(locks, rest...)
	if attempt%3 == 1 {
		slices.Reverse(locks)
	}

	return locks, nil
}

// lock locks a table, and waits for at most a time. If the lock is refused, the error says who holds it. The
// transaction keeps its other locks meanwhile, so that those who wait for them are found too.
func (s *Set) lock(ctx context.Context, q querier, l tableLock, wait time.Duration) error {
	err := execScript(ctx, q, []string{"SAVEPOINT lock", limits(wait, 0)[0], l.statement()})
	if !s.engine.refused(err) {
		return err
	}
	if _, rollbackErr := q.ExecContext(ctx, "ROLLBACK TO SAVEPOINT lock"); rollbackErr != nil {
		return errors.Join(err, rollbackErr)
	}

	holders, listErr := list(ctx, q, holdersQuery, l.table, l.mode)
	if len(holders) > 0 {
		err = fmt.Errorf("%w: %s is locked by %s", err, l.table, strings.Join(holders, ", "))
	}

	return errors.Join(err, listErr)
}

// holdersQuery returns up to five sessions with a lock on the table $1 that conflicts with the mode $2.
const holdersQuery = `SELECT concat_ws(' ', coalesce('process ' || l.pid, 'a prepared transaction'), a.usename,
	a.application_name, a.state, 'for ' || date_trunc('second', clock_timestamp() - a.xact_start),
	CASE WHEN pg_backend_pid() = ANY (pg_blocking_pids(l.pid)) THEN '(waits for this call)' END)
FROM pg_locks AS l LEFT JOIN pg_stat_activity AS a ON a.pid = l.pid
WHERE l.relation = $1::text::regclass AND l.database = (SELECT oid FROM pg_database WHERE datname = current_database())
	AND l.granted AND l.pid IS DISTINCT FROM pg_backend_pid() AND ($2 = '` + exclusive + `'
		OR l.mode NOT IN ('AccessShareLock', 'RowShareLock') AND ($2 = '` + writers + `' OR l.mode <> 'RowExclusiveLock'))
ORDER BY a.xact_start LIMIT 5`

// lockRefused says that the locks before the table's lock took all the time. It has the SQLSTATE of the server's
// error.
type lockRefused struct{ table string }

func (e lockRefused) Error() string    { return "no time left to lock " + e.table }
func (e lockRefused) SQLState() string { return "55P03" }

// limits returns statements that limit the waits for locks, and the time of the statements that follow in the
// transaction, 0 for no limit.
func limits(lock, statement time.Duration) []string {
	return []string{
		fmt.Sprintf("SET LOCAL lock_timeout = '%s'", milliseconds(max(lock, 1))),
		fmt.Sprintf("SET LOCAL statement_timeout = '%s'", milliseconds(statement)),
	}
}

// execScript executes statements in one round trip, as one string: drivers send a string without parameters as it is.
// Its error has the last statement.
func execScript(ctx context.Context, q querier, statements []string) error {
	if _, err := q.ExecContext(ctx, strings.Join(statements, ";\n")); err != nil {
		return fmt.Errorf("%.300s: %w", statements[len(statements)-1], err)
	}
	return nil
}

// ownLock is the error of a step that was refused a lock that no other step needs.
type ownLock struct{ error }

func (e ownLock) Unwrap() error { return e.error }
