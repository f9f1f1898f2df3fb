package postgres

import (
	"context"
	"database/sql"
	"fmt"

	"github.com/sqlflake/sqlflake/contrib/internal/pgsql"
	"github.com/sqlflake/sqlflake/contrib/partition/internal/engine"
)

// Execute executes the statements of a change. Those of an archived table are left to Archive.
func (e Engine) Execute(
	ctx context.Context, q engine.Querier, t *engine.Table, st *engine.State, c engine.Change,
) error {
	if c.Action == engine.Archive {
		return nil
	}

	needsOwnLock := c.Detached || c.Action == engine.Alter
	if detaches := !needsOwnLock && c.Action != engine.Create; detaches {
		if err := e.lockToDetach(ctx, q, t, st, c); err != nil {
			return err
		}
	}

	checksFloor := c.Action == engine.Drop && c.Floor != engine.NoLow
	for i, statement := range e.Statements(t, st, c) {
		if checksFloor && i > 0 { // it is detached, so it has no writers
			if err := engine.None(ctx, q, e, t, c.Part, engine.NoLow, c.Floor); err != nil {
				return err
			}
		}

		if err := engine.ExecAll(ctx, q, statement); err != nil {
			if needsOwnLock {
				return engine.OwnLock{Err: err}
			}
			return err
		}
	}

	return nil
}

// lockToDetach takes the locks that DETACH PARTITION takes too, in a different order.
func (Engine) lockToDetach(
	ctx context.Context, q engine.Querier, t *engine.Table, st *engine.State, c engine.Change,
) error {
	partition := Quote(c.Part.Name)

	// This lock comes first: while the partition is vacuumed, it keeps others from waiting behind a lock of the table.
	if err := lock(ctx, q, TableLock{partition, queue}, t.LockTimeout); err != nil {
		return engine.OwnLock{Err: err}
	}

	locks, err := RelatedLocks(ctx, q, Quote(st.Table), c.Attempt)
	if err != nil {
		return err
	}
	if err := lockInTurn(ctx, q, t, locks...); err != nil {
		return err
	}
	if err := lock(ctx, q, TableLock{partition, Exclusive}, t.LockTimeout); err != nil {
		return engine.OwnLock{Err: err}
	}

	return nil
}

// Statements returns the statements of a change.
func (e Engine) Statements(t *engine.Table, st *engine.State, c engine.Change) (statements []string) {
	p := c.Part
	if leavesTable := !c.Detached && c.Action != engine.Create && c.Action != engine.Alter; leavesTable {
		statements = append(statements,
			fmt.Sprintf("ALTER TABLE %s DETACH PARTITION %s", Quote(st.Table), Quote(p.Name)))
	}

	switch c.Action {
	case engine.Create:
		return append(e.createTable(st, engine.Name{Schema: st.Table.Schema, Table: c.Partition}), e.attach(st, c))
	case engine.Drop:
		return append(statements, "DROP TABLE "+Quote(p.Name))
	case engine.Keep:
		if p.Comment == p.Unmarked() {
			return statements
		}
		return append(statements, commentOn(p, p.Unmarked()))
	case engine.Detach:
		return append(statements, commentOn(p, p.Marked(st.Table, false)))
	case engine.Archive:
		return []string{commentOn(p, p.Marked(st.Table, true))}
	}
	return []string{commentOn(p, p.Unmarked())} // engine.Alter
}

