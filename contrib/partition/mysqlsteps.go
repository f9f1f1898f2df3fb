package partition

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"time"
	"unicode/utf8"
)

// A partition leaves its table in these statements. Each commits by itself:
//
//	DROP TABLE IF EXISTS temporary; CREATE TABLE temporary LIKE t
//	ALTER TABLE temporary COMMENT mark, RENAME TO exchange_table REMOVE PARTITIONING
//	LOCK TABLES t, exchange_table; ALTER TABLE t EXCHANGE PARTITION p WITH TABLE exchange_table
//	ALTER TABLE t DROP PARTITION p; UNLOCK TABLES
//
// Until the partition is dropped there are both: inspect finds out which of them has the rows. The locks keep
// new rows out of the partition after the exchange.

const (
	exchange     = " EXCHANGE PARTITION "
	unlockTables = "UNLOCK TABLES"
)

func (e mysql) statements(s *Set, st *state, step Step) []string {
	p := step.part
	switch step.Action {
	case actionCreate:
		return []string{e.create(st, step)}
	case actionDrop:
		if step.detached {
			return []string{"DROP TABLE " + tableMySQL(p.name)}
		}
		return []string{e.drop(p)}
	case actionRename:
		if step.detached {
			return []string{e.release(s, st, p)}
		}
		return append(e.detach(st, p), e.release(s, st, e.exchangeTable(p)))
	case actionDetach:
		return e.detach(st, p)
	case actionArchive:
		return []string{e.comment(st, p, p.marked(st.table, true))}
	}

	return nil
}

// create returns the statement that adds a partition at the end. The default partition is split: its rows are copied.
func (mysql) create(st *state, step Step) string {
	table := tableMySQL(st.table)
	if step.isDefault() || st.defaultPart == nil {
		return fmt.Sprintf("ALTER TABLE %s ADD PARTITION (%s)", table, definePartition(step))
	}
	last := quoteMySQL(st.defaultPart.table)
	return fmt.Sprintf("ALTER TABLE %s REORGANIZE PARTITION %s INTO (PARTITION %s VALUES LESS THAN (%d), "+
		"PARTITION %[2]s VALUES LESS THAN (MAXVALUE))", table, last, quoteMySQL(step.Partition), int64(step.Hi))
}

func definePartition(step Step) string {
	end := fmt.Sprintf("(%d)", int64(step.Hi))
	if step.Hi == noHigh || step.isDefault() {
		end = "(" + maxValue + ")"
	}
	return fmt.Sprintf("PARTITION %s VALUES LESS THAN %s", quoteMySQL(step.Partition), end)
}

func (mysql) drop(p part) string {
	return fmt.Sprintf("ALTER TABLE %s DROP PARTITION %s", tableMySQL(p.parent), quoteMySQL(p.table))
}

// detach returns the statements that are left to do until only the exchange table exists.
func (e mysql) detach(st *state, p part) (statements []string) {
	table, target := tableMySQL(st.table), e.exchangeTable(p)
	if p.exchangeTable == "" {
		// Nobody else uses this name. The table of an interrupted call may have other columns.
		sum := sha256.Sum256([]byte(p.parent.table + "\x00" + p.table))
		made := tableMySQL(name{p.schema, fmt.Sprintf("sqlflake_partition_%x", sum[:12])})
		statements = append(statements, "DROP TABLE IF EXISTS "+made,
			fmt.Sprintf("CREATE TABLE %s LIKE %s", made, table),
			fmt.Sprintf("ALTER TABLE %s COMMENT = %s, RENAME TO %s REMOVE PARTITIONING", made,
				textMySQL(target.comment, st.plain), tableMySQL(target.name)))
	}

	statements = append(statements, fmt.Sprintf("LOCK TABLES %s WRITE, %s WRITE", table, tableMySQL(target.name)))
	if !p.moved {
		statements = append(statements,
			fmt.Sprintf("ALTER TABLE %s"+exchange+"%s WITH TABLE %s",
				table, quoteMySQL(p.table), tableMySQL(target.name)))
	}

	return append(statements, e.drop(p), unlockTables)
}

// exchangeTable returns the table that gets the rows of a partition, with its mark.
func (mysql) exchangeTable(p part) part {
	target := part{name: name{p.schema, exchangeName(p.parent, p.table)}, lo: p.lo, hi: p.hi}
	target.comment = p.marked(p.parent, false)
	return target
}

// release returns the statement that gives a detached table its name of WithKeep, and removes the mark.
func (e mysql) release(s *Set, st *state, p part) string {
	statement := e.comment(st, p, p.unmarked())
	if kept := s.keptName(p); kept != p.name {
		statement += ", RENAME TO " + tableMySQL(kept)
	}
	return statement
}

func (mysql) comment(st *state, p part, text string) string {
	return fmt.Sprintf("ALTER TABLE %s COMMENT = %s", tableMySQL(p.name), textMySQL(text, st.plain))
}

func (e mysql) execute(ctx context.Context, q querier, s *Set, st *state, step Step) error {
	statements := step.SQL
	switch {
	case step.Action == actionArchive:
		return nil // see finish
	case step.detached && step.Action == actionRename:
		if err := e.checkFree(ctx, q, step.part, s.keptName(step.part)); err != nil {
			return err
		}
	case step.detached, step.Action == actionCreate:
	case step.Action == actionDrop:
		// Without the lock a row below the floor could come before the partition is dropped.
		statements = []string{
			fmt.Sprintf("LOCK TABLES %s WRITE", tableMySQL(st.table)), e.drop(step.part),
			unlockTables,
		}
	default:
		if err := e.checkExchangeTable(ctx, q, s, step.part); err != nil {
			return err
		}
	}

	err := e.run(ctx, q, s, step, statements)
	if err != nil && step.detached {
		return ownLock{err}
	}

	return err
}

