package postgres

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"strings"

	"github.com/sqlflake/sqlflake/contrib/internal/pgsql"
	"github.com/sqlflake/sqlflake/contrib/partition/internal/engine"
)

func (e Engine) Statements(t *engine.Table, st *engine.State, c engine.Change) []string {
	inside, outside := e.work(t, st, c)
	return append(inside, outside...)
}

func (e Engine) Execute(ctx context.Context, q engine.Querier, t *engine.Table, st *engine.State, c engine.Change) error {
	inside, _ := e.work(t, st, c)
	own := c.Detached || c.Finish || c.Action == engine.Alter
	if !own && c.Action != engine.Create {
		if err := e.lockToDetach(ctx, q, t, st, c); err != nil {
			return err
		}
	}

	for i, statement := range inside {
		if i > 0 && c.Action == engine.Drop && c.Floor != engine.NoLow { // it is detached, so it has no writers
			if err := engine.None(ctx, q, e, t, c.Part, engine.NoLow, c.Floor); err != nil {
				return err
			}
		}

		if err := engine.ExecAll(ctx, q, statement); err != nil && own {
			return engine.OwnLock{Err: err}
		} else if err != nil {
			return err
		}
	}

	return nil
}

// lockToDetach takes the locks that DETACH PARTITION takes too, in a different order.
func (Engine) lockToDetach(ctx context.Context, q engine.Querier, t *engine.Table, st *engine.State, c engine.Change) error {
	partition := Quote(c.Part.Name)
	// This lock comes first: while the partition is vacuumed, it keeps others from waiting behind a lock of the table.
	if err := lock(ctx, q, t, TableLock{partition, queue}, t.LockTimeout); err != nil {
		return engine.OwnLock{Err: err}
	}

	locks, err := RelatedLocks(ctx, q, Quote(st.Table), c.Attempt)
	if err != nil {
		return err
	}
	if err := lockInTurn(ctx, q, t, locks...); err != nil {
		return err
	}
	if err := lock(ctx, q, t, TableLock{partition, Exclusive}, t.LockTimeout); err != nil {
		return engine.OwnLock{Err: err}
	}

	return nil
}

