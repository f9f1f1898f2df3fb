package gormplugin

import (
	"strconv"
	"strings"
	"time"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"

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
	if len(records) == 0 || !c.records.settable() || c.OnConstraint != "" || len(c.Columns) == 0 || targetsKey(c.records.plan, c.OnConflict) {
		return records, nil
	}
	for _, column := range c.Columns {
		if column.Raw || u.statement.Schema.LookUpField(column.Name) == nil {
			return records, nil
		}
	}
	found := make(map[int]snowflake.ID, len(records))
	for start := 0; start < len(records); start += lookupSize {
		part := records[start:min(start+lookupSize, len(records))]
		if err := u.findPart(part, found); err != nil {
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

func (u *undo) findPart(records []int, found map[int]snowflake.ID) error {
	c := u.conflict
	var query strings.Builder
	var vars []any
	for j, i := range records {
		if j > 0 {
			query.WriteString(" UNION ALL ")
		}
		query.WriteString("SELECT " + strconv.Itoa(i) + ", ? FROM ? WHERE ")
		vars = append(vars, clause.Column{Name: c.records.plan.field.DBName}, clause.Table{Name: clause.CurrentTable})
		for k, column := range c.Columns {
			if k > 0 {
				query.WriteString(" AND ")
			}
			query.WriteString("? = ?")
			field := u.statement.Schema.LookUpField(column.Name)
			vars = append(vars, clause.Column{Name: field.DBName}, c.records.value(i, field))
		}
	}
	var i int
	var key int64
	return u.query(func() { found[i] = snowflake.ID(key) }, []any{&i, &key}, query.String(), vars...)
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
