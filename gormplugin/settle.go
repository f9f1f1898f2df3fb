package gormplugin

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"strings"

	"gorm.io/gorm"

	"github.com/sqlflake/sqlflake/snowflake"
)

// settle is the callback right after the statement, before the associations that refer to its rows are saved. It makes
// the IDs of the records those of their rows: the IDs that a skipped record got are cleared, one that updated a row
// takes the row's. See conflict.go for the rules.
func (h *handle) settle(db *gorm.DB) {
	if c := h.creationOf(db.Statement); c != nil {
		c.settle(db)
	}
}

func (c *creation) settle(db *gorm.DB) {
	if c.settled {
		return
	}
	insertID, hasInsertID := c.lastInsertID()
	c.restore()
	c.settled, c.failed = true, db.Error != nil
	if c.conflict == nil || db.Error != nil || db.DryRun {
		return
	}
	s := &settlement{creation: c, conflict: c.conflict, db: db}
	var err error
	if s.does == skips {
		err = s.settleSkipped(insertID, hasInsertID)
	} else {
		err = s.settleUpdated(insertID, hasInsertID)
	}
	if err != nil {
		_ = db.AddError(err)
	}
}

// finish is the callback at the end of a Create. If the statement has failed, and its rows are not there, the IDs that
// the records got are cleared. Its rows are there if it failed later, in a transaction that goes on.
func (h *handle) finish(db *gorm.DB) {
	h.withdraw(db)
	c := h.forget(db.Statement)
	if db.DryRun {
		defer h.endDryRun(db.Statement, c)
	}
	if c != nil {
		c.settle(db) // if it has not run yet: the application has removed the callback before which it runs
		if db.Error != nil && (hasTransaction(db) || c.failed && !mayBeThere(db)) {
			c.takeBack(h.planOf(db.Statement.Schema))
		}
	}
}

// mayBeThere reports whether a statement that has failed may have written its rows all the same. Outside of a
// transaction the server finishes what it has begun, also if the caller no longer waits for it or the connection is
// lost.
func mayBeThere(db *gorm.DB) bool {
	if _, inside := unwrap(db.Statement.ConnPool); inside {
		return false
	}
	var network net.Error
	err := db.Error
	return db.Statement.Context.Err() != nil || errors.As(err, &network) || errors.Is(err, driver.ErrBadConn) ||
		errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) ||
		errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) ||
		strings.Contains(err.Error(), "invalid connection") // mysql.ErrInvalidConn
}

// lastInsertID returns what noteRowsMet has made MySQL keep, 0 if no record conflicted with a row.
func (c *creation) lastInsertID() (id int64, ok bool) {
	if c.conflict == nil || c.conflict.source != lastInsert {
		return 0, false
	}
	result := c.stmt.Result
	if result == nil || result.Result == nil {
		return 0, false
	}
	id, err := result.Result.LastInsertId()
	return id, err == nil
}

// settleSkipped clears the IDs of the records that were not inserted.
func (s *settlement) settleSkipped(insertID int64, hasInsertID bool) error {
	if hasInsertID && insertID == 0 || s.source == rowCount && s.db.RowsAffected == int64(s.records.n) {
		return nil // all were inserted
	}
	var notRestored error
	// MariaDB also returns the rows that were met, so a full count means that each row is in its record. Elsewhere a full
	// count means nothing: GORM skips records that have a value in a returned field, and counts them.
	if s.db.Name() != "mysql" || s.db.RowsAffected != int64(s.records.n) {
		notRestored = s.restoreFields()
	}
	var skipped []int
	if _, wrapped := innerOf(s.stmt.ConnPool); wrapped && s.source == rowCount && s.db.RowsAffected == 0 {
		for i := range s.records.n { // gorm.io/sharding runs no query by keys alone
			skipped = append(skipped, i)
		}
	} else {
		// A count of 0 does not say that nothing was inserted: a trigger that moves rows to a partition counts none.
		var err error
		if skipped, err = s.absent(); err != nil {
			return fmt.Errorf("gormplugin: look up which records of %s DO NOTHING has skipped: %w", s.stmt.Schema.Name, err)
		}
	}
	skipped = slices.DeleteFunc(skipped, func(i int) bool {
		return len(s.gave(i)) == 0
	})
	if len(skipped) > 0 && notRestored != nil {
		return notRestored
	}
	return s.clear(skipped, false)
}

