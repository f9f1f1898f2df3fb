package postgres

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/sqlflake/sqlflake/contrib/partition/internal/engine"
)

// QueueTimeout limits the wait for locks that no reader or writer waits behind. It is longer than deadlock_timeout,
// after which autovacuum gives way.
const QueueTimeout = 5 * time.Second

// Modes of LOCK TABLE.
const (
	queue     = "SHARE UPDATE EXCLUSIVE" // conflicts with other changes and vacuum, not with readers and writers
	writers   = "SHARE ROW EXCLUSIVE"    // conflicts with writers
	Exclusive = "ACCESS EXCLUSIVE"
)

// TableLock is a lock of a table, whose name is quoted.
type TableLock struct{ Table, Mode string }

// Statement returns the statement that takes the lock.
func (l TableLock) Statement() string {
	return "LOCK TABLE ONLY " + l.Table + " IN " + l.Mode + " MODE"
}

// LockAll locks tables in the given order. Writers wait for that for at most the lock timeout in total. Before, it
// waits for other changes of the tables and for autovacuum, behind which no writer waits.
func LockAll(ctx context.Context, q engine.Querier, t *engine.Table, locks ...TableLock) error {
	if err := engine.ExecAll(ctx, q, Limits(QueueTimeout, 0)...); err != nil {
		return err
	}

	for _, l := range locks {
		if err := lock(ctx, q, TableLock{l.Table, queue}, QueueTimeout); err != nil {
			return err
		}
	}

	if err := lockInTurn(ctx, q, t, locks...); err != nil {
		return err
	}

	return ExecScript(ctx, q, Limits(t.LockTimeout, t.SwapTimeout))
}

// lockInTurn locks tables in the given order, and waits for at most the lock timeout in total. After that time a lock
// has to be free.
func lockInTurn(ctx context.Context, q engine.Querier, t *engine.Table, locks ...TableLock) error {
	start := time.Now()
	for _, l := range locks {
		if err := lock(ctx, q, l, t.LockTimeout-time.Since(start)); err != nil {
			return err
		}
	}
	return nil
}

// RelatedLocks returns the locks of a table, and of those that foreign keys connect it with, for an attempt to change
// it. It leaves out tables that the role may only refer to, and so can't lock. A writer that has one of the tables and
// waits for another, locked one keeps the change from its locks. Writers take them in different orders, and so do
// attempts:
//
//   - The first one locks parents before children, in a mode that lets the checks of foreign keys through. It waits for
//     writers of a parent and then its children, as GORM's has-many and belongs-to, and for writers of children only.
//   - The second one waits for writers of a child and then its parent.
//   - The third one waits for SELECT FOR UPDATE of a parent and then writers of its children.
func RelatedLocks(ctx context.Context, q engine.Querier, table string, attempt int) ([]TableLock, error) {
	const query = `SELECT DISTINCT (k.confrelid <> $1::text::regclass)::int || format('%I.%I', n.nspname, c.relname)
		FROM pg_constraint AS k
		JOIN pg_class AS c ON c.oid = CASE WHEN k.confrelid = $1::text::regclass THEN k.conrelid ELSE k.confrelid END
		JOIN pg_namespace AS n ON n.oid = c.relnamespace
		WHERE k.contype = 'f' AND $1::text::regclass IN (k.confrelid, k.conrelid) AND k.conparentid = 0
			AND has_table_privilege(c.oid, 'UPDATE, DELETE, TRUNCATE') ORDER BY 1`
	names, err := engine.List(ctx, q, query, table) // first those that refer to the table, with a 0
	if err != nil {
		return nil, err
	}

	var locks []TableLock // parents first
	rest := []TableLock{{table, Exclusive}}
	for _, text := range names {
		name, refers := text[1:], text[0] == '0'
		child := TableLock{name, Exclusive}
		switch {
		case refers:
			rest = append(rest, child)
		case !slices.Contains(rest, child):
			locks = append(locks, TableLock{name, writers})
		}
	}

	if hasForeignKeys := len(names) > 0; attempt%3 == 0 && hasForeignKeys {
		for _, l := range rest {
			locks = append(locks, TableLock{l.Table, writers})
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
func lock(ctx context.Context, q engine.Querier, l TableLock, wait time.Duration) error {
	err := ExecScript(ctx, q, []string{"SAVEPOINT lock", Limits(wait, 0)[0], l.Statement()})
	if !(Engine{}).Refused(err) {
		return err
	}
	if _, rollbackErr := q.ExecContext(ctx, "ROLLBACK TO SAVEPOINT lock"); rollbackErr != nil {
		return errors.Join(err, rollbackErr)
	}

	holders, listErr := engine.List(ctx, q, holdersQuery, l.Table, l.Mode)
	if len(holders) > 0 {
		err = fmt.Errorf("%w: %s is locked by %s", err, l.Table, strings.Join(holders, ", "))
	}

	return errors.Join(err, listErr)
}

// holdersQuery returns up to five sessions with a lock that conflicts. Parameters: the table and the mode.
const holdersQuery = `SELECT concat_ws(' ', coalesce('process ' || l.pid, 'a prepared transaction'), a.usename,
	a.application_name, a.state, 'for ' || date_trunc('second', clock_timestamp() - a.xact_start),
	CASE WHEN pg_backend_pid() = ANY (pg_blocking_pids(l.pid)) THEN '(waits for this call)' END)
FROM pg_locks AS l
LEFT JOIN pg_stat_activity AS a ON a.pid = l.pid
WHERE l.relation = $1::text::regclass
	AND l.database = (SELECT oid FROM pg_database WHERE datname = current_database())
	AND l.granted AND l.pid IS DISTINCT FROM pg_backend_pid()
	AND ($2 = 'ACCESS EXCLUSIVE'
		OR l.mode NOT IN ('AccessShareLock', 'RowShareLock')
			AND ($2 = 'SHARE ROW EXCLUSIVE' OR l.mode <> 'RowExclusiveLock'))
ORDER BY a.xact_start LIMIT 5`

// Limits returns statements that limit the waits for locks, and the time of the statements that follow in the
// transaction, 0 for no limit.
func Limits(lock, statement time.Duration) []string {
	return []string{
		fmt.Sprintf("SET LOCAL lock_timeout = '%s'", milliseconds(max(lock, 1))),
		fmt.Sprintf("SET LOCAL statement_timeout = '%s'", milliseconds(statement)),
	}
}

// ExecScript executes statements in one round trip, as one string: drivers send a string without parameters as it is.
// Its error has the last statement.
func ExecScript(ctx context.Context, q engine.Querier, statements []string) error {
	if _, err := q.ExecContext(ctx, strings.Join(statements, ";\n")); err != nil {
		return fmt.Errorf("%.300s: %w", statements[len(statements)-1], err)
	}
	return nil
}
