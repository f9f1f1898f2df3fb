package adopt

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

// reference is a column with keys of a table: one that refers to it, or the key itself.
type reference struct {
	countedKey
	to          int    // the index of the key
	kind, value string // of a polymorphic reference: the column of the type, and that of the table
}

// where returns a condition on the column, for rows of its kind.
func (r *rewrite) where(c reference, condition string) string {
	where := r.Statement.Quote(c.table+"."+c.column) + condition
	if c.kind == "" {
		return where
	}
	value := "'" + strings.ReplaceAll(c.value, "'", "''") + "'"
	switch r.Name() { // whether backslashes have a meaning is a setting
	case "mysql":
		value = fmt.Sprintf("_utf8mb4 X'%x'", c.value)
	case "postgres":
		value = "E" + strings.ReplaceAll(value, `\`, `\\`)
	}
	return where + " AND " + r.Statement.Quote(c.table+"."+c.kind) + " = " + value
}

// find collects the columns to rewrite, those that refer to such columns too, and checks that they can be rewritten. It
// returns the number of old rows.
func (r *rewrite) find() (old int64, err error) {
	r.columns = nil
	var all []reference
	for i, k := range r.keys {
		all = append(all, reference{countedKey: k.countedKey, to: i})
	}
	for at := 0; at < len(all); at++ {
		c := all[at]
		err := r.checkColumn(c.countedKey)
		if at >= len(r.keys) && errors.Is(err, ErrNoTable) {
			err = fmt.Errorf("%w: %w, which refers to keys; does the account lack rights on it, or has its name a dot?", ErrKeysKept, err)
		}
		if err == nil && at < len(r.keys) {
			var n int64
			n, err = count(r.DB, r.Statement.Quote(c.name())+" WHERE "+r.where(c, r.old))
			err = errors.Join(err, c.checkMinID(r.DB, ErrKeysKept))
			old += n
		}
		var found []struct{ Space, Name, Col string }
		if err == nil {
			err = r.Raw(foreignKeyQueries[r.Name()]+" ORDER BY 1, 2, 3", r.names(c.countedKey)).Scan(&found).Error
			if err != nil && strings.Contains(err.Error(), "PROCESS") {
				err = c.refused(ErrKeysKept, "the account does not see all foreign keys to it without GRANT PROCESS ON *.*: %v", err)
			}
		}
		if err != nil {
			return 0, within(c, err)
		}
		next := slices.Clone(r.known[c.countedKey])
		for _, f := range found {
			next = append(next, reference{countedKey: countedKey{f.Space, f.Name, f.Col}})
		}
		for _, n := range next {
			n.to = c.to
			for _, other := range all {
				apart := n.kind != "" && n.kind == other.kind && n.value != other.value
				if other.countedKey == n.countedKey && other.to != n.to && !apart {
					return 0, n.refused(ErrKeysKept, "the column refers to %s and to %s", r.keys[other.to], r.keys[n.to])
				}
			}
			if !slices.Contains(all, n) {
				all = append(all, n)
			}
		}
	}
	tables := map[string][]reference{}
	for _, c := range all {
		tables[c.name()] = append(tables[c.name()], c)
	}
	for _, name := range slices.Sorted(maps.Keys(tables)) {
		r.columns = append(r.columns, tables[name])
	}
	return old, nil
}

// names are the values of the queries.
func (r *rewrite) names(k countedKey) map[string]any {
	names := k.names()
	names["name"] = r.Statement.Quote(k.name())
	return names
}

// postgresTables are the table @name, its partitions and the tables that inherit from it.
const postgresTables = `WITH RECURSIVE tables(oid) AS (
		SELECT to_regclass(@name)::oid UNION SELECT inhrelid FROM pg_inherits JOIN tables ON inhparent = tables.oid) `

// foreignKeyQueries find the columns of foreign keys that refer to a column.
var foreignKeyQueries = map[string]string{
	"postgres": postgresTables + `SELECT DISTINCT coalesce(nullif(n.nspname, current_schema()), '') AS space, c.relname AS name, a.attname AS col
		FROM pg_constraint f CROSS JOIN generate_subscripts(f.confkey, 1) i
		JOIN pg_class c ON c.oid = f.conrelid JOIN pg_namespace n ON n.oid = c.relnamespace
		JOIN pg_attribute a ON a.attrelid = f.conrelid AND a.attnum = f.conkey[i]
		JOIN pg_attribute p ON p.attrelid = f.confrelid AND p.attnum = f.confkey[i]
		WHERE f.contype = 'f' AND f.conparentid = 0 AND f.confrelid IN (SELECT oid FROM tables) AND p.attname = @column`,
	// Of InnoDB, since the catalog lacks those of tables on which the account has no rights. MariaDB has names of files here.
	"mysql": strings.NewReplacer("innodb_foreign_cols", "/*!80000 innodb_foreign_cols */ /*M! innodb_sys_foreign_cols */",
		"innodb_foreign", "/*!80000 innodb_foreign */ /*M! innodb_sys_foreign */",
		"file[", "/*M! CONVERT(CAST(CONVERT( */ ", "]file", " /*M! USING filename) AS BINARY) USING utf8mb4) */",
		"text[", "/*M! CONVERT(CONVERT(CAST( */ ", "]text", " /*M! AS BINARY) USING filename) USING utf8mb4) */",
	).Replace(`SELECT coalesce(nullif(text[substring_index(f.for_name, '/', 1)]text, database()), '') AS space,
			text[substr(f.for_name, locate('/', f.for_name) + 1)]text AS name, c.for_col_name AS col
		FROM (SELECT concat(file[coalesce(nullif(@space, ''), database())]file, '/', file[@table]file) AS name) AS k
		JOIN information_schema.innodb_foreign f ON CAST(f.ref_name AS BINARY) = CAST(k.name AS BINARY)
			OR @@lower_case_table_names > 0 AND CAST(lower(f.ref_name) AS BINARY) = CAST(lower(k.name) AS BINARY)
		JOIN information_schema.innodb_foreign_cols c ON CAST(c.id AS BINARY) = CAST(f.id AS BINARY) AND c.ref_col_name = @column`),
	"sqlite": `SELECT '' AS space, m.name, f."from" AS col FROM sqlite_master m JOIN pragma_foreign_key_list(m.name) f
		WHERE m.type = 'table' AND lower(f."table") = lower(@table) AND lower(@column)
			= lower(coalesce(f."to", (SELECT name FROM pragma_table_info(f."table") WHERE pk = f.seq + 1)))`, // NULL: the primary key
}

// unfit find a table that can't be rewritten, and say why.
var unfit = map[string]struct{ from, why string }{
	"postgres": {
		"pg_class WHERE oid = to_regclass(@name) AND row_security_active(oid)",
		"row-level security can hide rows of the table from this role",
	},
	"mysql":  {"information_schema.tables" + here + " AND engine <> 'InnoDB'", "the table has no transactions: its engine is not InnoDB"},
	"sqlite": {"sqlite_temp_master WHERE name = @table COLLATE NOCASE", "a temporary table has its name"},
}

// checkColumn returns an error for a column that can't have a new key.
func (r *rewrite) checkColumn(k countedKey) error {
	n, err := count(r.DB, unfit[r.Name()].from, r.names(k))
	if err != nil {
		return err
	} else if n > 0 {
		return k.refused(ErrKeysKept, "%s", unfit[r.Name()].why)
	}
	var kind string
	switch r.Name() {
	case "postgres":
		var found postgresKey
		found, err = k.onPostgres(r.DB)
		kind = found.Type
	case "mysql":
		var found mysqlKey
		found, err = k.onMySQL(r.DB)
		kind = found.Kind
	default:
		_, err = k.onSQLite(r.DB)
		return err
	}
	switch {
	case err != nil && !errors.Is(err, ErrAutoIncrementKept): // defaults stay
		return err
	case kind != "bigint":
		return k.refused(ErrNoIntegerKey, "the column is %s, want bigint: call DropAutoIncrement first, or widen it", kind)
	}
	return nil
}

// update rewrites all columns of a table by one statement.
func (r *rewrite) update(columns []reference) error {
	quote, of := r.Statement.Quote, columns[0]
	var kept, sets, wheres []string
	if r.Name() == "mysql" { // would set the time of the change
		query := "SELECT column_name FROM information_schema.columns" + here + " AND extra LIKE '%on update%'"
		if err := r.Raw(query, of.names()).Scan(&kept).Error; err != nil {
			return err
		}
	}
	for _, column := range kept {
		sets = append(sets, quote(column)+" = "+quote(of.table+"."+column))
	}
	const found = "(SELECT new_key FROM %s WHERE %s), "
	news := map[string]string{} // by column
	for _, c := range columns {
		news[c.column] += fmt.Sprintf(found, quote(r.keys[c.to].mapped.name()), r.where(c, " = old_key"))
		wheres = append(wheres, "("+r.where(c, r.old)+")")
	}
	for column, keys := range news {
		sets = append(sets, quote(column)+" = coalesce("+keys+quote(of.table+"."+column)+")")
	}
	return run(r.DB, "UPDATE "+quote(of.name())+" SET "+strings.Join(sets, ", ")+" WHERE "+strings.Join(wheres, " OR "))
}

// check returns an error if a row still has an old key, and counts the references that do.
func (r *rewrite) check() error {
	r.done.Dangling = map[string]int64{}
	for _, c := range slices.Concat(r.columns...) {
		from, where := r.Statement.Quote(c.name())+" WHERE ", r.where(c, r.old)
		if r.keys[c.to].countedKey == c.countedKey {
			n, err := count(r.DB, from+where)
			if err == nil && n > 0 {
				err = c.refused(ErrKeysKept, "%d rows would have keys%s, since they were created too soon after the layout's epoch; "+
					"give gormplugin.WithMinID a smaller number", n, r.old)
			}
			if err != nil {
				return within(c, err)
			}
			continue
		}
		mapped := r.Statement.Quote(r.keys[c.to].mapped.name())
		n, err := count(r.DB, from+where+" AND EXISTS (SELECT 1 FROM "+mapped+" WHERE "+r.where(c, " = old_key")+")")
		if err == nil && n > 0 {
			err = c.refused(ErrKeysKept, "%d rows still have an old key after the update; does a trigger keep them?", n)
		}
		if err == nil {
			n, err = count(r.DB, from+where+" AND "+r.where(c, " <> 0"))
		}
		if err != nil {
			return within(c, err)
		}
		if n > 0 {
			r.done.Dangling[c.String()] += n
		}
	}
	return nil
}

// begin begins the transaction and creates the tables of old and new keys, which would end one of MySQL.
func (r *rewrite) begin(p *pin) error {
	set := func(begin string) func() error { return func() error { return p.set(begin, "ROLLBACK") } }
	maps := func() error {
		engine := map[string]string{"mysql": " ENGINE = InnoDB"}[p.Name()]
		for _, k := range r.keys {
			err := run(p.DB, "CREATE TABLE IF NOT EXISTS "+p.Statement.Quote(k.mapped.name())+
				" (old_key bigint NOT NULL PRIMARY KEY, new_key bigint NOT NULL UNIQUE)"+engine)
			if err == nil {
				err = r.checkColumn(k.mapped) // of a table that was there
			}
			if err != nil {
				return err
			}
		}
		return nil
	}
	// A row that another transaction of MySQL inserts is either read here or waits for the end.
	serializable := func() error { return run(p.DB, "SET TRANSACTION ISOLATION LEVEL SERIALIZABLE") }
	for _, step := range map[string][]func() error{
		"postgres": {set("BEGIN"), r.lock, maps},
		"mysql":    {r.checkZone, maps, p.uncheck, serializable, set("START TRANSACTION")},
		"sqlite":   {p.uncheck, set("BEGIN IMMEDIATE"), maps},
	}[p.Name()] {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}

// checkZone returns an error if DATETIME is not in UTC.
func (r *rewrite) checkZone() error {
	var read any
	if err := r.Raw("SELECT CAST('2026-01-01' AS DATETIME)").Row().Scan(&read); err != nil {
		return err
	}
	at, ok := read.(time.Time)
	if !ok {
		return fmt.Errorf("%w: the driver reads DATETIME as %T; pass a handle with parseTime=true and loc=UTC", ErrKeysKept, read)
	}
	_, winter := at.Zone()
	if _, summer := at.AddDate(0, 6, 0).Zone(); winter != 0 || summer != 0 {
		return fmt.Errorf("%w: the driver reads DATETIME in the zone %s; pass a handle with loc=UTC if they are in UTC",
			ErrKeysKept, at.Location())
	}
	return nil
}

// lock locks the tables of PostgreSQL and drops the foreign keys to the columns until the end.
func (r *rewrite) lock() error {
	var tables []string
	for _, columns := range r.columns {
		tables = append(tables, r.Statement.Quote(columns[0].name()))
	}
	if err := run(r.DB, "LOCK TABLE "+strings.Join(tables, ", ")); err != nil {
		return err
	}
	r.after = []string{"SET CONSTRAINTS ALL IMMEDIATE"} // a table with pending triggers gets no foreign key
	for _, c := range slices.Concat(r.columns...) {
		var foreign []struct{ Lost, Made string }
		// Those to a partition whatever their column is: a row that moves to another one is deleted there.
		err := r.Raw(postgresTables+`SELECT DISTINCT format('ALTER TABLE %s DROP CONSTRAINT %I', conrelid::regclass, conname) AS lost,
				format('ALTER TABLE %s ADD CONSTRAINT %I %s', conrelid::regclass, conname, pg_get_constraintdef(f.oid)) AS made
			FROM pg_constraint f JOIN tables ON tables.oid = confrelid
			JOIN pg_attribute a ON a.attrelid = confrelid AND a.attnum = ANY (confkey)
			WHERE contype = 'f' AND conparentid = 0 AND (attname = @column OR confrelid <> to_regclass(@name))
			ORDER BY 1`, r.names(c.countedKey)).Scan(&foreign).Error
		for _, f := range foreign {
			err = errors.Join(err, run(r.DB, f.Lost))
			r.after = append(r.after, f.Made)
		}
		if err != nil {
			return within(c, err)
		}
	}
	return nil
}
