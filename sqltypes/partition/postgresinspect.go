package partition

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"time"
)

// parent is the table as PostgreSQL's catalog describes it.
type parent struct {
	oid                   int64
	kind                  string // of pg_class
	temporary, owned      bool
	owner                 string // if it is not the current role
	strategy, key, column string // of the partitions
	columns               int
	columnType            string
	now                   int64 // in microseconds
}

const parentQuery = `SELECT c.oid::int8, n.nspname, c.relkind::text, c.relpersistence = 't', pg_has_role(c.relowner, 'USAGE'),
	CASE WHEN pg_get_userbyid(c.relowner) = current_user THEN '' ELSE pg_get_userbyid(c.relowner)::text END,
	coalesce(p.partstrat::text, ''), coalesce(p.partnatts, 0), coalesce(pg_get_partkeydef(c.oid), ''),
	coalesce(a.attname::text, ''), coalesce(format_type(a.atttypid, NULL), ''),
	coalesce((SELECT ' USING ' || quote_ident(m.amname) FROM pg_am m WHERE m.oid = c.relam), '') ||
		coalesce((SELECT ' TABLESPACE ' || quote_ident(t.spcname) FROM pg_tablespace t WHERE t.oid = c.reltablespace), ''),
	coalesce((SELECT string_agg(DISTINCT CASE g.grantee WHEN 0 THEN 'PUBLIC' ELSE quote_ident(pg_get_userbyid(g.grantee)) END, ', ')
		FROM pg_default_acl d, aclexplode(d.defaclacl) g WHERE d.defaclobjtype = 'r' AND g.grantee <> d.defaclrole
		AND d.defaclrole = (SELECT r.oid FROM pg_roles r WHERE r.rolname = current_user) AND d.defaclnamespace IN (0, c.relnamespace)), ''),
	CASE c.relreplident WHEN 'f' THEN 'FULL' WHEN 'n' THEN 'NOTHING' ELSE '' END,
	(extract(epoch FROM clock_timestamp()) * 1000000)::int8
FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace LEFT JOIN pg_partitioned_table p ON p.partrelid = c.oid
LEFT JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum = p.partattrs[0] AND a.attnum > 0
WHERE c.relname = $1::text AND CASE WHEN $2::text = '' THEN pg_table_is_visible(c.oid) ELSE n.nspname = $2::text END`

func (e postgres) inspect(ctx context.Context, q querier, s *Set) (*state, error) {
	var p parent
	st := &state{table: s.table}
	row := q.QueryRowContext(ctx, parentQuery, s.table.table, s.table.schema)
	found, err := one(row, &p.oid, &st.table.schema, &p.kind, &p.temporary, &p.owned, &p.owner, &p.strategy, &p.columns,
		&p.key, &p.column, &p.columnType, &st.storage, &st.grantees, &st.identity, &p.now)
	if err != nil {
		return nil, err
	}
	if !found {
		return nil, s.noTable()
	}
	if text := p.unsuitable(s); text != "" {
		return nil, fmt.Errorf("%w: %v %s", ErrTable, st.table, text)
	}
	if err := s.checkKey(st.table, p.columnType, p.columnType == "bigint"); err != nil {
		return nil, err
	}
	st.now, st.owner = time.UnixMicro(p.now).UTC(), p.owner
	if err := e.readParts(ctx, q, s, p.oid, st); err != nil {
		return nil, err
	}
	return st, st.readLoose(ctx, q, looseQuery, markWords, p.oid, s.key)
}

// unsuitable returns why the table can't be maintained.
func (p parent) unsuitable(s *Set) string {
	switch {
	case p.kind == "r":
		return "is not partitioned: see Adopt"
	case p.kind != "p":
		return relationText(p.kind)
	case p.temporary:
		return "is temporary"
	case p.strategy != "r", p.columns != 1, p.column != s.key:
		return fmt.Sprintf("is partitioned by %s, want RANGE (%s)", p.key, s.key)
	case !p.owned:
		return "belongs to the role " + p.owner + ", of which the current role is no member: " +
			"only the owner may change partitions"
	}
	return ""
}