// run executes statements, and calls recheck after LOCK TABLES, and dropExchangeTable if EXCHANGE PARTITION fails.
func (e mysql) run(ctx context.Context, q querier, s *Set, step Step, statements []string) (err error) {
	defer func() {
		if err != nil { // or the locks were kept with the connection
			ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
			defer cancel()
			_, unlockErr := q.ExecContext(ctx, unlockTables)
			err = errors.Join(err, unlockErr)
		}
	}()

	for _, statement := range statements {
		if err := execAll(ctx, q, statement); err != nil && strings.Contains(statement, exchange) {
			return e.dropExchangeTable(ctx, q, s, step.part, err)
		} else if err != nil {
			return err
		}

		if strings.HasPrefix(statement, "LOCK TABLES") {
			if err := e.recheck(ctx, q, s, step); err != nil {
				return err
			}
		}
	}

	return nil
}

// notInstant is ER_PARTITION_EXCHANGE_DIFFERENT_OPTION about columns added or dropped with ALGORITHM = INSTANT, of
// MySQL.
var notInstant = regexp.MustCompile(`\b(Error|ERROR) 1731\b.*INSTANT`)

// dropExchangeTable drops the exchange table, if it has no rows, after an EXCHANGE PARTITION that failed with cause, while
// both tables are locked. It returns errBusy if an earlier call made the exchange table: the table may have been altered
// since, and a new one may fit. A statement that got no lock may have given up the other locks, and its exchange table can
// be used again.
func (e mysql) dropExchangeTable(ctx context.Context, q querier, s *Set, p part, cause error) error {
	if e.refused(cause) {
		return cause
	}

	target := e.exchangeTable(p)
	_, found, err := s.keyOf(ctx, q, target, noLow, noHigh, 0)
	if err == nil && !found {
		_, err = q.ExecContext(ctx, "DROP TABLE "+tableMySQL(target.name))
	}

	switch {
	case err != nil:
		return errors.Join(cause, err)
	case p.exchangeTable != "" && !found:
		return errBusy
	case notInstant.MatchString(cause.Error()):
		return fmt.Errorf("%w: ALTER TABLE %s FORCE makes it possible again, and copies the table",
			cause, tableMySQL(p.parent))
	}

	return cause
}

// recheck returns errBusy if a row that prevents the step came after the plan was made: one below its floor, or one in
// the exchange table that was empty.
func (e mysql) recheck(ctx context.Context, q querier, s *Set, step Step) error {
	limit := step.floor
	if step.Action != actionDrop {
		if step.part.moved {
			limit = noHigh
		} else if err := s.none(ctx, q, e.exchangeTable(step.part), noLow, noHigh); err != nil {
			return err
		}
	}

	if limit == noLow {
		return nil
	}

	return s.none(ctx, q, step.part, noLow, limit)
}

// checkExchangeTable checks, before anything is changed, what would stop the steps to a detached table in between.
func (e mysql) checkExchangeTable(ctx context.Context, q querier, s *Set, p part) error {
	const maxComment = 2048
	target := e.exchangeTable(p)
	if n := utf8.RuneCountInString(target.comment); n > maxComment {
		return fmt.Errorf("the comment of %v has no room for the mark of detached tables: %d characters, more than %d",
			p.parent, n, maxComment)
	}

	if err := s.checkNew(target.table); err != nil {
		return err
	}

	if p.exchangeTable == "" {
		if err := e.checkFree(ctx, q, p, target.name); err != nil {
			return err
		}
	}

	if s.rename == nil {
		return nil
	}

	return e.checkFree(ctx, q, target, s.keptName(target))
}

// checkFree returns an error if a table has the name, unless it is the table p.
func (mysql) checkFree(ctx context.Context, q querier, p part, wanted name) error {
	if wanted == p.name && p.parent.table == "" {
		return nil
	}
	var found bool
	const query = "SELECT COUNT(*) > 0 FROM information_schema.TABLES WHERE TABLE_SCHEMA = ? AND TABLE_NAME = ?"
	err := q.QueryRowContext(ctx, query, wanted.schema, wanted.table).Scan(&found)
	if found {
		return fmt.Errorf("%w: there is another table %v", ErrOption, wanted)
	}
	return err
}

func (e mysql) finish(ctx context.Context, db *sql.DB, s *Set, st *state, step Step) error {
	p := &step.part
	return e.session(ctx, db, s, archiveLock, func(conn *sql.Conn) error {
		const query = "SELECT TABLE_COMMENT FROM information_schema.TABLES WHERE TABLE_SCHEMA = ? AND TABLE_NAME = ?"
		found, err := one(conn.QueryRowContext(ctx, query, p.schema, p.table), &p.comment)
		if !found || !p.readMark(st.table) || p.archived {
			return err
		}
		if err := s.archive(ctx, tableMySQL(p.name)); err != nil {
			return fmt.Errorf("the callback of WithArchive: %w", err)
		}
		return execAll(ctx, conn, e.comment(st, *p, p.marked(st.table, true)))
	})
}

// move splits the default partition: one statement, in which the server copies its rows. Readers see all of them before
// and after it.
func (e mysql) move(ctx context.Context, q querier, _ *Set, st *state, create Step) (moved int64, err error) {
	if err := execAll(ctx, q, e.create(st, create)); err != nil {
		return 0, err
	}
	query := fmt.Sprintf("SELECT COUNT(*) FROM %s PARTITION (%s)", tableMySQL(st.table), quoteMySQL(create.Partition))
	err = q.QueryRowContext(ctx, query).Scan(&moved)
	return moved, err
}
