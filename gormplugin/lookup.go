package gormplugin

import (
	"fmt"
	"reflect"
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
// none, the record's key. Records of the latter kind are only looked for if it matters.
func (s *settlement) absent() (absent []int, err error) {
	byColumn := make([][]int, len(s.columns))
	var own []int
	for i := range s.records.n {
		if given := s.gave(i); len(given) > 0 {
			byColumn[given[0]] = append(byColumn[given[0]], i)
		} else {
			own = append(own, i)
		}
	}
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
	if s.reread || s.does == updates && s.columns[0].isKey {
		found, err := s.find(own, s.stmt.Schema.PrimaryFields, nil)
		if err != nil {
			return nil, err
		}
		absent = append(absent, slices.DeleteFunc(own, func(i int) bool { return found[i] != nil })...)
	}
	slices.Sort(absent)
	return absent, nil
}

// absentBy returns those of the records whose ID in column j, which the plugin gave, no row has. A snapshot that is
// older than the statement has these rows: nobody else can have inserted them.
func (s *settlement) absentBy(j int, records []int) ([]int, error) {
	c := s.columns[j]
	sought, byValue := make([]any, len(records)), make(map[value]int, len(records))
	for k, i := range records {
		sought[k], byValue[s.had(i, j)] = c.goValue(s.had(i, j)), i
	}
	present := make(map[int]bool, len(records))
	names, dest := s.selected([]*column{c})
	text := "SELECT ?" + strings.Repeat(", ?", len(names)-1) + " FROM ? WHERE ? IN ?"
	err := s.query(func() error {
		i := byValue[c.fromTarget(dest[0])]
		present[i] = true
		return s.setOthers(i, dest[1:])
	}, dest, text, append(names, clause.Table{Name: clause.CurrentTable}, names[0], sought)...)
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(slices.Clone(records), func(i int) bool { return present[i] }), nil
}

// selected returns the names of the columns to select, and of the other fields if these are to be read again, and what
// they can be scanned into.
func (s *settlement) selected(columns []*column) (names, dest []any) {
	for _, c := range columns {
		names, dest = append(names, clause.Column{Name: c.field.DBName}), append(dest, c.scanTarget())
	}
	if s.reread {
		for _, field := range s.others {
			names, dest = append(names, clause.Column{Name: field.DBName}), append(dest, field.NewValuePool.Get())
		}
	}
	return names, dest
}

// setOthers sets the other fields of record i to what was scanned, if they are to be read again.
func (s *settlement) setOthers(i int, scanned []any) error {
	for k, x := range scanned {
		if pointer := reflect.ValueOf(x).Elem(); pointer.Kind() == reflect.Pointer && pointer.IsNil() {
			x = nil // GORM leaves a pointer as it is if it scans NULL
		}
		if err := s.others[k].Set(s.records.ctx, s.records.at(i), x); err != nil {
			return err
		}
	}
	return nil
}

// findByTarget looks for the rows that records conflict with, by the columns of the conflict target, and takes over
// their IDs. The database compares the values, by its own collation. It returns the records for which there is no row.
func (s *settlement) findByTarget(records []int) (unknown []int, err error) {
	target := s.targetFields()
	if target == nil || !s.records.settable() {
		return records, nil
	}
	condition := clause.And(s.TargetWhere.Exprs...) // of a partial index, whose other rows do not conflict
	found, err := s.find(records, target, condition)
	if err != nil {
		return nil, err
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

// find returns the columns of the rows that have the same values as some records in the fields of a target.
func (s *settlement) find(records []int, target []*schema.Field, condition clause.Expression) (map[int][]value, error) {
	sought := slices.DeleteFunc(slices.Clone(records), func(i int) bool { return s.records.leavesToDatabase(i, target) })
	found := make(map[int][]value, len(sought))
	for part := range slices.Chunk(sought, lookupSize) {
		if err := s.findPart(part, target, condition, found); err != nil {
			return nil, err
		}
	}
	return found, nil
}

// findPart puts into found what it finds of some records. The text depends only on the number of records, since the
// database prepares each text as a statement of its own.
func (s *settlement) findPart(records []int, target []*schema.Field, condition clause.Expression, found map[int][]value) error {
	names, dest := s.selected(s.columns)
	text := "SELECT %d" + strings.Repeat(", ?", len(names)) + " FROM ? WHERE " +
		strings.Join(slices.Repeat([]string{"? = ?"}, len(target)), " AND ")
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
		vars = append(append(vars, names...), clause.Table{Name: clause.CurrentTable})
		for _, field := range target {
			vars = append(vars, clause.Column{Name: field.DBName}, s.records.fieldValue(i, field))
		}
		if condition != nil {
			vars = append(vars, condition)
		}
	}
	var k int
	return s.query(func() error {
		row := make([]value, len(s.columns))
		for j, column := range s.columns {
			row[j] = column.fromTarget(dest[j])
		}
		found[records[k]] = row
		return s.setOthers(records[k], dest[len(s.columns):])
	}, append([]any{&k}, dest...), strings.Join(parts, " UNION ALL "), vars...)
}

// query runs a query on the connection of the statement: it has to see the rows that were just written, which a replica
// of the database may not have yet.
func (s *settlement) query(row func() error, dest []any, text string, vars ...any) (err error) {
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
		if err := row(); err != nil {
			return err
		}
	}
	return rows.Err()
}
