package upsert

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"
	"gorm.io/gorm/schema"

	"github.com/sqlflake/sqlflake/gormplugin/internal/model"
	"github.com/sqlflake/sqlflake/internal/connpool"
	"github.com/sqlflake/sqlflake/snowflake"
)

// lookupSize is how many records one query of findByTarget asks for. SQLite takes 500 parts of a UNION at most:
// https://www.sqlite.org/limits.html#max_compound_select.
const lookupSize = 100

// absent returns the records that have no row with their generated ID or, if none was generated, with their key. rows
// is how many rows have a generated ID.
func (c *conflict) absent(db *gorm.DB) (absent []int, rows int, err error) {
	// gorm.io/sharding runs no query by keys alone. Elsewhere a count of 0 does not show that nothing was inserted: a
	// trigger that moves rows to a partition counts none.
	hasNone := c.evidence == counted && db.RowsAffected == 0
	if hasNone && connpool.IsSharded(c.Stmt.ConnPool) {
		for i := range c.records.N {
			absent = append(absent, i)
		}
		return absent, 0, nil
	}

	present, rows, err := c.findGenerated(db, false)
	if err != nil {
		return nil, 0, err
	}

	var others []int
	hasKey := len(c.Columns) > 0 && c.Columns[0].IsKey
	matters := hasKey && c.onConflict == updates
	for i := range present {
		if c.firstGenerated(i) < 0 {
			present[i] = !matters
			others = append(others, i)
		}
	}
	if !matters {
		others = nil
	}

	found, err := c.find(db, others, c.Stmt.Schema.PrimaryFields, nil)
	for i, there := range present {
		if _, ok := found[i]; !ok && !there {
			absent = append(absent, i)
		}
	}
	return absent, rows, err
}

// findGenerated returns the records that have a row with the first ID that was generated for them, and the number of
// rows with any generated ID. A snapshot that is older than the statement still shows the rows that the statement has
// inserted. After an error the row was inserted by someone else, and the snapshot may lack it: then rereadOthers must
// be true.
func (c *conflict) findGenerated(db *gorm.DB, rereadOthers bool) (present []bool, rows int, err error) {
	present = make([]bool, c.records.N)
	byID := make([]map[snowflake.ID]int, len(c.Columns))
	var conditions []string
	var names, dest, vars []any
	for j, column := range c.Columns {
		byID[j] = make(map[snowflake.ID]int)
		for i := range c.records.N {
			if c.firstGenerated(i) == j {
				byID[j][c.generated(i, j)] = i
			}
		}

		name, ids := clause.Column{Name: column.Field.DBName}, c.generatedValues(j)
		names, dest = append(names, name), append(dest, column.Field.NewValuePool.Get())
		if isSought := len(byID[j]) > 0 || column.IsUnique(); isSought && len(ids) > 0 {
			conditions, vars = append(conditions, "? IN ?"), append(vars, name, ids)
		}
	}
	if len(conditions) == 0 {
		return present, 0, nil
	}

	text := "SELECT ?" + strings.Repeat(", ?", len(names)-1) + " FROM ? WHERE " + strings.Join(conditions, " OR ")
	if rereadOthers && c.dialect.MySQL {
		text += " LOCK IN SHARE MODE"
	}
	err = c.query(db, func() error {
		rows++
		for j, column := range c.Columns {
			if i, ok := byID[j][column.FromTarget(dest[j]).ID]; ok {
				present[i] = true
			}
		}
		return nil
	}, dest, text, append(append(names, clause.Table{Name: clause.CurrentTable}), vars...)...)
	return present, rows, err
}

// findByTarget looks for the rows that records conflict with, by the columns of the conflict target, and takes over
// their IDs. The database compares the values, by its own collation. It returns the records for which there is no row.
func (c *conflict) findByTarget(db *gorm.DB, records []int) (unknown []int, err error) {
	target := c.targetFields()
	if target == nil || !c.records.Settable() {
		return records, nil
	}

	condition := clause.And(c.clause.TargetWhere.Exprs...) // of a partial index, whose other rows do not conflict
	found, err := c.find(db, records, target, condition)
	if err != nil {
		return nil, err
	}

	for _, i := range records {
		row, ok := found[i]
		if !ok {
			unknown = append(unknown, i)
			continue
		}
		for j, column := range c.Columns {
			c.records.SetValue(i, column, row[j])
		}
	}
	return unknown, nil
}

// targetFields returns the fields of the conflict target, nil if it is something other than columns. A query by the key
// would find nothing that absent has not found, unless IDs were generated for other columns.
func (c *conflict) targetFields() (fields []*schema.Field) {
	s, columns := c.Stmt.Schema, c.clause.Columns

	isKeyOnly := c.targetsKey() && !c.generatedBesideKey()
	if c.clause.OnConstraint != "" || isKeyOnly {
		return nil
	}

	if len(columns) == 0 && c.clause.UpdateAll {
		return s.PrimaryFields
	}

	for _, column := range columns {
		name := column.Name
		if name == clause.PrimaryKey && s.PrioritizedPrimaryField != nil {
			name = s.PrioritizedPrimaryField.DBName
		}
		field := s.LookUpField(name)
		if field == nil {
			return nil
		}
		fields = append(fields, field)
	}
	return fields
}