// relationText says what a relation is that is no table.
func relationText(kind string) string {
	if kind == "v" || kind == "m" {
		return "is a view"
	}
	return fmt.Sprintf("is no table but a relation of the kind %q", kind)
}

// pagesSize estimates the size of a relation. pg_total_relation_size would wait for whoever has locked it, and so would
// pg_get_expr with its OID.
const pagesSize = `((c.relpages::int8 + coalesce((SELECT t.relpages FROM pg_class t WHERE t.oid = c.reltoastrelid), 0) +
	coalesce((SELECT sum(x.relpages) FROM pg_index i JOIN pg_class x ON x.oid = i.indexrelid WHERE i.indrelid = c.oid), 0)) *
	current_setting('block_size')::int8)`

const partsQuery = `SELECT c.oid::int8, n.nspname, c.relname, c.relkind IN ('p', 'f'), coalesce(pg_get_expr(c.relpartbound, 0), ''),
	greatest(c.reltuples, 0)::int8, ` + pagesSize + `, i.inhdetachpending,
	coalesce(obj_description(c.oid, 'pg_class'), '')
FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE i.inhparent = $1::int8::oid`

func (postgres) readParts(ctx context.Context, q querier, s *Set, parent int64, st *state) error {
	err := each(ctx, q, partsQuery, []any{parent}, func(scan func(...any) error) error {
		var p part
		var bound string
		err := scan(&p.oid, &p.schema, &p.table, &p.fixed, &bound, &p.rows, &p.bytes, &p.pending, &p.comment)
		if err != nil {
			return err
		}
		if bound == "DEFAULT" {
			st.fallback = &p
			return nil
		}
		if p.lo, p.hi, err = parseBound(bound); err != nil {
			return fmt.Errorf("partition: the bounds of %v: %w", p.name, err)
		}
		marked := p
		p.interrupted = marked.readMark(st.table)
		p.due = s.archive != nil || p.interrupted && marked.due
		st.parts = append(st.parts, p)
		return nil
	})
	slices.SortFunc(st.parts, func(a, b part) int { return cmp.Compare(a.lo, b.lo) })
	return err
}

var boundForm = regexp.MustCompile(`^FOR VALUES FROM \((?:MINVALUE|'?(-?[0-9]+)'?)\) TO \((?:MAXVALUE|'?(-?[0-9]+)'?)\)$`)

// errChanging is about a partition that is detached or dropped while it is read.
var errChanging = errors.New("another process changes it")

// parseBound reads bounds in the form of pg_get_expr.
func parseBound(text string) (lo, hi int64, err error) {
	if text == "" {
		return 0, 0, errChanging
	}
	match := boundForm.FindStringSubmatch(text)
	if match == nil {
		return 0, 0, fmt.Errorf("%w: %q", ErrTable, text)
	}
	lo, hi = noLow, noHigh
	if match[1] != "" {
		lo, err = strconv.ParseInt(match[1], 10, 64)
	}
	if match[2] != "" && err == nil {
		hi, err = strconv.ParseInt(match[2], 10, 64)
	}
	return lo, hi, err
}

// looseQuery trusts a comment only if the owner of the table is trusted: reading a table of another role may execute
// code of that role.
const looseQuery = `SELECT c.oid::int8, n.nspname, c.relname, greatest(c.reltuples, 0)::int8,
	` + pagesSize + `, d.description
FROM pg_description d JOIN pg_class c ON c.oid = d.objoid JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE d.classoid = 'pg_class'::regclass AND d.objsubid = 0 AND c.relkind = 'r' AND NOT c.relispartition
	AND strpos(d.description, $1::text) > 0
	AND (c.relowner = (SELECT t.relowner FROM pg_class t WHERE t.oid = $2::int8::oid)
		OR EXISTS (SELECT FROM pg_roles r WHERE r.oid = c.relowner AND (r.rolsuper OR r.rolname = current_user)))
	AND EXISTS (SELECT FROM pg_attribute a WHERE a.attrelid = c.oid AND a.attname = $3::text AND a.atttypid = 'int8'::regtype)
ORDER BY c.oid`
