package upsert

import (
	"database/sql"
	"database/sql/driver"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"gorm.io/gorm"
	"gorm.io/gorm/schema"

	"github.com/sqlflake/sqlflake/gormplugin/internal/model"
	"github.com/sqlflake/sqlflake/snowflake"
)

// Resolve gives each record the IDs that its row has. It runs right after the statement, before GORM saves the
// associations that refer to the rows. It also undoes the changes of Rewrite. A second call does nothing.
func (in *Insert) Resolve(db *gorm.DB, p *model.Plan, d Dialect) {
	if in.Resolved {
		return
	}

	var result sql.Result
	if in.Stmt.Result != nil {
		result = in.Stmt.Result.Result
	}

	in.Restore()
	in.Resolved, in.Failed = true, db.Error != nil

	if db.DryRun {
		return
	}
	if db.Error != nil {
		in.explain(db, p, d)
		return
	}
	if c := in.conflict; c != nil {
		_ = db.AddError(c.resolve(db, c.lastInsertID(result)))
	}
}

// explain finds out whether the statement has failed by a repeated ID.
func (in *Insert) explain(db *gorm.DB, p *model.Plan, d Dialect) {
	wasRun := in.Stmt.SQL.Len() > 0
	if !wasRun || len(in.IDs) == 0 {
		return
	}

	c := in.conflict
	if c == nil {
		r, err := model.RecordsOf(in.Stmt, in.Columns)
		if err != nil || r.N == 0 {
			return
		}
		c = &conflict{Insert: in, plan: p, records: r, dialect: d}
		c.forgetReplaced()
	}

	c.explain(db)
}

// explain wraps the error of a statement that met a row with a generated ID.
func (c *conflict) explain(db *gorm.DB) {
	cause := db.Error
	says := map[string]string{"postgres": postgresSays, "sqlite": sqliteSays, "mysql": mysqlSays}[c.dialect.Name]
	raised := c.guarded && strings.Contains(cause.Error(), says)

	switch {
	case !raised && !isDuplicate(db):
		return
	case c.dialect.Name == "postgres": // which runs no query after the error
		raised = raised || c.isDetailOf(cause)
	default:
		_, rows, err := c.findGenerated(db, true)
		found := err == nil && rows > 0
		raised = raised || found
	}

	if raised {
		db.Error = c.repeated(cause)
	}
}

// isDuplicate reports whether a unique index has caused the error, as the dialect decides.
func isDuplicate(db *gorm.DB) bool {
	if errors.Is(db.Error, gorm.ErrDuplicatedKey) {
		return true
	}
	translator, ok := db.Dialector.(gorm.ErrorTranslator)
	return ok && errors.Is(translator.Translate(db.Error), gorm.ErrDuplicatedKey)
}

// isDetailOf reports whether PostgreSQL names a generated ID in the detail of an error, which reads "Key (tenant_id,
// id)=(7, 42) already exists." in English.
func (c *conflict) isDetailOf(err error) bool {
	var ofServer interface {
		error
		SQLState() string
	}
	var shown struct{ Detail string }
	if !errors.As(err, &ofServer) {
		return false
	}
	text, _ := json.Marshal(ofServer)
	if json.Unmarshal(text, &shown) != nil {
		return false
	}

	names, values, _ := strings.Cut(shown.Detail, ")=(")
	for j, column := range c.Columns {
		if !slices.Contains(words(names), column.Field.DBName) {
			continue
		}
		isShown := func(id any) bool { return slices.Contains(words(values), inDatabase(id)) }
		if slices.ContainsFunc(c.generatedValues(j), isShown) {
			return true
		}
	}
	return false
}

// words returns the parts of a list of names or values.
func words(list string) []string {
	return strings.FieldsFunc(list, func(r rune) bool { return strings.ContainsRune(` ,()"`, r) })
}

// inDatabase returns the text of a value in the database.
func inDatabase(x any) string {
	if valuer, ok := x.(driver.Valuer); ok {
		x, _ = valuer.Value()
	}
	return fmt.Sprint(x)
}

// repeated returns ErrRepeated. cause is the database's error, nil if it has skipped the record.
func (c *conflict) repeated(cause error) error {
	c.Repeated = true
	var ids []any
	for j := range c.Columns {
		ids = append(ids, c.generatedValues(j)...)
	}

	what := fmt.Sprintf("%v", ids[0])
	if len(ids) > 1 {
		what = fmt.Sprintf("one of %v to %v", ids[0], ids[len(ids)-1])
	}

	err := fmt.Errorf("%w: a row of %s has %s, which was generated for a new record; look for a second generator with "+
		"the same worker, or a database that was set back", ErrRepeated, c.Stmt.Table, what)
	if cause != nil {
		err = fmt.Errorf("%w: %w", err, cause)
	}
	return err
}

