package partition

import (
	"context"
	"database/sql"
	_ "embed" // for the queries
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"time"

	"github.com/sqlflake/sqlflake/contrib/internal/pgsql"
	"github.com/sqlflake/sqlflake/contrib/partition/internal/period"
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

// adoptee is an ordinary table.
type adoptee struct {
	name
	legacy      string // its name as a partition
	oid         int64
	kind        string // of pg_class
	key         string // its type
	rows, bytes int64
	now         time.Time
	checkDef    string // of adoptCheck; empty: there is none
	checkValid  bool
}

func (postgres) adoption(ctx context.Context, q querier, s *Set, c *claim, attempt int) (*adoption, error) {
	t, err := s.readAdoptee(ctx, q)
	if err != nil {
		return nil, err
	}

	if t.kind != "r" { // adopted before, or unsuitable
		a, err := s.adopted(ctx, q)
		if err != nil {
			return nil, err
		}
		return a, a.addReferences(ctx, q, t, false)
	}

	if err := s.checkKey(t.name, t.key, t.key == "bigint"); err != nil {
		return nil, err
	}

	a := s.newAdoption(t.name, t.now)
	if t.checkDef != "" {
		c.table = quoteTable(t.name)
	}

	if err := s.refusePostgres(ctx, q, t, a); err != nil {
		return nil, err
	}

	now := period.Later(t.now, s.now())
	scan := time.Duration(t.bytes/scanSpeed) * time.Second
	need := adoptLead + scan
	cut, found, err := s.parseCheck(t)
	switch {
	case err != nil:
		return nil, err
	case found && s.calendar.Reached(cut).Sub(now) < adoptLead/4:
		a.add(s.stepDropCheck(t, "the clock comes close to the cut of the constraint"))
		found = false
	case found && !t.checkValid && s.calendar.Reached(cut).Sub(now) < adoptLead/2+scan:
		a.add(s.stepDropCheck(t, "the time to the cut of the constraint is too short to validate it"))
		found = false
	case t.checkDef != "" && !found:
		a.add(s.stepDropCheck(t, "no period begins at the cut of the constraint"))
	}

	if !found {
		next := s.calendar.Containing(now.Add(need))
		for range 2 { // the second one may begin too early too, with a Layout.Period before its time
			if period.Earlier(next.From, s.calendar.Reached(next.Lo)).Before(now.Add(need)) {
				next = s.calendar.Next(next)
			}
		}

		if end := s.calendar.Layout.End(); next.To.After(end) {
			return nil, fmt.Errorf("%w: the period from %s on is ahead, the layout ends at %s",
				snowflake.ErrTimeExhausted, s.calendar.Text(next.From), s.calendar.Text(end))
		}

		cut = next.Lo
		if err := a.refuseAhead(ctx, q, s, t.name, cut, "the cut"); err != nil {
			return nil, err
		}

		check := fmt.Sprintf("ADD CONSTRAINT %s CHECK (%[2]s IS NOT NULL AND %[2]s < %[3]d) NOT VALID",
			adoptCheck, pgsql.Name(s.key), cut)
		step, run := s.stepAlter(t, "limits the keys to those before the cut, "+s.calendar.Text(next.From), check)
		a.add(step, func(ctx context.Context, q querier) error {
			c.touched, c.table = true, quoteTable(t.name)
			return run(ctx, q)
		})
	}

	if !found || !t.checkValid {
		sql := []string{fmt.Sprintf("ALTER TABLE %s VALIDATE CONSTRAINT %s", quoteTable(t.name), adoptCheck)}
		a.add(alterStep(t, "reads all rows, without blocking writers", sql),
			func(ctx context.Context, q querier) error {
				c.touched = true
				left := s.calendar.Reached(cut).Sub(now) - adoptLead/4 // then the constraint has to go
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
	if err := a.createsFor(ctx, q, s, after, s.calendar.At(cut)); err != nil {
		return nil, err
	}

	return a, a.addReferences(ctx, q, t, true)
}

func (s *Set) readAdoptee(ctx context.Context, q querier) (*adoptee, error) {
	t := &adoptee{legacy: s.legacyName()}
	var now int64
	found, err := one(q.QueryRowContext(ctx, `SELECT c.oid::bigint, n.nspname, c.relname, c.relkind::text,
			coalesce(format_type(a.atttypid, a.atttypmod), ''), c.reltuples::int8, pg_total_relation_size(c.oid),
			(extract(epoch FROM clock_timestamp()) * 1000000)::int8, coalesce(pg_get_constraintdef(k.oid), ''),
			coalesce(k.convalidated, false)
		FROM pg_class AS c JOIN pg_namespace AS n ON n.oid = c.relnamespace
		LEFT JOIN pg_constraint AS k ON k.conrelid = c.oid AND k.conname = $2
		LEFT JOIN pg_attribute AS a ON a.attrelid = c.oid AND a.attname = $4 AND a.attnum > 0 AND NOT a.attisdropped
		WHERE c.relname = $1 AND n.nspname = $3`,
		s.table.table, adoptCheck, s.table.schema, s.key),
		&t.oid, &t.schema, &t.table, &t.kind, &t.key, &t.rows, &t.bytes, &now, &t.checkDef, &t.checkValid)
	t.now = time.UnixMicro(now).UTC()
	if !found && err == nil {
		err = s.noTable()
	}

	return t, err
}

var checkForm = regexp.MustCompile(`^CHECK \(\(\(.* IS NOT NULL\) AND \(.* < '?(\d+)'?(?:::bigint)?\)\)\)(?: NOT VALID)?$`)

// parseCheck returns the cut of the constraint. fits reports whether a period of this Set begins there.
func (s *Set) parseCheck(t *adoptee) (cut int64, fits bool, err error) {
	if t.checkDef == "" {
		return 0, false, nil
	}
	if match := checkForm.FindStringSubmatch(t.checkDef); match != nil {
		if cut, err := strconv.ParseInt(match[1], 10, 64); err == nil {
			return cut, s.calendar.Of(cut).Lo == cut, nil
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

// claim is what a call of Adopt has done with the constraint. It removes only its own constraint: the one of
// another call may have taken hours to validate.
type claim struct {
	table     string // for SQL; empty: this call has neither seen nor added the constraint
	touched   bool   // this call has tried to add or to validate it
	validated bool   // this call has validated it; if the commit failed, perhaps
}

// abandonTimeout is the least time for which abandon tries to remove the constraint. The server needs some of it to
// notice that the statement of a context that has ended is to be cancelled.
const abandonTimeout = 10 * time.Second

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
		reason = s.engine.connect(ctx, db, s, c.touched, func(s *Set, q querier) error {
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
				return errors.New("it belongs to another call, which may still run")
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

// swapQuery returns the statements of the swap in their order. Parameters: the table's OID, its new name, the key, the
// cut, adoptCheck and adoptMark. The search_path must be safePath, so that all names have their schema. Definitions
// contain the name of the old table; when they are executed, the new table has it.
//
//go:embed adopt_swap.sql
var swapQuery string

// refusalsQuery returns what the swap can't carry over. Parameters: the table's OID, its new name, the key, adoptCheck.
//
//go:embed adopt_refusals.sql
var refusalsQuery string

// validateQuery returns two statements for each foreign key that refers to the table and that the swap left NOT VALID:
// one validates it, the other removes the mark from its comment. Parameters: the table's OID, adoptMark, and whether
// the swap is still to come, when there is no mark.
//
//go:embed adopt_validate.sql
var validateQuery string

// addSwap adds the step that puts a partitioned table in the place of the old one.
func (s *Set) addSwap(ctx context.Context, q querier, t *adoptee, cut int64, attempt int, a *adoption) error {
	statements, err := s.swapStatements(ctx, q, t, cut)
	if err != nil {
		return err
	}

	locks, err := relatedLocks(ctx, q, quoteTable(t.name), attempt)
	if err != nil {
		return err
	}

	script := append([]string{"BEGIN", "SET LOCAL search_path = " + safePath}, limits(s.lockTimeout, s.swap)...)
	for _, l := range locks {
		script = append(script, l.statement())
	}

	why := "becomes the partition " + t.legacy + " of a new table with its name" + s.legacyDrop(cut)
	step := alterStep(t, why, append(append(script, statements...), "COMMIT"))
	step.Hi, step.To = snowflake.ID(cut), s.calendar.At(cut)
	a.add(step, func(ctx context.Context, q querier) error {
		if err := s.lockAll(ctx, q, locks...); err != nil {
			return err
		}

		// The table may have changed before it was locked.
		now := &adoption{plan: &Plan{}}
		if err := s.refusePostgres(ctx, q, t, now); err != nil {
			return err
		}
		if err := now.refusal(); err != nil {
			return err
		}

		statements, err := s.swapStatements(ctx, q, t, cut)
		if err != nil {
			return err
		}

		before, err := indexFiles(ctx, q, t)
		if err != nil {
			return err
		}

		// Each round trip counts while others wait.
		if err := execScript(ctx, q, statements); err != nil {
			return fmt.Errorf("one of %d statements, of which this is the last: %w", len(statements), err)
		}

		after, err := indexFiles(ctx, q, t)
		if err == nil && !slices.Equal(before, after) {
			err = fmt.Errorf("%w: ATTACH PARTITION of %v builds an index: before %s, after %s",
				ErrTable, t.name, before, after)
		}

		return err
	})
	return nil
}

// swapStatements returns the statements of the swap, for which the table is locked.
func (s *Set) swapStatements(ctx context.Context, q querier, t *adoptee, cut int64) ([]string, error) {
	return list(ctx, q, swapQuery, t.oid, t.legacy, s.key, strconv.FormatInt(cut, 10), adoptCheck, adoptMark)
}

// refusePostgres adds what the swap can't carry over to the problems.
func (s *Set) refusePostgres(ctx context.Context, q querier, t *adoptee, a *adoption) error {
	err := a.refuse(ctx, q, refusalsQuery, t.oid, t.legacy, s.key, adoptCheck)
	if sqlState(err) == "42704" { // a publication was dropped meanwhile
		return errChanging
	}
	return err
}

// indexFiles returns the indexes of the table with their files. ATTACH must neither change nor add one.
func indexFiles(ctx context.Context, q querier, t *adoptee) ([]string, error) {
	return list(ctx, q, `SELECT i.indexrelid || '/' || pg_relation_filenode(i.indexrelid)
		FROM pg_index AS i WHERE i.indrelid = $1::bigint::oid ORDER BY 1`, t.oid)
}

// addReferences adds the steps that validate the foreign keys that the swap creates, or has created, as NOT VALID.
func (a *adoption) addReferences(ctx context.Context, q querier, t *adoptee, planned bool) error {
	statements, err := list(ctx, q, validateQuery, t.oid, adoptMark, planned)
	for pair := range slices.Chunk(statements, 2) {
		step := alterStep(t, "a foreign key that refers to it: reads all rows, without blocking writers", pair)
		a.add(step, func(ctx context.Context, q querier) error {
			if err := execAll(ctx, q, append(limits(queueTimeout, 0), pair...)...); err != nil {
				return err
			}
			return validateChildren(ctx, q, t)
		})
	}
	return err
}

// validateChildren validates what VALIDATE leaves before PostgreSQL 18: the constraint for the rows of the first
// partition, unless a row refers to another one.
func validateChildren(ctx context.Context, q querier, t *adoptee) error {
	statements, err := list(ctx, q, `SELECT format('ALTER TABLE %s VALIDATE CONSTRAINT %I', k.conrelid::regclass, k.conname)
		FROM pg_constraint AS p JOIN pg_constraint AS k ON k.conparentid = p.oid
		WHERE p.confrelid = $1::bigint::oid AND p.contype = 'f' AND p.convalidated AND NOT k.convalidated`, t.oid)
	for _, statement := range statements {
		err := execAll(ctx, q, "SAVEPOINT child", statement)
		if sqlState(err) == "23503" { // a foreign key violation
			err = execAll(ctx, q, "ROLLBACK TO SAVEPOINT child")
		}
		if err != nil {
			return err
		}
	}

	return err
}
