package gormplugin

import (
	"slices"

	"gorm.io/gorm"

	"github.com/sqlflake/sqlflake/snowflake"
)

// settle is the callback that makes the IDs of the records those of their rows, after the statement and before the
// associations that refer to them are saved. A record that was skipped gives back the IDs that it got; one that updated
// a row takes the row's.
func (h *handle) settle(db *gorm.DB) {
	u := undoOf(db.Statement)
	if u == nil {
		return
	}
	insertID, hasInsertID := u.lastInsertID()
	u.restore()
	u.undoBackFill()
	if u.conflict == nil || db.Error != nil || db.DryRun {
		return
	}
	u.db = db
	var err error
	if u.conflict.does == skips {
		err = u.settleSkipped(insertID, hasInsertID)
	} else {
		err = u.settleUpdated(insertID, hasInsertID)
	}
	if err != nil {
		_ = db.AddError(err)
	}
}

// undoBackFill gives maps back what they had, if GORM has written numbers of the database's counter over it, or appended
// maps with nothing else.
func (u *undo) undoBackFill() {
	r := u.backFilled
	if r == nil || u.conflict != nil && u.conflict.source == returned {
		return
	}
	if dest, ok := u.statement.Dest.(*[]map[string]any); ok && len(*dest) > r.n {
		*dest = (*dest)[:r.n]
	}
	for i := range r.n {
		for j, c := range r.columns {
			if before := u.before[i*len(r.columns)+j]; before != (value{}) {
				r.store(i, c, before)
			}
		}
	}
}

// lastInsertID returns what noteRowsMet has made MySQL remember, 0 if no row was met.
func (u *undo) lastInsertID() (id int64, ok bool) {
	if u.conflict == nil || u.conflict.source != lastInsert {
		return 0, false
	}
	result := u.statement.Result
	if result == nil || result.Result == nil {
		return 0, false
	}
	id, err := result.Result.LastInsertId()
	return id, err == nil
}

// settleSkipped takes back the IDs of the records that were not inserted.
func (u *undo) settleSkipped(insertID int64, hasInsertID bool) error {
	c := u.conflict
	if hasInsertID && insertID == 0 || c.source == rowCount && u.db.RowsAffected == int64(c.records.n) {
		return nil // all were inserted
	}
	// No count says that nothing was inserted: a trigger that moves rows to a partition leaves 0 of them.
	given := u.recordsWhere(func(i int) bool { return len(u.gave(i)) > 0 })
	skipped, err := u.absent(given)
	if err != nil {
		return err
	}
	skipped = slices.DeleteFunc(skipped, func(i int) bool {
		return u.changed(i) // MariaDB returns the row that was met, if the caller asks for the key
	})
	return u.takeBack(skipped, false)
}

// settleUpdated sets the IDs of the records that updated a row instead of becoming one.
func (u *undo) settleUpdated(insertID int64, hasInsertID bool) error {
	c := u.conflict
	switch {
	case hasInsertID && insertID == 0:
		return nil // all were inserted
	case c.source == returned && u.db.RowsAffected == int64(c.records.n):
		u.convertReturned()
		return nil
	case c.source == returned:
		u.restoreRecords() // rows are missing, so GORM's order was wrong
	}
	unknown, err := u.absent(u.recordsWhere(func(int) bool { return true }))
	if err != nil {
		return err
	}
	if hasInsertID && c.records.n == 1 && len(unknown) == 1 && c.records.settable() {
		c.records.store(0, c.records.plan.key, value{id: snowflake.ID(insertID)})
		return nil
	}
	if unknown, err = u.findByTarget(unknown); err != nil {
		return err
	}
	return u.takeBack(unknown, true)
}

// takeBack clears the IDs that the records got, whose rows are not known, and returns ErrKeyUnknown if other rows are
// about to refer to them. Their keys are in doubt as well, if doubtful is true, also those that fill did not give.
func (u *undo) takeBack(unknown []int, doubtful bool) error {
	r := u.conflict.records
	lost := make([]bool, len(u.columns)) // by any record
	for _, i := range unknown {
		for _, j := range u.gave(i) {
			r.store(i, u.columns[j], value{})
			lost[j] = true
		}
	}
	var columns []*column
	for j, c := range u.columns {
		if lost[j] || doubtful && c.isKey {
			columns = append(columns, c)
		}
	}
	return u.refuseOrphans(unknown, columns)
}

func (u *undo) recordsWhere(is func(i int) bool) []int {
	var found []int
	for i := range u.conflict.records.n {
		if is(i) {
			found = append(found, i)
		}
	}
	return found
}

// before returns what record i had in column j when the statement was built.
func (c *conflict) had(i, j int) value { return c.before[i*len(c.records.columns)+j] }

// gave returns the columns with which record i went into the statement as fill left it; a hook may have replaced an ID.
func (u *undo) gave(i int) []int {
	var columns []int
	for j := range u.columns {
		if id := u.gaveID(i, j); id != 0 && u.conflict.had(i, j).id == id {
			columns = append(columns, j)
		}
	}
	return columns
}

// changed reports whether GORM has set a column of record i to what a row has.
func (u *undo) changed(i int) bool {
	for j, c := range u.columns {
		if u.conflict.records.load(i, c) != u.conflict.had(i, j) {
			return true
		}
	}
	return false
}

// restoreRecords sets the columns to what they were before the statement.
func (u *undo) restoreRecords() {
	for i := range u.conflict.records.n {
		for j, c := range u.columns {
			if had := u.conflict.had(i, j); u.conflict.records.load(i, c) != had {
				u.conflict.records.store(i, c, had)
			}
		}
	}
}

// convertReturned gives what is in a map the types that fill gives it. GORM scans an int64.
func (u *undo) convertReturned() {
	r := u.conflict.records
	if !r.isMap {
		return
	}
	for _, c := range u.columns {
		if x := r.load(0, c); x != (value{}) {
			r.store(0, c, x)
		}
	}
}
