package upsert

import (
	"fmt"
	"slices"

	"gorm.io/gorm"

	"github.com/sqlflake/sqlflake/gormplugin/internal/model"
	"github.com/sqlflake/sqlflake/snowflake"
)

// Resolve makes the IDs of the records those of their rows, right after the statement and before the associations that
// refer to its rows are saved. It also undoes the changes of Rewrite. A second call does nothing.
func (in *Insert) Resolve(db *gorm.DB) {
	if in.Resolved {
		return
	}
	result := in.Stmt.Result
	in.Restore()
	in.Resolved, in.Failed = true, db.Error != nil
	c := in.conflict
	if c == nil || db.Error != nil || db.DryRun {
		return
	}
	var key int64 // that keepInsertID has made MySQL keep
	if c.shows == insertID {
		c.shows = none
		if result != nil && result.Result != nil {
			if id, err := result.Result.LastInsertId(); err == nil {
				key, c.shows = id, insertID
			}
		}
	}
	if err := c.resolve(db, snowflake.ID(key)); err != nil {
		_ = db.AddError(err)
	}
}

// resolve follows the rules of the package comment. key is that of a row that a record conflicted with, if the
// statement shows insertID.
func (c *conflict) resolve(db *gorm.DB, key snowflake.ID) error {
	full := db.RowsAffected == int64(c.records.N)
	switch {
	case c.shows == insertID && key == 0, c.shows == counted && full:
		return nil
	case c.shows == returned && full:
		c.adoptReturned()
		return nil
	}
	// RETURNING of MariaDB also brings the rows that DO NOTHING kept, so a full count means that each row is in its
	// record. Elsewhere it means nothing: GORM skips records that have a value in a returned field, and counts them.
	var misplaced error
	if !full || c.does == skips && !c.dialect.MySQL {
		misplaced = c.restoreFields()
	}
	if misplaced != nil && c.does == updates {
		return misplaced
	}
	unknown, err := c.absent(db)
	switch {
	case err != nil && c.does == skips:
		return fmt.Errorf("gormplugin: look up which records of %s DO NOTHING has skipped: %w", c.Stmt.Schema.Name, err)
	case err != nil:
		return err
	case c.does == skips:
		unknown = slices.DeleteFunc(unknown, func(i int) bool { return len(c.generatedIn(i)) == 0 })
	case c.shows == insertID && c.records.N == 1 && len(unknown) == 1 && c.records.Settable():
		c.records.Store(0, c.plan.Key, model.Value{ID: key})
		return nil
	default:
		if unknown, err = c.findByTarget(db, unknown); err != nil {
			return err
		}
	}
	if len(unknown) > 0 && misplaced != nil {
		return misplaced
	}
	return c.clear(unknown)
}

// clear clears the generated IDs of records whose rows were not found, and returns ErrKeyUnknown if other rows are
// about to refer to them. After DO UPDATE, keys that the caller has set are in doubt as well.
func (c *conflict) clear(unknown []int) error {
	lost := make([]bool, len(c.Columns)) // by any record
	for _, i := range unknown {
		for _, j := range c.generatedIn(i) {
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

// generatedIn returns the columns in which record i got a generated ID.
func (c *conflict) generatedIn(i int) (columns []int) {
	for j := range c.Columns {
		if c.generated(i, j) != 0 {
			columns = append(columns, j)
		}
	}
	return columns
}

// restoreFields sets the fields of a list to what they were before the statement, since GORM has put values of rows
// into the wrong records. The queries for the rows then read the fields again.
func (c *conflict) restoreFields() error {
	if !c.records.List || c.fields == nil {
		return nil
	}
	if len(c.fields) < len(c.Columns)+len(c.others) {
		return fmt.Errorf("gormplugin: RETURNING brings %s of %s to records of type %s, and rows are missing; "+
			"create records of the model itself: %w", c.others[0].DBName, c.Stmt.Schema.Name, c.records.Type(), gorm.ErrInvalidData)
	}
	c.reread = len(c.others) > 0
	for at, x := range c.before {
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
