package partition

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"hash/crc32"
	"strings"
	"time"

	"github.com/sqlflake/sqlflake/contrib/partition/internal/period"
)

// Adopt turns an ordinary table into a partitioned one with the same name and rows, and creates the partitions that
// [Set.Maintain] would create. It returns the steps that it took, also with an error. A partitioned table that fits the
// Set only gets missing partitions. Any number of processes may call it at once: one does the work, the others wait
// until it is done. If it was interrupted at any point, also by kill -9, the next call continues.
//
// On MySQL and MariaDB one ALTER TABLE copies the table, and blocks writers meanwhile. On PostgreSQL the table becomes
// the first partition, table_legacy (a long name is cut, with a checksum), of a new table; no row is copied, and
// others read and write meanwhile, except for some ten milliseconds. The README of the package says what happens to
// table_legacy afterwards. The steps on PostgreSQL:
//
//  1. The CHECK constraint sqlflake_adopt limits the keys to those before the cut: the start of the first period at
//     least a day ahead, more for very large tables. VALIDATE reads all rows, without blocking. If the clock comes
//     within six hours of the cut, the constraint is dropped.
//  2. One transaction swaps the tables, in about six round trips. It waits for its locks for the lock timeout in total,
//     and is repeated within the patience, with the locks in different orders: one suits writers that lock a parent
//     before its children, one those that lock it after them. If both kinds overlap all the time, pause one. The error
//     says who holds the locks.
//  3. The partitions from the cut on are created, and foreign keys that refer to the table are validated, while others
//     read and write.
//
// A killed process leaves the constraint, which rejects rows from the cut on, at least 18 hours later: call Adopt again
// within six hours, or drop it. After an error Adopt removes it, trying for up to ten seconds or ten lock timeouts,
// also after ctx has ended, unless another call has validated it. If it stays, the error has the statement that
// removes it.
//
// 5 million rows took 2.5 s with 4 writers, whose longest insert took 81 ms (2 shared cores of an Intel Xeon,
// Sapphire Rapids, Linux, PostgreSQL 15; SNOWFLAKE_TEST_ADOPT_ROWS=5000000 go test -v -run AdoptBesideWriters in this
// package).
//
// The new table has the old one's columns, defaults, constraints, indexes, extended statistics, triggers, foreign keys
// in both directions, owner, privileges, comments and column settings, under their names; indexes and statistics of
// table_legacy get the suffix _legacy. Storage parameters stay there. Run ANALYZE on the new table. What differs:
// INSERT without a key fails if a trigger sets it (use a DEFAULT; a BEFORE trigger must not change the key); RETURNING
// of xmax, xmin or ctid fails; COPY table TO fails; SELECT FROM ONLY table finds no rows; triggers see the partition
// in TG_TABLE_NAME; older prepared statements that select the row as one value fail.
//
// Adopt returns [ErrTable] with the problems of the plan for a table that has dependent views, rules, policies,
// functions or columns; publications, subscriptions, inheritance, identity columns, a key with a sequence (see
// contrib/adopt), unique indexes without the key, exclusion constraints, invalid indexes, constraints NOT VALID or
// NO INHERIT, foreign keys to itself or from a partitioned table, or keys from the cut on; or that is unlogged. On
// MySQL and MariaDB, for one that has a primary or unique key without the key column, any foreign key, a FULLTEXT or
// SPATIAL index, or an AUTO_INCREMENT key.
//
// It also returns [ErrOption] if a partition has no usable name; [ErrLocked]; snowflake.ErrTimeExhausted if the layout
// ends before the last partition; and errors of ctx and of the database.
func (s *Set) Adopt(ctx context.Context, db *sql.DB) (steps []Step, err error) {
	var c claim
	for {
		step, err := s.adoptStep(ctx, db, &c)
		if err != nil {
			err = errors.Join(withCause(ctx, err), s.abandon(ctx, db, c))
			return steps, fmt.Errorf("partition: adopt %v: %w", s.table, err)
		}

		if step == nil {
			return steps, nil
		}

		steps = append(steps, *step)
		s.logger().InfoContext(ctx, "partition: adopt",
			"action", step.Action, "partition", step.Partition, "why", step.Why)
	}
}

// withCause adds the error of a context that has ended: drivers return the state of their connection instead.
func withCause(ctx context.Context, err error) error {
	if ctx.Err() != nil && !errors.Is(err, ctx.Err()) {
		return fmt.Errorf("%w: %w", ctx.Err(), err)
	}
	return err
}

// PlanAdopt returns what [Set.Adopt] would do, with the statements in Step.SQL, and changes nothing. Adopt refuses a
// table whose plan has Problems. PlanAdopt returns the other errors of Adopt, and ErrTable for a table that does not
// exist, is no ordinary table, has no bigint key, or is partitioned in another way. On MySQL and MariaDB the rows and
// bytes of its steps are estimates, which ANALYZE TABLE renews.
func (s *Set) PlanAdopt(ctx context.Context, db *sql.DB) (*Plan, error) {
	return s.readPlan(ctx, db, "plan to adopt", func(s *Set, q querier) (*Plan, error) {
		a, err := s.engine.adoption(ctx, q, s, new(claim), 0)
		if err != nil {
			return nil, err
		}
		return a.plan, nil
	})
}