// lastInsertID returns the key that keepInsertID has made MySQL keep, 0 if no record conflicted with a row.
func (c *conflict) lastInsertID(result sql.Result) snowflake.ID {
	if c.evidence != insertID {
		return 0
	}
	c.evidence = none
	if result == nil {
		return 0
	}

	id, err := result.LastInsertId()
	if err == nil {
		c.evidence = insertID
	}
	return snowflake.ID(id)
}

// resolve follows the rules of the package comment. With the evidence insertID, key is the key of a row that a record
// conflicted with.
func (c *conflict) resolve(db *gorm.DB, key snowflake.ID) error {
	full := db.RowsAffected == int64(c.records.N)
	switch {
	case c.evidence == insertID && key == 0, c.evidence == counted && full, c.evidence == inserted && full:
		return nil
	case c.evidence == returned && full:
		c.adoptReturned()
		return nil
	}

	returned, err := c.place(int(db.RowsAffected))
	switch {
	case err != nil:
		return err
	case c.onConflict == skips:
		return c.resolveSkipped(db, returned)
	}

	unknown, _, err := c.absent(db)
	if err != nil {
		return err
	}
	isOne := c.records.N == 1 && len(unknown) == 1
	if c.evidence == insertID && isOne && c.records.Settable() {
		c.records.SetValue(0, c.plan.Key, model.Value{ID: key})
		return nil
	}
	if unknown, err = c.findByTarget(db, unknown); err != nil {
		return err
	}
	return c.clear(unknown)
}

// adoptReturned completes what RETURNING has put into the records. GORM scans an int64 into a map, which gets the type
// of the field. It stores a new pointer for each value that the database returns, and leaves the old one where it
// returns NULL, which is cleared.
func (c *conflict) adoptReturned() {
	for i := range c.records.N {
		for j, column := range c.Columns {
			if x := c.records.Value(i, column); c.records.Maps && x != (model.Value{}) {
				c.records.SetValue(i, column, x)
			}
			if column.Pointer && c.isLeft(i, j) {
				c.records.SetValue(i, column, model.Value{})
			}
		}
	}
}

// isLeft reports whether a pointer to a generated ID is what it was before the statement.
func (c *conflict) isLeft(i, j int) bool {
	if c.fields == nil || c.generated(i, j) == 0 {
		return false
	}
	return c.records.Field(i, c.Columns[j].Field) == c.before[i*len(c.fields)+j]
}

// resolveSkipped finds the records that DO NOTHING has skipped. returned are the keys of the rows that it has inserted,
// if the statement shows them.
func (c *conflict) resolveSkipped(db *gorm.DB, returned map[snowflake.ID]int) error {
	generated, wrote := 0, int(db.RowsAffected)
	if c.evidence == inserted {
		wrote = 0
	}

	for i := range c.records.N {
		if c.firstGenerated(i) < 0 {
			continue
		}
		generated++
		if _, ok := returned[c.records.Value(i, c.Columns[0]).ID]; ok && c.evidence == inserted {
			wrote++
		}
	}

	allInserted := c.evidence == inserted && wrote == generated
	if generated == 0 || allInserted {
		return nil
	}

	unknown, rows, err := c.absent(db)
	if err != nil {
		return fmt.Errorf("gormplugin: look up which records of %s DO NOTHING has skipped: %w", c.Stmt.Schema.Name, err)
	}
	isShown := c.evidence == counted || c.evidence == inserted
	if hasOther := isShown && rows > wrote; hasOther && c.countsRows(db) {
		return c.repeated(nil)
	}
	return c.clear(unknown)
}

// place corrects what GORM has done with the rows of RETURNING: it has put them into the first records. Each record
// gets back what it had. Then a record with the key of a row takes the values that it lacks, such as defaults, from the
// row. place returns the positions of the rows by their keys.
func (c *conflict) place(rows int) (byKey map[snowflake.ID]int, err error) {
	switch {
	case len(c.fields) == 0:
		return nil, nil
	case c.onConflict == skips && c.dialect.MySQL: // MariaDB's RETURNING brings a row for each record
		wasSet := func(at int) bool { return c.before[at] != nil && !reflect.ValueOf(c.before[at]).IsZero() }
		return nil, c.restore(wasSet)
	case !c.records.List:
		return nil, nil
	}

	if !c.returnsKeys() {
		rows = 0 // it is not known which rows these are
	}
	after, byKey := c.values(rows), make(map[snowflake.ID]int, rows)
	for row := range rows {
		byKey[c.records.Value(row, c.Columns[0]).ID] = row
	}
	if err := c.restore(func(int) bool { return true }); err != nil || rows == 0 {
		return nil, err
	}

	for i := range c.records.N {
		row, ok := byKey[c.records.Value(i, c.Columns[0]).ID]
		if !ok {
			continue
		}
		if err := c.complete(i, row, after); err != nil {
			return nil, err
		}
	}
	return byKey, nil
}

