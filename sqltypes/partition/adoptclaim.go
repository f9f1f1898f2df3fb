package partition

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"
)

// claim is what a call of Adopt has done with the constraint, so that it removes its own one only: the constraint of
// another call may have taken hours to validate.
type claim struct {
	table     string // for SQL; empty: this call has neither seen nor added the constraint
	touched   bool   // this call has tried to add or to validate it
	validated bool   // this call has validated it; if the commit failed, perhaps
}

// see notes what was read before a step.
func (c *claim) see(a *adoption) {
	if a.adoptee != nil && (a.adoptee.checkDef != "" || a.touches) {
		c.table = quoteTable(a.adoptee.name)
	}
}

// abandonTimeout is the least time for which abandon tries to remove the constraint. The server needs some of it to
// notice that the statement of a context that has ended is to be cancelled.
const abandonTimeout = 10 * time.Second

// errOthers is the reason why a constraint stays that could be removed.
var errOthers = errors.New("it belongs to another call, which may still run")

// abandon drops the constraint after an error, since rows are rejected once the clock passes the cut. If it stays, the
// error says so.
func (s *Set) abandon(ctx context.Context, db *sql.DB, c claim) error {
	timeout := max(abandonTimeout, 10*s.lockTimeout)
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), timeout)
	defer cancel()
	reach := s.engine.look
	if c.touched {
		reach = s.engine.alone
	}
	var reason error
	err := s.patiently(ctx, &waiter{until: time.Now().Add(timeout)}, func() error {
		reason = reach(ctx, db, s, func(q querier) error {
			t, err := s.readAdoptee(ctx, q)
			switch {
			case errors.Is(err, ErrTable):
				return nil
			case err != nil:
				return err
			case t.kind != "r" || t.checkDef == "": // the swap is done, or there is none
				return nil
			}
			if _, _, err := s.parseCheck(t); err != nil {
				return nil // not of Adopt
			}
			c.table = quoteTable(t.name)
			if !c.touched || t.checkValid && !c.validated {
				return errOthers
			}
			_, drop := s.stepDropCheck(t, "")
			return drop(ctx, q)
		})
		return reason
	})
	if err == nil || c.table == "" {
		return nil
	}
	return fmt.Errorf("the constraint %s stays, and rejects rows from its cut on: call Adopt again, or execute ALTER TABLE %s DROP CONSTRAINT IF EXISTS %[1]s: %[3]w",
		adoptCheck, c.table, reason)
}