// adoption is what is left to do for a table. The plan has all steps; run executes the first one.
type adoption struct {
	plan *Plan
	run  func(ctx context.Context, q querier) error
}

func (s *Set) newAdoption(table name, now time.Time) *adoption {
	return &adoption{plan: &Plan{Table: table.String(), Now: now.In(s.calendar.Zone)}}
}

// add adds a step. run executes it, if it is the first one.
func (a *adoption) add(step Step, run func(context.Context, querier) error) {
	if len(a.plan.Steps) == 0 {
		a.run = run
	}
	a.plan.Steps = append(a.plan.Steps, step)
}

// refuse adds a problem for each row of a query.
func (a *adoption) refuse(ctx context.Context, q querier, query string, args ...any) error {
	texts, err := list(ctx, q, query, args...)
	for _, text := range texts {
		a.plan.problem("", "%s", text)
	}
	return err
}

// refuseAhead adds a problem if there is a row with a key from end on.
func (a *adoption) refuseAhead(ctx context.Context, q querier, s *Set, table name, end int64, why string) error {
	if len(a.plan.Problems) > 0 { // there may be no key, or no right to read it
		return nil
	}
	key, found, err := s.keyOf(ctx, q, part{name: table}, noLow, noHigh, greatest)
	if found && key >= end {
		a.plan.problem("", "it has a row with the key %d, of the time %s: that is after %s, %s",
			key, s.calendar.Text(s.calendar.At(key)), why, s.calendar.Text(s.calendar.At(end)))
	}
	return err
}

// refusal returns the problems as an error.
func (a *adoption) refusal() error {
	if len(a.plan.Problems) == 0 {
		return nil
	}
	return fmt.Errorf("%w: it can't be adopted: %w", ErrTable, errors.Join(a.plan.Problems...))
}

// adoptStep executes the next step, and returns nil if there is none.
func (s *Set) adoptStep(ctx context.Context, db *sql.DB, c *claim) (done *Step, err error) {
	attempt := 0
	err = s.try(ctx, db, true, func(s *Set, q querier) error {
		done = nil
		a, err := s.engine.adoption(ctx, q, s, c, attempt)
		attempt++
		if err != nil {
			return err
		}
		if err := a.refusal(); err != nil || len(a.plan.Steps) == 0 {
			return err
		}

		done = &a.plan.Steps[0]
		if err := a.run(ctx, q); err != nil {
			return fmt.Errorf("%s %s: %w", done.Action, done.Partition, err)
		}

		return nil
	})
	return done, err
}

// createsFor adds the missing partitions of a state to the plan. now is at least the end of the legacy partition, so
// that others follow it.
func (a *adoption) createsFor(ctx context.Context, q querier, s *Set, st *state, now time.Time) error {
	p := s.newPlanner(st, now, s.probe(ctx, q, st))
	p.latest = period.Later(st.now, s.now())
	err := p.run(p.create, p.createDefault)
	for _, step := range p.plan.Steps {
		a.add(step, func(ctx context.Context, q querier) error { return s.engine.execute(ctx, q, s, st, step) })
	}
	a.plan.Problems = append(a.plan.Problems, p.plan.Problems...)
	return err
}

// adopted returns the adoption of a table that has partitions.
func (s *Set) adopted(ctx context.Context, q querier) (*adoption, error) {
	st, err := s.engine.inspect(ctx, q, s)
	if err != nil {
		return nil, err
	}

	now := s.now()
	if len(st.parts) > 0 && st.parts[0].hi != noHigh { // the legacy partition may end after the last one ahead
		now = period.Later(now, s.calendar.At(st.parts[0].hi))
	}

	a := s.newAdoption(st.table, st.now)
	err = a.createsFor(ctx, q, s, st, now)
	a.plan.Problems = nil // Maintain reports them
	return a, err
}

// legacyDrop says in a plan when Maintain drops the partition of the existing rows, which ends at hi.
func (s *Set) legacyDrop(hi int64) string {
	if s.retain == 0 {
		return ""
	}
	at := s.calendar.After(s.calendar.Containing(s.calendar.At(hi)), s.retain)
	return ": Maintain drops it as a whole, not before " + s.calendar.Text(at.From.Add(s.grace))
}

// legacyName ends a name that is too long with a checksum, so that two tables do not get the same one.
func (s *Set) legacyName() string {
	text, suffix := s.table.table, "_legacy"
	if len(text)+len(suffix) > s.engine.maxName() {
		suffix = fmt.Sprintf("_%08x_legacy", crc32.ChecksumIEEE([]byte(text)))
		text = strings.ToValidUTF8(text[:s.engine.maxName()-len(suffix)], "")
	}
	return text + suffix
}