// createTable returns the statements that create a table like the parent. CREATE TABLE ... PARTITION OF would wait for
// all who use the parent. The indexes and foreign keys come with ATTACH PARTITION; identity columns belong to the
// parent.
func (Engine) createTable(st *engine.State, added engine.Name) []string {
	statements := []string{fmt.Sprintf("CREATE TABLE %s (LIKE %s INCLUDING ALL "+
		"EXCLUDING IDENTITY EXCLUDING INDEXES EXCLUDING STATISTICS EXCLUDING COMMENTS)%s",
		Quote(added), Quote(st.Table), st.Storage)}
	if st.Grantees != "" { // who may use the table needs none on the partition, which has no policies
		statements = append(statements, fmt.Sprintf("REVOKE ALL ON TABLE %s FROM %s", Quote(added), st.Grantees))
	}

	if st.Identity != "" {
		statements = append(statements,
			fmt.Sprintf("ALTER TABLE %s REPLICA IDENTITY %s", Quote(added), st.Identity))
	}

	if st.Owner != "" {
		statements = append(statements,
			fmt.Sprintf("ALTER TABLE %s OWNER TO %s", Quote(added), pgsql.Name(st.Owner)))
	}

	return statements
}

// attach returns the statement that makes the table of a change a partition.
func (Engine) attach(st *engine.State, c engine.Change) string {
	bounds := fmt.Sprintf("FOR VALUES FROM ('%d') TO ('%d')", c.Lo, c.Hi)
	return fmt.Sprintf("ALTER TABLE %s ATTACH PARTITION %s %s", Quote(st.Table),
		Quote(engine.Name{Schema: st.Table.Schema, Table: c.Partition}), withWords.Replace(bounds))
}

// commentOn returns the statement that sets a comment; an empty one removes it.
func commentOn(p engine.Part, text string) string {
	return fmt.Sprintf("COMMENT ON TABLE %s IS %s", Quote(p.Name), pgsql.Literal(text))
}

// Archive calls the callback of WithArchive and marks the table as archived, unless another process has done it, or a
// person has removed the mark.
func (e Engine) Archive(ctx context.Context, db *sql.DB, t *engine.Table, st *engine.State, p engine.Part) error {
	return e.WithSession(ctx, db, t, engine.ArchiveLock, func(conn *sql.Conn) error {
		quoted, open, err := e.readOpen(ctx, conn, st, &p)
		if err != nil || !open {
			return err
		}

		if err := t.Archive(ctx, quoted); err != nil {
			return fmt.Errorf("the callback of WithArchive: %w", err)
		}

		return e.markArchived(ctx, conn, t, st, &p)
	})
}

// markArchived marks a table as archived, which may have got another name or comment since the callback began.
func (e Engine) markArchived(
	ctx context.Context, conn *sql.Conn, t *engine.Table, st *engine.State, p *engine.Part,
) error {
	return e.transaction(ctx, conn, t, sql.NullString{}, false, func(_ *engine.Table, tx engine.Querier) error {
		named, open, err := e.readOpen(ctx, tx, st, p)
		if err != nil || !open {
			return err
		}
		if err := engine.ExecAll(ctx, tx, TableLock{named, queue}.Statement()); err != nil { // the lock of COMMENT
			return err
		}

		locked, open, err := e.readOpen(ctx, tx, st, p)
		switch {
		case err != nil || !open:
			return err
		case locked != named:
			return engine.ErrChanging
		}

		return engine.ExecAll(ctx, tx, commentOn(*p, p.Marked(st.Table, true)))
	})
}

// readOpen reads the name and the comment of a detached table. It reports whether the table still has its mark, and is
// not archived.
func (Engine) readOpen(
	ctx context.Context, q engine.Querier, st *engine.State, p *engine.Part,
) (quoted string, open bool, err error) {
	const query = `SELECT coalesce(pg_catalog.obj_description(c.oid, 'pg_class'), ''), n.nspname, c.relname,
	pg_catalog.format('%I.%I', n.nspname, c.relname)
FROM pg_catalog.pg_class AS c JOIN pg_catalog.pg_namespace AS n ON n.oid OPERATOR(pg_catalog.=) c.relnamespace
WHERE c.oid OPERATOR(pg_catalog.=) $1::bigint::pg_catalog.oid AND NOT c.relispartition`
	found, err := engine.One(q.QueryRowContext(ctx, query, p.OID), &p.Comment, &p.Schema, &p.Table, &quoted)
	if !found {
		return quoted, false, err
	}
	return quoted, p.ReadMark(st.Table) && !p.Archived, err
}
