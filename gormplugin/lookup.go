package gormplugin

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"
	"gorm.io/gorm/schema"

	"github.com/sqlflake/sqlflake/snowflake"
)

// lookupSize is how many records one query of findByTarget asks for. SQLite takes 500 parts of a UNION at most:
// https://www.sqlite.org/limits.html#max_compound_select.
const lookupSize = 100

// absent returns those of the records whose key no row has.
func (u *undo) absent(records []int) ([]int, error) {
	if len(records) == 0 {
		return nil, nil
	}
	keys := make([]snowflake.ID, len(records))
	for j, i := range records {
		keys[j] = u.conflict.before[i]
	}
	column := clause.Column{Name: u.conflict.records.plan.field.DBName}
	present := make(map[int64]bool, len(keys))
	var key int64
	err := u.query(func() { present[key] = true }, []any{&key},
		"SELECT ? FROM ? WHERE ? IN ?", column, clause.Table{Name: clause.CurrentTable}, column, keys)
	if err != nil {
		return nil, err
	}
	var absent []int
	for j, i := range records {
		if !present[int64(keys[j])] {
			absent = append(absent, i)
		}
	}
	return absent, nil
}

// findByTarget looks for the rows that records have met, by the columns of the conflict target, and takes over their
// keys. The database compares the values, so that its collations hold. It returns the records for which there is no row.
func (u *undo) findByTarget(records []int) (unknown []int, err error) {
	c := u.conflict
	target := u.targetFields()
	if target == nil || !c.records.settable() {
		return records, nil
	}
	sought := slices.DeleteFunc(slices.Clone(records), func(i int) bool { return c.records.leavesToDatabase(i, target) })
	found := make(map[int]snowflake.ID, len(sought))
	for part := range slices.Chunk(sought, lookupSize) {
		if err := u.findPart(part, target, found); err != nil {
			return nil, err
		}
	}
	for _, i := range records {
		if id, ok := found[i]; ok {
			c.records.store(i, id)
		} else {
			unknown = append(unknown, i)
		}
	}
	return unknown, nil
}

// targetFields returns the fields of the conflict target, nil if it is something else than columns beside the key.
func (u *undo) targetFields() []*schema.Field {
	c := u.conflict
	if c.OnConstraint != "" || targetsKey(c.records.plan, c.OnConflict) {
		return nil
	}
	var fields []*schema.Field
	for _, column := range c.Columns {
		field := u.statement.Schema.LookUpField(column.Name)
		if field == nil {
			return nil
		}
		fields = append(fields, field)
	}
	return fields
}

// findPart puts the keys of the rows that some records have met into found. The text depends on the number of records
// only, since each text is a statement for the database to prepare.
func (u *undo) findPart(records []int, target []*schema.Field, found map[int]snowflake.ID) error {
	c := u.conflict
	text := "SELECT %d, ? FROM ? WHERE " + strings.Join(slices.Repeat([]string{"? = ?"}, len(target)), " AND ")
	condition := clause.And(c.TargetWhere.Exprs...) // of a partial index, whose other rows are not met
	if condition != nil {
		text += " AND (?)"
	}
	if u.db.Name() == "mysql" { // a plain read sees the snapshot of the transaction, which may be older than the row
		text = "(" + text + " LOCK IN SHARE MODE)"
	}
	parts := make([]string, len(records))
	var vars []any
	for j, i := range records {
		parts[j] = fmt.Sprintf(text, j)
		vars = append(vars, clause.Column{Name: c.records.plan.field.DBName}, clause.Table{Name: clause.CurrentTable})
		for _, field := range target {
			vars = append(vars, clause.Column{Name: field.DBName}, c.records.fieldValue(i, field))
		}
		if condition != nil {
			vars = append(vars, condition)
		}
	}
	var j int
	var key int64
	return u.query(func() { found[records[j]] = snowflake.ID(key) }, []any{&j, &key}, strings.Join(parts, " UNION ALL "), vars...)
}

// query runs a query on the statement's own connection: it has to see the rows that were just written, which a replica
// of the database may not have yet.
func (u *undo) query(row func(), dest []any, text string, vars ...any) (err error) {
	stmt := u.statement
	q := u.db.Session(&gorm.Session{NewDB: true, Initialized: true})
	q.Statement.Table, q.Statement.TableExpr = stmt.Table, stmt.TableExpr
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
		row()
	}
	return rows.Err()
}
