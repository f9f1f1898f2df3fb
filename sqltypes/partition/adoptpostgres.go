package partition

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"time"

	"github.com/sqlflake/sqlflake/snowflake"
	"github.com/sqlflake/sqlflake/snowflake/sqldb"
)

const (
	// adoptLead is the least time from the start of an adoption to the cut.
	adoptLead = 24 * time.Hour

	// adoptCheck is the constraint that makes ATTACH PARTITION skip its scan.
	adoptCheck = "sqlflake_adopt"

	// adoptMark is a line at the end of the comment of foreign keys that are still to be validated.
	adoptMark = "sqlflake: to be validated"

	// scanSpeed is the slowest VALIDATE CONSTRAINT scan assumed, in bytes per second.
	scanSpeed = 20 << 20

	// swapTimeout limits each statement of the swap. They take milliseconds: none reads rows.
	swapTimeout = 2 * time.Second

	// queueTimeout limits the wait for locks that no reader or writer waits behind. It is longer than deadlock_timeout,
	// after which autovacuum gives way.
	queueTimeout = 5 * time.Second
)

func (postgres) adoption(ctx context.Context, q querier, s *Set, c *claim, attempt int) (*adoption, error) {
	t, err := s.readAdoptee(ctx, q)
	if err != nil {
		return nil, err
	}
	if t.kind == "p" {
		a, err := s.adopted(ctx, q)
		if err != nil {
			return nil, err
		}
		return a, a.addReferences(ctx, q, t, false)
	}
	if err := s.checkAdoptee(t); err != nil {
		return nil, err
	}
	a := s.newAdoption(t.name, t.now)
	if t.checkDef != "" {
		c.table = quoteTable(t.name)
	}
	// From here on, the catalog prints all names with their schema.
	if err := execAll(ctx, q, "SET LOCAL search_path = pg_catalog"); err != nil {
		return nil, err
	}
	if err := s.refusePostgres(ctx, q, t, a); err != nil {
		return nil, err
	}

	now := later(t.now, s.now())
	scan := time.Duration(t.bytes/scanSpeed) * time.Second
	need := adoptLead + scan
	cut, found, err := s.parseCheck(t)
	switch {
	case err != nil:
		return nil, err
	case found && s.at(cut).Sub(now) < adoptLead/4:
		a.add(s.stepDropCheck(t, "the clock comes close to the cut of the constraint"))
		found = false
	case found && !t.checkValid && s.at(cut).Sub(now) < adoptLead/2+scan:
		a.add(s.stepDropCheck(t, "the time to the cut of the constraint is too short to validate it"))
		found = false
	case t.checkDef != "" && !found:
		a.add(s.stepDropCheck(t, "no period begins at the cut of the constraint"))
	}
	if !found {
		next := s.period(now.Add(need))
		if next.from.Before(now.Add(need)) {
			next = s.next(next)
		}
		if end := s.layout.End(); next.to.After(end) {
			return nil, fmt.Errorf("%w: the period from %s on is ahead, the layout ends at %s", snowflake.ErrTimeExhausted,
				s.text(next.from), s.text(end))
		}
		cut = next.lo
		if err := a.refuseAhead(ctx, q, s, t, cut, "the cut"); err != nil {
			return nil, err
		}
		check := fmt.Sprintf("ADD CONSTRAINT %s CHECK (%[2]s IS NOT NULL AND %[2]s < %[3]d) NOT VALID",
			adoptCheck, quoteName(s.key), cut)
		step, run := s.stepAlter(t, "limits the keys to those before the cut, "+s.text(next.from), check)
		a.add(step, func(ctx context.Context, q querier) error {
			c.touched, c.table = true, quoteTable(t.name)
			return run(ctx, q)
		})
	}
	if !found || !t.checkValid {
		sql := []string{fmt.Sprintf("ALTER TABLE %s VALIDATE CONSTRAINT %s", quoteTable(t.name), adoptCheck)}
		a.add(alterStep(t, "reads all rows, without blocking writers", sql), func(ctx context.Context, q querier) error {
			c.touched = true
			left := s.at(cut).Sub(now) - adoptLead/4 // then the constraint has to go
			err := execAll(ctx, q, append(limits(queueTimeout, left), sql...)...)
			c.validated = c.validated || err == nil // unless the commit fails
			return err
		})
	}
	if err := s.addSwap(ctx, q, t, cut, attempt, a); err != nil {
		return nil, err
	}
	after := &state{table: t.name, now: t.now, parts: []part{{
		name: name{t.schema, t.legacy}, lo: noLow, hi: cut, rows: t.rows, bytes: t.bytes,
	}}}
	if err := a.createsFor(ctx, q, s, after, s.at(cut)); err != nil {
		return nil, err
	}
	return a, a.addReferences(ctx, q, t, true)
}

