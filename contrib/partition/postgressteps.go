package partition

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"strings"

	"github.com/sqlflake/sqlflake/contrib/internal/pgsql"
)

func (e postgres) statements(s *Set, st *state, step Step) []string {
	inside, outside := e.work(s, st, step)
	return append(inside, outside...)
}

func (e postgres) execute(ctx context.Context, q querier, s *Set, st *state, step Step) error {
	inside, _ := e.work(s, st, step)
	own := step.detached || step.finish || step.Action == actionAlter
	if !own && step.Action != actionCreate {
		if err := e.lockToDetach(ctx, q, s, st, step); err != nil {
			return err
		}
	}

	for i, statement := range inside {
		if i > 0 && step.Action == actionDrop && step.floor != noLow { // it is detached, so it has no writers
			if err := s.none(ctx, q, step.part, noLow, step.floor); err != nil {
				return err
			}
		}

		if err := execAll(ctx, q, statement); err != nil && own {
			return ownLock{err}
		} else if err != nil {
			return err
		}
	}

	return nil
}

// lockToDetach takes the locks that DETACH PARTITION takes too, in a different order.
func (postgres) lockToDetach(ctx context.Context, q querier, s *Set, st *state, step Step) error {
	partition := quoteTable(step.part.name)
	// This lock comes first: while the partition is vacuumed, it keeps others from waiting behind a lock of the table.
	if err := s.lock(ctx, q, tableLock{partition, queue}, s.lockTimeout); err != nil {
		return ownLock{err}
	}

	locks, err := relatedLocks(ctx, q, quoteTable(st.table), step.attempt)
	if err != nil {
		return err
	}
	if err := s.lockInTurn(ctx, q, locks...); err != nil {
		return err
	}
	if err := s.lock(ctx, q, tableLock{partition, exclusive}, s.lockTimeout); err != nil {
		return ownLock{err}
	}

	return nil
}

// work returns the statements of a step: inside and outside of a transaction.
func (e postgres) work(s *Set, st *state, step Step) (inside, outside []string) {
	p := step.part
	table := quoteTable(p.name)
	detach := fmt.Sprintf("ALTER TABLE %s DETACH PARTITION %s", quoteTable(st.table), table)
	switch step.Action {
	case actionCreate:
		return append(e.createTable(st, name{st.table.schema, step.Partition}), e.attach(st, step)), nil
	case actionDrop, actionRename:
		if !step.detached {
			inside = append(inside, detach)
		}
		if step.Action == actionDrop {
			return append(inside, "DROP TABLE "+table), nil
		}
		return append(inside, e.rename(s, p)...), nil
	case actionDetach:
		mark := commentOn(p, p.marked(st.table, false))
		switch {
		case p.pending:
			return []string{mark}, []string{detach + " FINALIZE"}
		case step.finish:
			return []string{mark}, []string{detach + " CONCURRENTLY"}
		}
		return []string{mark, detach}, nil
	case actionAlter:
		return []string{commentOn(p, p.unmarked())}, nil
	case actionArchive:
		return nil, []string{commentOn(p, p.marked(st.table, true))}
	}

	return nil, nil
}

// createTable returns the statements that create a table like the parent. CREATE TABLE ... PARTITION OF would wait for
// all who use the parent. The indexes and foreign keys come with ATTACH PARTITION; identity columns belong to the
// parent.
func (postgres) createTable(st *state, added name) []string {
	statements := []string{fmt.Sprintf("CREATE TABLE %s (LIKE %s INCLUDING ALL "+
		"EXCLUDING IDENTITY EXCLUDING INDEXES EXCLUDING STATISTICS EXCLUDING COMMENTS)%s",
		quoteTable(added), quoteTable(st.table), st.storage)}
	if st.grantees != "" { // who may use the table needs none on the partition, which has no policies
		statements = append(statements, fmt.Sprintf("REVOKE ALL ON TABLE %s FROM %s", quoteTable(added), st.grantees))
	}

	if st.identity != "" {
		statements = append(statements,
			fmt.Sprintf("ALTER TABLE %s REPLICA IDENTITY %s", quoteTable(added), st.identity))
	}

	if st.owner != "" {
		statements = append(statements,
			fmt.Sprintf("ALTER TABLE %s OWNER TO %s", quoteTable(added), pgsql.Name(st.owner)))
	}

	return statements
}

func (postgres) attach(st *state, step Step) string {
	attach := fmt.Sprintf("ALTER TABLE %s ATTACH PARTITION %s ", quoteTable(st.table),
		quoteTable(name{st.table.schema, step.Partition}))
	if step.isDefault() {
		return attach + "DEFAULT"
	}

	lo, hi := "MINVALUE", "MAXVALUE"
	if step.Lo != noLow {
		lo = fmt.Sprintf("'%d'", step.Lo)
	}
	if step.Hi != noHigh {
		hi = fmt.Sprintf("'%d'", step.Hi)
	}

	return attach + fmt.Sprintf("FOR VALUES FROM (%s) TO (%s)", lo, hi)
}

