package gormplugin

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"
	"gorm.io/gorm/schema"
)

// lookupSize is how many records one query of findByTarget asks for. SQLite takes 500 parts of a UNION at most:
// https://www.sqlite.org/limits.html#max_compound_select.
const lookupSize = 100

// absent returns the records that have no row of their own: no row has an ID that fill gave the record or, if it gave
// none, the record's key. It leaves out the latter records if onlyGiven is true.
func (s *settlement) absent(onlyGiven bool) ([]int, error) {
	byColumn := make([][]int, len(s.columns))
	for i := range s.records.n {
		if given := s.gave(i); len(given) > 0 {
			byColumn[given[0]] = append(byColumn[given[0]], i)
		} else if s.columns[0].isKey && !onlyGiven {
			byColumn[0] = append(byColumn[0], i)
		}
	}
	var absent []int
	for j, those := range byColumn {
		if len(those) == 0 {
			continue
		}
		missing, err := s.absentBy(j, those)
		if err != nil {
			return nil, err
		}
		absent = append(absent, missing...)
	}
	slices.Sort(absent)
	return absent, nil
}

// absentBy returns those of the records whose value of column j no row has.
func (s *settlement) absentBy(j int, records []int) ([]int, error) {
	c := s.columns[j]
	sought := make([]any, len(records))
	for k, i := range records {
		sought[k] = c.goValue(s.had(i, j))
	}
	name := clause.Column{Name: c.field.DBName}
	present := make(map[value]bool, len(records))
	target := c.scanTarget()
	err := s.query(func() { present[c.fromTarget(target)] = true }, []any{target},
		"SELECT ? FROM ? WHERE ? IN ?", name, clause.Table{Name: clause.CurrentTable}, name, sought)
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(slices.Clone(records), func(i int) bool { return present[s.had(i, j)] }), nil
}

// findByTarget looks for the rows that records conflict with, by the columns of the conflict target, and takes over
// their IDs. The database compares the values, by its own collation. It returns the records for which there is no row.
func (s *settlement) findByTarget(records []int) (unknown []int, err error) {
	target := s.targetFields()
	if target == nil || !s.records.settable() {
		return records, nil
	}
	sought := slices.DeleteFunc(slices.Clone(records), func(i int) bool { return s.records.leavesToDatabase(i, target) })
	found := make(map[int][]value, len(sought))
	for part := range slices.Chunk(sought, lookupSize) {
		if err := s.findPart(part, target, found); err != nil {
			return nil, err
		}
	}
	for _, i := range records {
		row, ok := found[i]
		if !ok {
			unknown = append(unknown, i)
			continue
		}
		for j, column := range s.columns {
			s.records.store(i, column, row[j])
		}
	}
	return unknown, nil
}

// targetFields returns the fields of the conflict target, nil if it is something else than columns. A query by the key
// would find nothing that absent has not found, unless other columns got IDs too.
func (s *settlement) targetFields() []*schema.Field {
	model := s.stmt.Schema
	if s.OnConstraint != "" || targetsKey(s.records.plan, s.OnConflict) && s.generated() == nil {
		return nil
	}
	if len(s.Columns) == 0 && s.UpdateAll {
		return model.PrimaryFields
	}
	var fields []*schema.Field
	for _, column := range s.Columns {
		name := column.Name
		if name == clause.PrimaryKey && model.PrioritizedPrimaryField != nil {
			name = model.PrioritizedPrimaryField.DBName
		}
		field := model.LookUpField(name)
		if field == nil {
			return nil
		}
		fields = append(fields, field)
	}
	return fields
}

// findPart puts into found the columns of the rows that some records conflict with. The text depends only on the number
// of records, since the database prepares each text as a statement of its own.
func (s *settlement) findPart(records []int, target []*schema.Field, found map[int][]value) error {
	text := "SELECT %d" + strings.Repeat(", ?", len(s.columns)) + " FROM ? WHERE " +
		strings.Join(slices.Repeat([]string{"? = ?"}, len(target)), " AND ")
	condition := clause.And(s.TargetWhere.Exprs...) // of a partial index, whose other rows do not conflict
	if condition != nil {
		text += " AND (?)"
	}
	if s.db.Name() == "mysql" { // a plain read sees the snapshot of the transaction, which may be older than the row
		text = "(" + text + " LOCK IN SHARE MODE)"
	}
	parts := make([]string, len(records))
	var vars []any
	for k, i := range records {
		parts[k] = fmt.Sprintf(text, k)
		for _, column := range s.columns {
			vars = append(vars, clause.Column{Name: column.field.DBName})
		}
		vars = append(vars, clause.Table{Name: clause.CurrentTable})
		for _, field := range target {
			vars = append(vars, clause.Column{Name: field.DBName}, s.records.fieldValue(i, field))
		}
		if condition != nil {
			vars = append(vars, condition)
		}
	}
	var k int
	dest := []any{&k}
	for _, column := range s.columns {
		dest = append(dest, column.scanTarget())
	}
	return s.query(func() {
		row := make([]value, len(s.columns))
		for j, column := range s.columns {
			row[j] = column.fromTarget(dest[j+1])
		}
		found[records[k]] = row
	}, dest, strings.Join(parts, " UNION ALL "), vars...)
}

// query runs a query on the connection of the statement: it has to see the rows that were just written, which a replica
// of the database may not have yet.
func (s *settlement) query(row func(), dest []any, text string, vars ...any) (err error) {
	stmt := s.stmt
	q := s.db.Session(&gorm.Session{NewDB: true, Initialized: true})
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
