package upsert

import (
	"database/sql"
	"fmt"
	"reflect"
	"slices"

	"gorm.io/gorm"

	"github.com/sqlflake/sqlflake/gormplugin/internal/model"
	"github.com/sqlflake/sqlflake/snowflake"
)

// Resolve makes the IDs of the records those of their rows, right after the statement and before the associations that
// refer to its rows are saved. It also undoes the changes of Rewrite. A second call does nothing.
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
	c := in.conflict
	switch {
	case db.DryRun:
	case db.Error != nil:
		in.explain(db, p, d)
	case c != nil:
		if err := c.resolve(db, c.lastInsertID(result)); err != nil {
			_ = db.AddError(err)
		}
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
		r, err := p.RecordsOf(in.Stmt, in.Columns)
		if err != nil || r.N == 0 {
			return
		}
		c = &conflict{Insert: in, plan: p, records: r, dialect: d}
		c.forgetReplaced()
	}
	c.explain(db)
}

// lastInsertID returns the key that keepInsertID has made MySQL keep, 0 if no record conflicted with a row.
func (c *conflict) lastInsertID(result sql.Result) snowflake.ID {
	if c.shows != insertID {
		return 0
	}
	c.shows = none
	if result == nil {
		return 0
	}
	id, err := result.LastInsertId()
	if err == nil {
		c.shows = insertID
	}
	return snowflake.ID(id)
}

// resolve follows the rules of the package comment. key is that of a row that a record conflicted with, if the
// statement shows insertID.
func (c *conflict) resolve(db *gorm.DB, key snowflake.ID) error {
	full := db.RowsAffected == int64(c.records.N)
	switch {
	case c.shows == insertID && key == 0, c.shows == counted && full, c.shows == inserted && full:
		return nil
	case c.shows == returned && full:
		c.adoptReturned()
		return nil
	}

	returned, err := c.place(int(db.RowsAffected))
	switch {
	case err != nil:
		return err
	case c.does == skips:
		return c.resolveSkipped(db, returned)
	}
	unknown, _, err := c.absent(db)
	switch {
	case err != nil:
		return err
	case c.shows == insertID && c.records.N == 1 && len(unknown) == 1 && c.records.Settable():
		c.records.Store(0, c.plan.Key, model.Value{ID: key})
		return nil
	}
	if unknown, err = c.findByTarget(db, unknown); err != nil {
		return err
	}
	return c.clear(unknown)
}

// resolveSkipped finds the records that DO NOTHING has skipped. returned are the keys of the rows that it has
// inserted, if the statement shows them.
func (c *conflict) resolveSkipped(db *gorm.DB, returned map[snowflake.ID]int) error {
	generated, wrote := 0, int(db.RowsAffected)
	if c.shows == inserted {
		wrote = 0
	}
	for i := range c.records.N {
		if c.firstGenerated(i) < 0 {
			continue
		}
		generated++
		if _, ok := returned[c.records.Load(i, c.Columns[0]).ID]; ok && c.shows == inserted {
			wrote++
		}
	}
	if generated == 0 || c.shows == inserted && wrote == generated {
		return nil
	}

	unknown, rows, err := c.absent(db)
	if err != nil {
		return fmt.Errorf("gormplugin: look up which records of %s DO NOTHING has skipped: %w", c.Stmt.Schema.Name, err)
	}
	shown := c.shows == counted || c.shows == inserted
	if shown && rows > wrote && c.countsRows(db) {
		return c.repeated(nil)
	}
	return c.clear(unknown)
}

// clear clears the generated IDs of records whose rows were not found, and returns ErrKeyUnknown if other rows are
// about to refer to them. After DO UPDATE, keys that the caller has set are in doubt as well.
func (c *conflict) clear(unknown []int) error {
	lost := make([]bool, len(c.Columns)) // by any record
	for _, i := range unknown {
		for j := range c.Columns {
			if c.generated(i, j) == 0 {
				continue
			}
			if c.records.Load(i, c.Columns[j]).ID == c.generated(i, j) { // MariaDB may have returned that of the existing row
				c.records.Store(i, c.Columns[j], model.Value{})
				lost[j] = true
			}
		}
	}
	var columns []*model.Column
	for j, column := range c.Columns {
		if lost[j] || c.does == updates && column.IsKey {
			columns = append(columns, column)
		}
	}
	return c.refuseOrphans(unknown, columns)
}

// place corrects what GORM has done with the rows of RETURNING: it has put them into the first records. Each record
// gets back what it had, and the record that has the key of a row takes the values that it lacks, such as defaults,
// from it. It returns the positions of the rows by that key.
func (c *conflict) place(rows int) (byKey map[snowflake.ID]int, err error) {
	switch {
	case len(c.fields) == 0:
		return nil, nil
	case c.does == skips && c.dialect.MySQL: // RETURNING of MariaDB brings a row for each record
		return nil, c.restore(func(at int) bool { return c.before[at] != nil && !reflect.ValueOf(c.before[at]).IsZero() })
	case !c.records.List:
		return nil, nil
	case c.shows != inserted && c.shows != returned, len(c.Columns) == 0, !slices.Contains(c.fields, c.Columns[0].Field):
		rows = 0 // it is not known which rows these are
	}

	after, byKey := c.values(rows), make(map[snowflake.ID]int, rows)
	for row := range rows {
		byKey[c.records.Load(row, c.Columns[0]).ID] = row
	}
	if err := c.restore(func(int) bool { return true }); err != nil || rows == 0 {
		return nil, err
	}

	for i := range c.records.N {
		row, ok := byKey[c.records.Load(i, c.Columns[0]).ID]
		for k, field := range c.fields {
			if !ok {
				break
			}
			at := row*len(c.fields) + k
			_, zero := field.ValueOf(c.Stmt.Context, c.records.At(i))
			if !zero || reflect.DeepEqual(c.before[at], after[at]) { // equal: GORM leaves it, as it does with NULL
				continue
			}
			if err := c.records.SetField(i, field, after[at]); err != nil {
				return nil, err
			}
		}
	}
	return byKey, nil
}

// restore gives the records back what they had before the statement in some of the fields.
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

// adoptReturned completes what RETURNING has put into the records. GORM scans an int64 into a map, which gets the type
// of the field. It stores a new pointer for each value that the database returns, and leaves the old one where it
// returns NULL, which is cleared.
func (c *conflict) adoptReturned() {
	for i := range c.records.N {
		for j, column := range c.Columns {
			if x := c.records.Load(i, column); c.records.Maps && x != (model.Value{}) {
				c.records.Store(i, column, x)
			}
			if column.Pointer && c.fields != nil && c.generated(i, j) != 0 &&
				c.records.Field(i, column.Field) == c.before[i*len(c.fields)+j] {
				c.records.Store(i, column, model.Value{})
			}
		}
	}
}