// find returns the columns of the rows that have the same values as some records in the fields of a target. The text
// depends only on the number of records, since the database prepares a statement for each text.
func (c *conflict) find(
	db *gorm.DB, records []int, target []*schema.Field, condition clause.Expression,
) (map[int][]model.Value, error) {
	var names, dest []any
	for _, column := range c.Columns {
		names = append(names, clause.Column{Name: column.Field.DBName})
		dest = append(dest, column.Field.NewValuePool.Get())
	}
	text := c.findText(len(names), len(target), condition != nil)

	found := make(map[int][]model.Value, len(records))
	hasDefault := func(i int) bool { return c.records.LeavesToDatabase(i, target) }
	records = slices.DeleteFunc(slices.Clone(records), hasDefault)
	for part := range slices.Chunk(records, lookupSize) {
		parts, vars, at := make([]string, len(part)), []any(nil), 0
		for k, i := range part {
			parts[k] = fmt.Sprintf(text, k)
			vars = append(append(vars, names...), clause.Table{Name: clause.CurrentTable})
			for _, field := range target {
				vars = append(vars, clause.Column{Name: field.DBName}, c.records.Field(i, field))
			}
			if condition != nil {
				vars = append(vars, condition)
			}
		}

		err := c.query(db, func() error {
			row := make([]model.Value, len(c.Columns))
			for j, column := range c.Columns {
				row[j] = column.FromTarget(dest[j])
			}
			found[part[at]] = row
			return nil
		}, append([]any{&at}, dest...), strings.Join(parts, " UNION ALL "), vars...)
		if err != nil {
			return nil, err
		}
	}
	return found, nil
}

// findText returns the SELECT for one record, with %d for its number.
func (c *conflict) findText(columns, targets int, hasCondition bool) string {
	text := "SELECT %d" + strings.Repeat(", ?", columns) + " FROM ? WHERE " +
		strings.Join(slices.Repeat([]string{"? = ?"}, targets), " AND ")
	if hasCondition {
		text += " AND (?)"
	}
	if c.dialect.MySQL { // a plain read sees the snapshot of the transaction, which may be older than the row
		text = "(" + text + " LOCK IN SHARE MODE)"
	}
	return text
}

// countsRows reports whether the row count of an INSERT is the number of rows that it has inserted. On PostgreSQL a
// trigger of a table with children, or of a view, may insert the rows elsewhere, and count none.
func (c *conflict) countsRows(db *gorm.DB) bool {
	if c.dialect.Name != "postgres" {
		return true
	}

	n, table := 0, clause.Table{Name: clause.CurrentTable}
	named := db.Session(&gorm.Session{NewDB: true, Initialized: true}).Statement
	named.Table, named.TableExpr = c.Stmt.Table, c.Stmt.TableExpr

	const isRedirecting = "SELECT count(*) FROM pg_catalog.pg_class WHERE oid = pg_catalog.to_regclass(?) " +
		"AND (relkind = 'v' OR relkind = 'r' AND relhassubclass)"
	err := c.query(db, func() error { return nil }, []any{&n}, isRedirecting, named.Quote(table))
	return err != nil || n == 0
}

// query runs a query on the connection of the statement. A replica of the database may not have the rows that were just
// written.
func (c *conflict) query(db *gorm.DB, row func() error, dest []any, text string, vars ...any) (err error) {
	stmt := c.Stmt
	q := db.Session(&gorm.Session{NewDB: true, Initialized: true})
	q.Error = nil // the statement's own error
	q.Statement.Table, q.Statement.TableExpr = stmt.Table, stmt.TableExpr
	if c.dialect.Name == "sqlite" { // whose INSERT leaves out the name of an attached database (sqlite.Dialector)
		q.Statement.TableExpr = nil
	}

	q = q.Raw(text, vars...)
	if q.Error != nil {
		return q.Error
	}

	var count int64
	defer func(begin time.Time) {
		q.Logger.Trace(stmt.Context, begin, func() (string, int64) {
			return q.Explain(q.Statement.SQL.String(), q.Statement.Vars...), count
		}, err)
	}(time.Now())

	rows, err := stmt.ConnPool.QueryContext(stmt.Context, q.Statement.SQL.String(), q.Statement.Vars...)
	if err != nil {
		return err
	}

	defer rows.Close()
	for rows.Next() {
		if err := rows.Scan(dest...); err != nil {
			return err
		}
		count++
		if err := row(); err != nil {
			return err
		}
	}
	return rows.Err()
}