// rename returns the statements that give a detached table its name of WithKeep and its own comment.
func (postgres) rename(s *Set, p part) (statements []string) {
	if p.comment != p.unmarked() {
		statements = append(statements, commentOn(p, p.unmarked()))
	}

	kept := s.keptName(p)
	if kept.table != p.table {
		statements = append(statements,
			fmt.Sprintf("ALTER TABLE %s RENAME TO %s", quoteTable(p.name), pgsql.Name(kept.table)))
	}

	if kept.schema != p.schema {
		statements = append(statements, fmt.Sprintf("ALTER TABLE %s SET SCHEMA %s",
			quoteTable(name{p.schema, kept.table}), pgsql.Name(kept.schema)))
	}

	return statements
}

// commentOn returns the statement that sets a comment; an empty one removes it.
func commentOn(p part, text string) string {
	return fmt.Sprintf("COMMENT ON TABLE %s IS %s", quoteTable(p.name), pgsql.Literal(text))
}

func (e postgres) finish(ctx context.Context, db *sql.DB, s *Set, st *state, step Step) error {
	lock, f := changeLock, e.detach
	if step.Action == actionArchive {
		lock, f = archiveLock, e.archive
	}
	return e.session(ctx, db, s, lock, func(conn *sql.Conn) error { return f(ctx, conn, s, st, step) })
}

// detach detaches a partition concurrently, unless another process has done it.
func (e postgres) detach(ctx context.Context, conn *sql.Conn, s *Set, st *state, step Step) error {
	p := &step.part
	const query = `SELECT inhdetachpending, coalesce(pg_catalog.obj_description(inhrelid, 'pg_class'), '')
FROM pg_catalog.pg_inherits WHERE inhrelid OPERATOR(pg_catalog.=) $1::bigint::pg_catalog.oid`
	if found, err := one(conn.QueryRowContext(ctx, query, p.oid), &p.pending, &p.comment); !found {
		return err
	}
	if marked := *p; !marked.readMark(st.table) {
		return errBusy // another process, with a longer retention, has removed the mark
	}
	_, outside := e.work(s, st, step)
	return execAll(ctx, conn, outside...)
}

// archive calls the callback of WithArchive and marks the table as archived, unless another process has done it, or a
// person has removed the mark.
func (e postgres) archive(ctx context.Context, conn *sql.Conn, s *Set, st *state, step Step) error {
	p := &step.part
	quoted, open, err := e.readOpen(ctx, conn, st, p)
	if err != nil || !open {
		return err
	}
	if err := s.archive(ctx, quoted); err != nil {
		return fmt.Errorf("the callback of WithArchive: %w", err)
	}

	// Meanwhile the table may have got another name or comment.
	return e.transaction(ctx, conn, s, sql.NullString{}, false, func(s *Set, tx querier) error {
		named, open, err := e.readOpen(ctx, tx, st, p)
		if err != nil || !open {
			return err
		}
		if err := execAll(ctx, tx, tableLock{named, queue}.statement()); err != nil { // the lock of COMMENT
			return err
		}

		locked, open, err := e.readOpen(ctx, tx, st, p)
		switch {
		case err != nil || !open:
			return err
		case locked != named:
			return errChanging
		}

		return execAll(ctx, tx, commentOn(*p, p.marked(st.table, true)))
	})
}

// readOpen reads the name and the comment of a detached table. It reports whether the table still has its mark, and is not
// archived.
func (postgres) readOpen(ctx context.Context, q querier, st *state, p *part) (quoted string, open bool, err error) {
	const query = `SELECT coalesce(pg_catalog.obj_description(c.oid, 'pg_class'), ''), n.nspname, c.relname,
	pg_catalog.format('%I.%I', n.nspname, c.relname)
FROM pg_catalog.pg_class AS c JOIN pg_catalog.pg_namespace AS n ON n.oid OPERATOR(pg_catalog.=) c.relnamespace
WHERE c.oid OPERATOR(pg_catalog.=) $1::bigint::pg_catalog.oid AND NOT c.relispartition`
	found, err := one(q.QueryRowContext(ctx, query, p.oid), &p.comment, &p.schema, &p.table, &quoted)
	return quoted, found && p.readMark(st.table) && !p.archived, err
}