// work returns the statements of a step: inside and outside of a transaction.
func (e Engine) work(t *engine.Table, st *engine.State, c engine.Change) (inside, outside []string) {
	p := c.Part
	table := Quote(p.Name)
	detach := fmt.Sprintf("ALTER TABLE %s DETACH PARTITION %s", Quote(st.Table), table)
	switch c.Action {
	case engine.Create:
		return append(e.createTable(st, engine.Name{Schema: st.Table.Schema, Table: c.Partition}), e.attach(st, c)), nil
	case engine.Drop, engine.Rename:
		if !c.Detached {
			inside = append(inside, detach)
		}
		if c.Action == engine.Drop {
			return append(inside, "DROP TABLE "+table), nil
		}
		return append(inside, e.rename(t, p)...), nil
	case engine.Detach:
		mark := commentOn(p, p.Marked(st.Table, false))
		switch {
		case p.Pending:
			return []string{mark}, []string{detach + " FINALIZE"}
		case c.Finish:
			return []string{mark}, []string{detach + " CONCURRENTLY"}
		}
		return []string{mark, detach}, nil
	case engine.Alter:
		return []string{commentOn(p, p.Unmarked())}, nil
	case engine.Archive:
		return nil, []string{commentOn(p, p.Marked(st.Table, true))}
	}

	return nil, nil
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

func (Engine) attach(st *engine.State, c engine.Change) string {
	attach := fmt.Sprintf("ALTER TABLE %s ATTACH PARTITION %s ", Quote(st.Table),
		Quote(engine.Name{Schema: st.Table.Schema, Table: c.Partition}))
	if c.IsDefault() {
		return attach + "DEFAULT"
	}

	lo, hi := "MINVALUE", "MAXVALUE"
	if c.Lo != engine.NoLow {
		lo = fmt.Sprintf("'%d'", c.Lo)
	}
	if c.Hi != engine.NoHigh {
		hi = fmt.Sprintf("'%d'", c.Hi)
	}

	return attach + fmt.Sprintf("FOR VALUES FROM (%s) TO (%s)", lo, hi)
}

// rename returns the statements that give a detached table its name of WithKeep and its own comment.
func (Engine) rename(t *engine.Table, p engine.Part) (statements []string) {
	if p.Comment != p.Unmarked() {
		statements = append(statements, commentOn(p, p.Unmarked()))
	}

	kept := t.KeptName(p)
	if kept.Table != p.Table {
		statements = append(statements,
			fmt.Sprintf("ALTER TABLE %s RENAME TO %s", Quote(p.Name), pgsql.Name(kept.Table)))
	}

	if kept.Schema != p.Schema {
		statements = append(statements, fmt.Sprintf("ALTER TABLE %s SET SCHEMA %s",
			Quote(engine.Name{Schema: p.Schema, Table: kept.Table}), pgsql.Name(kept.Schema)))
	}

	return statements
}

// commentOn returns the statement that sets a comment; an empty one removes it.
func commentOn(p engine.Part, text string) string {
	return fmt.Sprintf("COMMENT ON TABLE %s IS %s", Quote(p.Name), pgsql.Literal(text))
}

func (e Engine) Finish(ctx context.Context, db *sql.DB, t *engine.Table, st *engine.State, c engine.Change) error {
	lock, f := engine.ChangeLock, e.detach
	if c.Action == engine.Archive {
		lock, f = engine.ArchiveLock, e.archive
	}
	return e.WithSession(ctx, db, t, lock, func(conn *sql.Conn) error { return f(ctx, conn, t, st, c) })
}

// detach detaches a partition concurrently, unless another process has done it.
func (e Engine) detach(ctx context.Context, conn *sql.Conn, t *engine.Table, st *engine.State, c engine.Change) error {
	p := &c.Part
	const query = `SELECT inhdetachpending, coalesce(pg_catalog.obj_description(inhrelid, 'pg_class'), '')
FROM pg_catalog.pg_inherits WHERE inhrelid OPERATOR(pg_catalog.=) $1::bigint::pg_catalog.oid`
	if found, err := engine.One(conn.QueryRowContext(ctx, query, p.OID), &p.Pending, &p.Comment); !found {
		return err
	}
	if marked := *p; !marked.ReadMark(st.Table) {
		return engine.ErrBusy // another process, with a longer retention, has removed the mark
	}
	_, outside := e.work(t, st, c)
	return engine.ExecAll(ctx, conn, outside...)
}

// archive calls the callback of WithArchive and marks the table as archived, unless another process has done it, or a
// person has removed the mark.
func (e Engine) archive(ctx context.Context, conn *sql.Conn, t *engine.Table, st *engine.State, c engine.Change) error {
	p := &c.Part
	quoted, open, err := e.readOpen(ctx, conn, st, p)
	if err != nil || !open {
		return err
	}
	if err := t.Archive(ctx, quoted); err != nil {
		return fmt.Errorf("the callback of WithArchive: %w", err)
	}

	// Meanwhile the table may have got another name or comment.
	return e.transaction(ctx, conn, t, sql.NullString{}, false, func(t *engine.Table, tx engine.Querier) error {
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

// readOpen reads the name and the comment of a detached table. It reports whether the table still has its mark, and is not
// archived.
func (Engine) readOpen(ctx context.Context, q engine.Querier, st *engine.State, p *engine.Part) (quoted string, open bool, err error) {
	const query = `SELECT coalesce(pg_catalog.obj_description(c.oid, 'pg_class'), ''), n.nspname, c.relname,
	pg_catalog.format('%I.%I', n.nspname, c.relname)
FROM pg_catalog.pg_class AS c JOIN pg_catalog.pg_namespace AS n ON n.oid OPERATOR(pg_catalog.=) c.relnamespace
WHERE c.oid OPERATOR(pg_catalog.=) $1::bigint::pg_catalog.oid AND NOT c.relispartition`
	found, err := engine.One(q.QueryRowContext(ctx, query, p.OID), &p.Comment, &p.Schema, &p.Table, &quoted)
	return quoted, found && p.ReadMark(st.Table) && !p.Archived, err
}

// Move fills a table before it attaches it as the partition. It locks the parent first: a reader that has planned with
// the default partition only, or a writer that waits for one of its rows, would miss the moved rows.
func (e Engine) Move(ctx context.Context, q engine.Querier, t *engine.Table, st *engine.State, create engine.Change) (moved int64, err error) {
	from, to := Quote(st.Default.Name), engine.Name{Schema: st.Table.Schema, Table: create.Partition}
	// ATTACH PARTITION locks what foreign keys refer to at the end. If that were refused then, all rows would have been
	// copied for nothing.
	locks, err := RelatedLocks(ctx, q, Quote(st.Table), parentsFirst)
	if err != nil {
		return 0, err
	}

	// Those that refer to the table come last. checkMovable refuses if there is one.
	locks = locks[:slices.Index(locks, TableLock{Quote(st.Table), Exclusive})+1]
	if err := lockInTurn(ctx, q, t, locks...); err != nil {
		return 0, err
	}
	if err := lock(ctx, q, t, TableLock{from, Exclusive}, t.LockTimeout); err != nil {
		return 0, err
	}
	if err := e.checkMovable(ctx, q, st); err != nil {
		return 0, err
	}

	columns, err := engine.List(ctx, q, `SELECT quote_ident(attname) FROM pg_attribute
WHERE attrelid = $1::int8::oid AND attnum > 0 AND NOT attisdropped AND attgenerated = '' ORDER BY attnum`, st.Default.OID)
	if err != nil {
		return 0, err
	}

	// The rows are not deleted for the triggers.
	off, on, err := e.triggers(ctx, q, st.Default)
	if err != nil {
		return 0, err
	}
	if err := engine.ExecAll(ctx, q, append(e.createTable(st, to), off...)...); err != nil {
		return 0, err
	}

	// The functions of checks, generated columns and indexes may need the path of the session.
	const reset = "SELECT pg_catalog.set_config('search_path', $1::pg_catalog.text, true)"
	if _, err := q.ExecContext(ctx, reset, t.Path); err != nil {
		return 0, err
	}

	const moveForm = `WITH moved AS (
	DELETE FROM ONLY %[1]s WHERE %[2]s OPERATOR(pg_catalog.>=) %[3]d AND %[2]s OPERATOR(pg_catalog.<) %[4]d RETURNING %[5]s
) INSERT INTO %[6]s (%[5]s) SELECT %[5]s FROM moved`
	move := fmt.Sprintf(moveForm, from, pgsql.Name(t.Key), int64(create.Lo), int64(create.Hi),
		strings.Join(columns, ", "),
		Quote(to))
	result, err := q.ExecContext(ctx, move)
	if err != nil {
		return 0, fmt.Errorf("%s: %w", move, err)
	}
	if moved, err = result.RowsAffected(); err != nil {
		return 0, err
	}

	// ATTACH fails if the range has rows that were not moved.
	return moved, engine.ExecAll(ctx, q, append(on, e.attach(st, create))...)
}

// checkMovable refuses to move rows that other rows refer to: ON DELETE CASCADE would delete those.
func (Engine) checkMovable(ctx context.Context, q engine.Querier, st *engine.State) error {
	if st.Default.Fixed {
		return fmt.Errorf("%w: the default partition %v has partitions, or is a foreign table",
			engine.ErrTable, st.Default.Name)
	}

	keys, err := engine.List(ctx, q, `SELECT quote_ident(k.conname) || ' of ' || k.conrelid::regclass FROM pg_constraint k
WHERE k.contype = 'f' AND k.confrelid = $1::int8::oid ORDER BY k.conparentid, k.oid LIMIT 1`, st.Default.OID)
	if err != nil {
		return err
	}

	if len(keys) > 0 {
		return fmt.Errorf("%w: the foreign key %s refers to rows of %v, which can't be moved",
			engine.ErrTable, keys[0], st.Default.Name)
	}

	return nil
}

// triggers returns the statements that disable the triggers of a partition, and that enable them as they were.
func (Engine) triggers(ctx context.Context, q engine.Querier, p *engine.Part) (off, on []string, err error) {
	// On PostgreSQL 14 those that it has from the table are internal too.
	const query = `SELECT format('ALTER TABLE ONLY %%s %s TRIGGER %%I', $2::text, tgname) FROM pg_trigger
WHERE tgrelid = $1::int8::oid AND tgenabled <> 'D' AND (NOT tgisinternal OR tgparentid <> 0)
	AND NOT EXISTS (SELECT FROM pg_constraint k WHERE k.oid = tgconstraint AND k.contype <> 't') ORDER BY tgname`
	const mode = `' || CASE tgenabled WHEN 'O' THEN 'ENABLE' WHEN 'R' THEN 'ENABLE REPLICA' ELSE 'ENABLE ALWAYS' END || '`
	if off, err = engine.List(ctx, q, fmt.Sprintf(query, "DISABLE"), p.OID, Quote(p.Name)); err == nil {
		on, err = engine.List(ctx, q, fmt.Sprintf(query, mode), p.OID, Quote(p.Name))
	}
	return off, on, err
}
