package mysql

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/sqlflake/sqlflake/contrib/partition/internal/engine"
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

// Statements returns the statements of a change.
func (e Engine) Statements(t *engine.Table, st *engine.State, c engine.Change) []string {
	p := c.Part
	switch c.Action {
	case engine.Create:
		return []string{e.create(st, c)}
	case engine.Drop:
		if c.Detached {
			return []string{"DROP TABLE " + QuoteTable(p.Name)}
		}
		return []string{e.drop(p)}
	case engine.Keep:
		if c.Detached {
			return []string{e.comment(st, p, p.Unmarked())}
		}
		target := e.exchangeTable(p)
		return append(e.detach(st, p), e.comment(st, target, target.Unmarked()))
	case engine.Detach:
		return e.detach(st, p)
	case engine.Archive:
		return []string{e.comment(st, p, p.Marked(st.Table, true))}
	}

	return nil
}

// create returns the statement that adds a partition at the end. The default partition is split: its rows are copied.
func (Engine) create(st *engine.State, c engine.Change) string {
	table := QuoteTable(st.Table)
	if st.Default == nil {
		return fmt.Sprintf("ALTER TABLE %s ADD PARTITION (%s)", table, definePartition(c))
	}
	last := quote(st.Default.Table)
	return fmt.Sprintf("ALTER TABLE %s REORGANIZE PARTITION %s INTO (PARTITION %s VALUES LESS THAN (%d), "+
		"PARTITION %[2]s VALUES LESS THAN (MAXVALUE))", table, last, quote(c.Partition), c.Hi)
}

// PartitionBy returns the clause for partitions that adjoin each other.
func (Engine) PartitionBy(t *engine.Table, creates []engine.Change) string {
	var list []string
	for _, c := range creates {
		list = append(list, definePartition(c))
	}
	return fmt.Sprintf("PARTITION BY RANGE (%s) (%s)", quote(t.Key), strings.Join(list, ", "))
}

// definePartition returns the definition of a partition, which has an upper bound only.
func definePartition(c engine.Change) string {
	end := fmt.Sprintf("(%d)", c.Hi)
	if c.Hi == engine.NoHigh {
		end = "(" + maxValue + ")"
	}
	return fmt.Sprintf("PARTITION %s VALUES LESS THAN %s", quote(c.Partition), end)
}

// drop returns the statement that drops a partition.
func (Engine) drop(p engine.Part) string {
	return fmt.Sprintf("ALTER TABLE %s DROP PARTITION %s", QuoteTable(p.Parent), quote(p.Table))
}

// detach returns the statements that are left to do until only the exchange table exists.
func (e Engine) detach(st *engine.State, p engine.Part) (statements []string) {
	table, target := QuoteTable(st.Table), e.exchangeTable(p)
	if p.ExchangeTable == "" {
		// Nobody else uses this name. The table of an interrupted call may have other columns.
		sum := sha256.Sum256([]byte(p.Parent.Table + "\x00" + p.Table))
		made := QuoteTable(engine.Name{Schema: p.Schema, Table: fmt.Sprintf("sqlflake_partition_%x", sum[:12])})
		statements = append(statements, "DROP TABLE IF EXISTS "+made,
			fmt.Sprintf("CREATE TABLE %s LIKE %s", made, table),
			fmt.Sprintf("ALTER TABLE %s COMMENT = %s, RENAME TO %s REMOVE PARTITIONING", made,
				literal(target.Comment, st.Plain), QuoteTable(target.Name)))
	}

	statements = append(statements, fmt.Sprintf("LOCK TABLES %s WRITE, %s WRITE", table, QuoteTable(target.Name)))
	if !p.Moved {
		statements = append(statements,
			fmt.Sprintf("ALTER TABLE %s"+exchange+"%s WITH TABLE %s",
				table, quote(p.Table), QuoteTable(target.Name)))
	}

	return append(statements, e.drop(p), unlockTables)
}

// exchangeTable returns the table that gets the rows of a partition, with its mark.
func (Engine) exchangeTable(p engine.Part) engine.Part {
	target := engine.Part{Name: engine.Name{Schema: p.Schema, Table: p.TableName()}, Lo: p.Lo, Hi: p.Hi}
	target.Comment = p.Marked(p.Parent, false)
	return target
}

// comment returns the statement that sets the comment of a detached table.
func (Engine) comment(st *engine.State, p engine.Part, text string) string {
	return fmt.Sprintf("ALTER TABLE %s COMMENT = %s", QuoteTable(p.Name), literal(text, st.Plain))
}