// readAdoptee resolves the name with the search_path of the connection.
func (s *Set) readAdoptee(ctx context.Context, q querier) (*adoptee, error) {
	t := &adoptee{legacy: s.legacyName()}
	var now int64
	found, err := one(q.QueryRowContext(ctx, `SELECT c.oid::bigint, n.nspname, c.relname, c.relkind::text,
			coalesce(format_type(a.atttypid, a.atttypmod), ''), greatest(c.reltuples, 0)::int8, pg_total_relation_size(c.oid),
			(extract(epoch FROM clock_timestamp()) * 1000000)::int8, coalesce(pg_get_constraintdef(k.oid), ''),
			coalesce(k.convalidated, false)
		FROM pg_class AS c JOIN pg_namespace AS n ON n.oid = c.relnamespace
		LEFT JOIN pg_constraint AS k ON k.conrelid = c.oid AND k.conname = $2
		LEFT JOIN pg_attribute AS a ON a.attrelid = c.oid AND a.attname = $4 AND a.attnum > 0 AND NOT a.attisdropped
		WHERE c.relname = $1 AND CASE WHEN $3 = '' THEN pg_table_is_visible(c.oid) ELSE n.nspname = $3 END`,
		s.table.table, adoptCheck, s.table.schema, s.key),
		&t.oid, &t.schema, &t.table, &t.kind, &t.key, &t.rows, &t.bytes, &now, &t.checkDef, &t.checkValid)
	t.now = time.UnixMicro(now).UTC()
	if !found && err == nil {
		err = fmt.Errorf("%w: there is no table %v, or no right to see it", ErrTable, s.table)
	}
	return t, err
}

// checkAdoptee returns ErrTable for what is no ordinary table with the key.
func (s *Set) checkAdoptee(t *adoptee) error {
	switch {
	case t.kind != "r":
		kinds := map[string]string{
			"v": "view", "m": "materialized view", "f": "foreign table", "S": "sequence", "i": "index", "c": "type",
		}
		return fmt.Errorf("%w: %v is a %s, not a table", ErrTable, t.name, kinds[t.kind])
	case t.key == "":
		return fmt.Errorf("%w: %v has no column %s", ErrTable, t.name, s.key)
	case t.key != "bigint":
		return fmt.Errorf("%w: the key %s of %v is of type %s, want bigint", ErrTable, s.key, t.name, t.key)
	}
	return nil
}

var checkForm = regexp.MustCompile(`^CHECK \(\(\(.* IS NOT NULL\) AND \(.* < '?(\d+)'?(?:::bigint)?\)\)\)(?: NOT VALID)?$`)

// parseCheck returns the cut of the constraint. fits reports whether a period of this Set begins there.
func (s *Set) parseCheck(t *adoptee) (cut int64, fits bool, err error) {
	if t.checkDef == "" {
		return 0, false, nil
	}
	if match := checkForm.FindStringSubmatch(t.checkDef); match != nil {
		if cut, err := strconv.ParseInt(match[1], 10, 64); err == nil {
			return cut, s.period(s.at(cut)).lo == cut, nil
		}
	}
	return 0, false, fmt.Errorf("%w: %v has a constraint %s that is not of Adopt: %.200s",
		ErrTable, t.name, adoptCheck, t.checkDef)
}

// stepDropCheck returns a step that drops the constraint of a table.
func (s *Set) stepDropCheck(t *adoptee, why string) (Step, func(context.Context, querier) error) {
	return s.stepAlter(t, why, "DROP CONSTRAINT IF EXISTS "+adoptCheck)
}

// stepAlter returns a step that changes the table under an exclusive lock, for an instant.
func (s *Set) stepAlter(t *adoptee, why, change string) (Step, func(context.Context, querier) error) {
	sql := []string{"ALTER TABLE " + quoteTable(t.name) + " " + change}
	return alterStep(t, why, sql), func(ctx context.Context, q querier) error {
		if err := s.lockAll(ctx, q, tableLock{quoteTable(t.name), exclusive}); err != nil {
			return err
		}
		return execAll(ctx, q, sql...)
	}
}

func alterStep(t *adoptee, why string, sql []string) Step {
	return Step{Action: actionAlter, Lo: noLow, Hi: noHigh, Rows: t.rows, Bytes: t.bytes, Why: why, SQL: sql}
}

// claim is what a call of Adopt has done with the constraint. It removes only its own: that of another call may have
// taken hours to validate.
type claim struct {
	table     string // for SQL; empty: this call has neither seen nor added the constraint
	touched   bool   // this call has tried to add or to validate it
	validated bool   // this call has validated it; if the commit failed, perhaps
}

// abandonTimeout is the least time for which abandon tries to remove the constraint. The server needs some of it to
// notice that the statement of a context that has ended is to be cancelled.
const abandonTimeout = 10 * time.Second

// errOthers is the reason why a constraint stays that could be removed.
var errOthers = errors.New("it belongs to another call, which may still run")

// abandon drops the constraint after an error, since rows are rejected once the clock passes the cut. If it stays, the
// error says so.
func (s *Set) abandon(ctx context.Context, db *sql.DB, c claim) error {
	if s.dialect != sqldb.Postgres {
		return nil
	}
	timeout := max(abandonTimeout, 10*s.lockTimeout)
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), timeout)
	defer cancel()
	var reason error
	err := s.patiently(ctx, &waiter{until: time.Now().Add(timeout)}, func() error {
		reason = s.engine.connect(ctx, db, s, c.touched, func(q querier) error {
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
	return fmt.Errorf("the constraint %s stays, and rejects rows from its cut on: call Adopt again, "+
		"or execute ALTER TABLE %s DROP CONSTRAINT IF EXISTS %[1]s: %[3]w", adoptCheck, c.table, reason)
}