// returnsKeys reports whether RETURNING has brought the keys of the rows.
func (c *conflict) returnsKeys() bool {
	if c.evidence != inserted && c.evidence != returned {
		return false
	}
	return len(c.Columns) > 0 && slices.Contains(c.fields, c.Columns[0].Field)
}

// complete sets the returned fields that record i lacks to the values of its row.
func (c *conflict) complete(i, row int, values []any) error {
	for k, field := range c.fields {
		at := row*len(c.fields) + k
		_, zero := field.ValueOf(c.Stmt.Context, c.records.At(i))
		if !zero || reflect.DeepEqual(c.before[at], values[at]) { // equal: GORM leaves it, as it does with NULL
			continue
		}
		if err := c.records.SetField(i, field, values[at]); err != nil {
			return err
		}
	}
	return nil
}

// restore sets the chosen fields of the records back to their values before the statement. at counts as in c.before.
func (c *conflict) restore(chosen func(at int) bool) error {
	for at, x := range c.before {
		if !chosen(at) {
			continue
		}
		if err := c.records.SetField(at/len(c.fields), c.fields[at%len(c.fields)], x); err != nil {
			return err
		}
	}
	return nil
}

// clear clears the generated IDs of records whose rows were not found. It returns ErrKeyUnknown if other rows are about
// to refer to them. After DO UPDATE a key that the caller has set is unknown as well.
func (c *conflict) clear(unknown []int) error {
	lost := make([]bool, len(c.Columns)) // by any record
	for _, i := range unknown {
		for j := range c.Columns {
			if c.generated(i, j) == 0 {
				continue
			}
			// Otherwise MariaDB has returned the key of the existing row.
			if c.records.Value(i, c.Columns[j]).ID == c.generated(i, j) {
				c.records.SetValue(i, c.Columns[j], model.Value{})
				lost[j] = true
			}
		}
	}

	var columns []*model.Column
	for j, column := range c.Columns {
		isDoubtful := c.onConflict == updates && column.IsKey
		if lost[j] || isDoubtful {
			columns = append(columns, column)
		}
	}

	return c.refuseOrphans(unknown, columns)
}

// refuseOrphans returns ErrKeyUnknown if other rows are about to refer to one of the records by one of the unknown
// columns.
func (c *conflict) refuseOrphans(records []int, unknown []*model.Column) error {
	if len(records) == 0 || len(unknown) == 0 {
		return nil
	}

	s := c.Stmt.Schema
	refuse := func(i int, format string, args ...any) error {
		return fmt.Errorf("%w: record %d of %s conflicts with an existing row whose key is unknown, and "+format,
			append([]any{ErrKeyUnknown, i, s.Name}, args...)...)
	}

	if above := parentOf(c.Stmt); above != nil {
		for _, rel := range above.relations {
			if rel.FieldSchema.ModelType == s.ModelType && refersTo(rel, unknown, false) {
				return refuse(records[0], "%s.%s would refer to it; query the row first", rel.Schema.Name, rel.Name)
			}
		}
	}

	if c.records.Maps {
		return nil
	}

	relations := &s.Relationships
	for _, rel := range slices.Concat(relations.HasOne, relations.HasMany, relations.Many2Many) {
		if !refersTo(rel, unknown, true) || !savesRelation(c.Stmt, rel) {
			continue
		}
		for _, i := range records {
			if c.hasAssociations(rel, i) {
				return refuse(i, "its %s would refer to it; omit the association, "+
					"or use DO UPDATE with the columns of the conflict", rel.Name)
			}
		}
	}
	return nil
}

// hasAssociations reports whether record i has records to save in a relation.
func (c *conflict) hasAssociations(rel *schema.Relationship, i int) bool {
	value, zero := rel.Field.ValueOf(c.Stmt.Context, c.records.At(i))
	if rv := reflect.Indirect(reflect.ValueOf(value)); rv.Kind() == reflect.Slice {
		return rv.Len() > 0
	}
	return !zero
}

// refersTo reports whether the relation refers to one of the columns: of the model that declares it if own is true,
// else of the associated one.
func refersTo(rel *schema.Relationship, columns []*model.Column, own bool) bool {
	return slices.ContainsFunc(rel.References, func(ref *schema.Reference) bool {
		if ref.OwnPrimaryKey != own || ref.PrimaryKey == nil {
			return false
		}
		isKey := func(c *model.Column) bool { return c.Field.DBName == ref.PrimaryKey.DBName }
		return slices.ContainsFunc(columns, isKey)
	})
}

// savesRelation decides as callbacks.SaveAfterAssociations does when it creates a record.
func savesRelation(stmt *gorm.Statement, rel *schema.Relationship) bool {
	columns, restricted := stmt.SelectAndOmitColumns(true, false)
	if named, ok := columns[rel.Name]; ok {
		return named
	}
	return !restricted
}