// settleUpdated sets the IDs of the records that updated a row.
func (s *settlement) settleUpdated(insertID int64, hasInsertID bool) error {
	complete := s.db.RowsAffected == int64(s.records.n)
	switch {
	case hasInsertID && insertID == 0:
		return nil // all were inserted
	case s.source == returned && complete:
		s.clearPointers()
		s.convertReturned()
		return nil
	case !complete:
		if err := s.restoreFields(); err != nil {
			return err
		}
	}
	unknown, err := s.absent()
	if err != nil {
		return err
	}
	if hasInsertID && s.records.n == 1 && len(unknown) == 1 && s.records.settable() {
		s.records.store(0, s.records.plan.key, value{id: snowflake.ID(insertID)})
		return nil
	}
	if unknown, err = s.findByTarget(unknown); err != nil {
		return err
	}
	return s.clear(unknown, true)
}

// clear clears the IDs that the records got, whose rows are not known, and returns ErrKeyUnknown if other rows are
// about to refer to them. Their keys are in doubt as well if doubtful is true, also those that the caller has set.
func (s *settlement) clear(unknown []int, doubtful bool) error {
	lost := make([]bool, len(s.columns)) // by any record
	for _, i := range unknown {
		for _, j := range s.gave(i) {
			if s.records.load(i, s.columns[j]) != s.had(i, j) {
				continue // MariaDB returns the existing row, if the caller asks for the column
			}
			s.records.store(i, s.columns[j], value{})
			lost[j] = true
		}
	}
	var columns []*column
	for j, c := range s.columns {
		if lost[j] || doubtful && c.isKey {
			columns = append(columns, c)
		}
	}
	return s.refuseOrphans(unknown, columns)
}

// restoreFields sets the fields of a list to what they were before the statement, since GORM has put values of rows into
// the wrong records. The queries for the rows then read the fields again.
func (s *settlement) restoreFields() error {
	if !s.records.list || s.fields == nil {
		return nil
	}
	if len(s.fields) < len(s.columns)+len(s.others) {
		return fmt.Errorf("gormplugin: RETURNING brings %s of %s to records of type %s, and rows are missing; "+
			"create records of the model itself: %w", s.others[0].DBName, s.stmt.Schema.Name, s.records.at(0).Type(), gorm.ErrInvalidData)
	}
	s.reread = len(s.others) > 0
	for at, had := range s.held {
		if err := s.fields[at%len(s.fields)].Set(s.records.ctx, s.records.at(at/len(s.fields)), had); err != nil {
			return err
		}
	}
	return nil
}

// clearPointers clears the IDs that the records got and their rows lack. GORM stores a new pointer for each value that the
// database returns, and leaves the old one where it returns NULL.
func (s *settlement) clearPointers() {
	if s.records.isMap {
		return
	}
	for i := range s.records.n {
		for _, j := range s.gave(i) {
			if c := s.columns[j]; c.pointer && s.fields != nil && s.records.fieldValue(i, c.field) == s.held[i*len(s.fields)+j] {
				s.records.store(i, c, value{})
			}
		}
	}
}

// convertReturned gives the values in a map the types that fill gives them. GORM scans an int64.
func (s *settlement) convertReturned() {
	if !s.records.isMap {
		return
	}
	for _, c := range s.columns {
		if x := s.records.load(0, c); x != (value{}) {
			s.records.store(0, c, x)
		}
	}
}