// Execute executes the statements of a change, and checks before and between them what they rely on.
func (e Engine) Execute(
	ctx context.Context, q engine.Querier, t *engine.Table, st *engine.State, c engine.Change,
) error {
	if c.Action == engine.Archive {
		return nil // see Archive
	}

	statements := e.Statements(t, st, c)
	leavesTable := !c.Detached && c.Action != engine.Create
	switch {
	case leavesTable && c.Action == engine.Drop:
		// Without the lock a row below the floor could come before the partition is dropped.
		statements = []string{
			fmt.Sprintf("LOCK TABLES %s WRITE", QuoteTable(st.Table)), e.drop(c.Part), unlockTables,
		}

	case leavesTable:
		if err := e.checkExchangeTable(ctx, q, c.Part); err != nil {
			return err
		}
	}

	err := e.run(ctx, q, t, c, statements)
	if err != nil && c.Detached {
		return engine.OwnLock{Err: err}
	}

	return err
}

// run executes statements, and calls recheck after LOCK TABLES, and dropExchangeTable if EXCHANGE PARTITION fails.
// After an error the locks stay until Connect ends the connection.
func (e Engine) run(
	ctx context.Context, q engine.Querier, t *engine.Table, c engine.Change, statements []string,
) error {
	for _, statement := range statements {
		if err := engine.ExecAll(ctx, q, statement); err != nil {
			if strings.Contains(statement, exchange) {
				return e.dropExchangeTable(ctx, q, t, c.Part, err)
			}
			return err
		}

		if strings.HasPrefix(statement, "LOCK TABLES") {
			if err := e.recheck(ctx, q, t, c); err != nil {
				return err
			}
		}
	}

	return nil
}

// dropExchangeTable drops the exchange table, if it has no rows, after an EXCHANGE PARTITION that failed with cause,
// while both tables are locked. It returns ErrBusy if an earlier call made the exchange table: the table may have been
// altered since, and a new one may fit. A statement that got no lock may have given up the other locks, and its
// exchange table can be used again.
func (e Engine) dropExchangeTable(
	ctx context.Context, q engine.Querier, t *engine.Table, p engine.Part, cause error,
) error {
	if e.Refused(cause) {
		return cause
	}

	target := e.exchangeTable(p)
	_, found, err := e.Key(ctx, q, t, target, engine.NoLow, engine.NoHigh, engine.Least)
	if err == nil && !found {
		_, err = q.ExecContext(ctx, "DROP TABLE "+QuoteTable(target.Name))
	}

	switch {
	case err != nil:
		return errors.Join(cause, err)
	case p.ExchangeTable != "" && !found:
		return engine.ErrBusy
	}

	return cause
}

// recheck returns ErrBusy if a row that prevents the change came after the plan was made: one below its floor, or one
// in the exchange table that was empty.
func (e Engine) recheck(ctx context.Context, q engine.Querier, t *engine.Table, c engine.Change) error {
	isDrop := c.Action == engine.Drop
	if c.Part.Moved && !isDrop {
		return engine.None(ctx, q, e, t, c.Part, engine.NoLow, engine.NoHigh)
	}

	if !isDrop {
		err := engine.None(ctx, q, e, t, e.exchangeTable(c.Part), engine.NoLow, engine.NoHigh)
		if err != nil {
			return err
		}
	}

	if c.Floor == engine.NoLow {
		return nil
	}
	return engine.None(ctx, q, e, t, c.Part, engine.NoLow, c.Floor)
}

// checkExchangeTable returns an error, before anything is changed, if a later step of the exchange would fail: the
// comment has no room for the mark, or there is another table of that name.
func (e Engine) checkExchangeTable(ctx context.Context, q engine.Querier, p engine.Part) error {
	const maxComment = 2048
	target := e.exchangeTable(p)
	if n := utf8.RuneCountInString(target.Comment); n > maxComment {
		return fmt.Errorf("the comment of %v has no room for the mark of detached tables: %d characters, more than %d",
			p.Parent, n, maxComment)
	}

	if p.ExchangeTable != "" {
		return nil
	}

	var found bool
	const query = "SELECT COUNT(*) > 0 FROM information_schema.TABLES WHERE TABLE_SCHEMA = ? AND TABLE_NAME = ?"
	err := q.QueryRowContext(ctx, query, target.Schema, target.Table).Scan(&found)
	if found {
		return fmt.Errorf("%w: there is another table %v", engine.ErrTable, target.Name)
	}
	return err
}

// Archive calls the callback of WithArchive and marks the table as archived.
func (e Engine) Archive(ctx context.Context, db *sql.DB, t *engine.Table, st *engine.State, p engine.Part) error {
	return e.withSession(ctx, db, t, engine.ArchiveLock, func(conn *sql.Conn) error {
		const query = "SELECT TABLE_COMMENT FROM information_schema.TABLES WHERE TABLE_SCHEMA = ? AND TABLE_NAME = ?"
		found, err := engine.One(conn.QueryRowContext(ctx, query, p.Schema, p.Table), &p.Comment)
		if !found {
			return err
		}
		if isOpen := p.ReadMark(st.Table) && !p.Archived; !isOpen {
			return nil
		}

		if err := t.Archive(ctx, QuoteTable(p.Name)); err != nil {
			return fmt.Errorf("the callback of WithArchive: %w", err)
		}
		return engine.ExecAll(ctx, conn, e.comment(st, p, p.Marked(st.Table, true)))
	})
}
