package gormplugin

import (
	"slices"

	"gorm.io/gorm"

	"github.com/sqlflake/sqlflake/snowflake"
)

// settle is the callback that makes the keys of the records those of their rows, after the statement and before the
// associations that refer to them are saved. A record that was skipped gives back the key that it got; one that updated
// a row takes the row's key.
func (h *handle) settle(db *gorm.DB) {
	u := undoOf(db.Statement)
	if u == nil {
		return
	}
	insertID, hasInsertID := u.lastInsertID()
	u.restore()
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

// settleSkipped takes back the keys of the records that were not inserted.
func (u *undo) settleSkipped(insertID int64, hasInsertID bool) error {
	c := u.conflict
	if hasInsertID && insertID == 0 || c.source == rowCount && u.db.RowsAffected == int64(c.records.n) {
		return nil // all were inserted
	}
	// No count says that nothing was inserted: a trigger that moves rows to a partition leaves 0 of them.
	skipped, err := u.absent(u.givenKeys())
	if err != nil {
		return err
	}
	skipped = slices.DeleteFunc(skipped, func(i int) bool {
		return c.records.key(i) != c.before[i] // MariaDB returns the row that was met, if the caller asks for the key
	})
	for _, i := range skipped {
		c.records.clear(i)
	}
	return u.refuseOrphans(skipped)
}

// settleUpdated sets the keys of the records that updated a row instead of becoming one.
func (u *undo) settleUpdated(insertID int64, hasInsertID bool) error {
	c := u.conflict
	switch {
	case hasInsertID && insertID == 0:
		return nil // all were inserted
	case c.source == returned && u.db.RowsAffected == int64(c.records.n):
		u.convertReturned()
		return nil
	}
	all := make([]int, c.records.n)
	for i := range all {
		all[i] = i
		if c.source == returned && c.records.key(i) != c.before[i] {
			c.records.store(i, c.before[i]) // rows are missing, so GORM's order was wrong
		}
	}
	unknown, err := u.absent(all)
	if err != nil {
		return err
	}
	if hasInsertID && c.records.n == 1 && len(unknown) == 1 && c.records.settable() {
		c.records.store(0, snowflake.ID(insertID))
		return nil
	}
	if unknown, err = u.findByTarget(unknown); err != nil {
		return err
	}
	for _, i := range unknown {
		if u.gave(i) {
			c.records.clear(i)
		}
	}
	return u.refuseOrphans(unknown)
}

// givenKeys returns the records that have the key they got.
func (u *undo) givenKeys() []int {
	var given []int
	for i := range u.conflict.records.n {
		if u.gave(i) {
			given = append(given, i)
		}
	}
	return given
}

// gave reports whether record i went into the statement with the key that fill gave it, which a hook may have replaced.
func (u *undo) gave(i int) bool {
	return i < len(u.given) && u.given[i] != 0 && u.given[i] == u.conflict.before[i]
}

// convertReturned gives the key in a map the type that fill gives it. GORM scans an int64.
func (u *undo) convertReturned() {
	if r := u.conflict.records; r.isMap {
		r.store(0, r.key(0))
	}
}