// move fills a table before it attaches it as the partition. It locks the parent first: a reader that has planned with
// the default partition only, or a writer that waits for one of its rows, would miss the moved rows.
func (e postgres) move(ctx context.Context, q querier, s *Set, st *state, create Step) (moved int64, err error) {
	from, to := quoteTable(st.defaultPart.name), name{st.table.schema, create.Partition}
	// ATTACH PARTITION locks what foreign keys refer to at the end. If that were refused then, all rows would have been
	// copied for nothing.
	locks, err := relatedLocks(ctx, q, quoteTable(st.table), parentsFirst)
	if err != nil {
		return 0, err
	}

	// Those that refer to the table come last. checkMovable refuses if there is one.
	locks = locks[:slices.Index(locks, tableLock{quoteTable(st.table), exclusive})+1]
	if err := s.lockInTurn(ctx, q, locks...); err != nil {
		return 0, err
	}
	if err := s.lock(ctx, q, tableLock{from, exclusive}, s.lockTimeout); err != nil {
		return 0, err
	}
	if err := e.checkMovable(ctx, q, st); err != nil {
		return 0, err
	}

	columns, err := list(ctx, q, `SELECT quote_ident(attname) FROM pg_attribute
WHERE attrelid = $1::int8::oid AND attnum > 0 AND NOT attisdropped AND attgenerated = '' ORDER BY attnum`, st.defaultPart.oid)
	if err != nil {
		return 0, err
	}

	// The rows are not deleted for the triggers.
	off, on, err := e.triggers(ctx, q, st.defaultPart)
	if err != nil {
		return 0, err
	}
	if err := execAll(ctx, q, append(e.createTable(st, to), off...)...); err != nil {
		return 0, err
	}

	// The functions of checks, generated columns and indexes may need the path of the session.
	const reset = "SELECT pg_catalog.set_config('search_path', $1::pg_catalog.text, true)"
	if _, err := q.ExecContext(ctx, reset, s.path); err != nil {
		return 0, err
	}

	const moveForm = `WITH moved AS (
	DELETE FROM ONLY %[1]s WHERE %[2]s OPERATOR(pg_catalog.>=) %[3]d AND %[2]s OPERATOR(pg_catalog.<) %[4]d RETURNING %[5]s
) INSERT INTO %[6]s (%[5]s) SELECT %[5]s FROM moved`
	move := fmt.Sprintf(moveForm, from, pgsql.Name(s.key), int64(create.Lo), int64(create.Hi),
		strings.Join(columns, ", "),
		quoteTable(to))
	result, err := q.ExecContext(ctx, move)
	if err != nil {
		return 0, fmt.Errorf("%s: %w", move, err)
	}
	if moved, err = result.RowsAffected(); err != nil {
		return 0, err
	}

	// ATTACH fails if the range has rows that were not moved.
	return moved, execAll(ctx, q, append(on, e.attach(st, create))...)
}

// checkMovable refuses to move rows that other rows refer to: ON DELETE CASCADE would delete those.
func (postgres) checkMovable(ctx context.Context, q querier, st *state) error {
	if st.defaultPart.fixed {
		return fmt.Errorf("%w: the default partition %v has partitions, or is a foreign table",
			ErrTable, st.defaultPart.name)
	}

	keys, err := list(ctx, q, `SELECT quote_ident(k.conname) || ' of ' || k.conrelid::regclass FROM pg_constraint k
WHERE k.contype = 'f' AND k.confrelid = $1::int8::oid ORDER BY k.conparentid, k.oid LIMIT 1`, st.defaultPart.oid)
	if err != nil {
		return err
	}

	if len(keys) > 0 {
		return fmt.Errorf("%w: the foreign key %s refers to rows of %v, which can't be moved",
			ErrTable, keys[0], st.defaultPart.name)
	}

	return nil
}

// triggers returns the statements that disable the triggers of a partition, and that enable them as they were.
func (postgres) triggers(ctx context.Context, q querier, p *part) (off, on []string, err error) {
	// On PostgreSQL 14 those that it has from the table are internal too.
	const query = `SELECT format('ALTER TABLE ONLY %%s %s TRIGGER %%I', $2::text, tgname) FROM pg_trigger
WHERE tgrelid = $1::int8::oid AND tgenabled <> 'D' AND (NOT tgisinternal OR tgparentid <> 0)
	AND NOT EXISTS (SELECT FROM pg_constraint k WHERE k.oid = tgconstraint AND k.contype <> 't') ORDER BY tgname`
	const mode = `' || CASE tgenabled WHEN 'O' THEN 'ENABLE' WHEN 'R' THEN 'ENABLE REPLICA' ELSE 'ENABLE ALWAYS' END || '`
	if off, err = list(ctx, q, fmt.Sprintf(query, "DISABLE"), p.oid, quoteTable(p.name)); err == nil {
		on, err = list(ctx, q, fmt.Sprintf(query, mode), p.oid, quoteTable(p.name))
	}
	return off, on, err
}
