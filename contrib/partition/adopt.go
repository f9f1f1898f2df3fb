package partition

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/sqlflake/sqlflake/contrib/partition/internal/adopt"
	"github.com/sqlflake/sqlflake/contrib/partition/internal/engine"
	"github.com/sqlflake/sqlflake/contrib/partition/internal/mysql"
	"github.com/sqlflake/sqlflake/contrib/partition/internal/period"
)

// Adopt turns an ordinary table of PostgreSQL into a partitioned one with the same name and rows, and creates the
// partitions that [Set.Maintain] would create. It returns the steps that it took, even with an error. A partitioned
// table that fits the Set only gets missing partitions. Any number of processes may call it at once: one does the work,
// the others wait until it is done. If it was interrupted at any point, even by kill -9, the next call continues.
//
// The table becomes the first partition, table_legacy (a long name is cut, with a checksum), of a new table; no row is
// copied, and others read and write meanwhile, except for some ten milliseconds. The README of the package says what
// happens to table_legacy afterwards. The steps:
//
//  1. The CHECK constraint sqlflake_adopt limits the keys to those before the cut: the start of the first period at
//     least a day ahead, more for very large tables. VALIDATE reads all rows, without blocking. If the clock comes
//     within six hours of the cut, the constraint is dropped.
//  2. One transaction swaps the tables, in about six round trips. It waits for its locks for the lock timeout in total,
//     and is repeated for a minute, with the locks in different orders: one suits writers that lock a parent
//     before its children, one those that lock it after them. If both kinds overlap all the time, pause one. The error
//     says who holds the locks.
//  3. The partitions from the cut on are created, and foreign keys that refer to the table are validated, while others
//     read and write.
//
// A killed process leaves the constraint, which rejects rows from the cut on, at least 18 hours later: call Adopt again
// within six hours, or drop it. After an error Adopt removes it, trying for up to ten seconds or ten lock timeouts,
// even after ctx has ended, unless another call has validated it. If it stays, the error has the statement that removes
// it.
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
// MySQL and MariaDB its error has the statement that partitions a table, with the clause of [Set.TableOptions].
//
// It also returns [ErrLocked]; snowflake.ErrTimeExhausted if the layout ends before the last partition; and errors of
// ctx and of the database.
func (s *Set) Adopt(ctx context.Context, db *sql.DB) (steps []Step, err error) {
	if err := s.checkAdoptable(); err != nil {
		return nil, err
	}

	var c adopt.Claim
	for {
		step, err := s.adoptStep(ctx, db, &c)
		if err != nil {
			err = errors.Join(withCause(ctx, err), s.abandonAdoption(ctx, db, &c))
			return steps, fmt.Errorf("partition: adopt %v: %w", s.table.Name, err)
		}

		if step == nil {
			return steps, nil
		}

		steps = append(steps, *step)
		s.logger().InfoContext(ctx, "partition: adopt",
			"action", step.Action, "partition", step.Partition, "why", step.Why)
	}
}

// PlanAdopt returns what [Set.Adopt] would do, with the statements in Step.SQL, and changes nothing. Adopt refuses a
// table whose plan has Problems. PlanAdopt returns the other errors of Adopt, and ErrTable for a table that does not
// exist, is no ordinary table, has no bigint key, or is partitioned in another way.
func (s *Set) PlanAdopt(ctx context.Context, db *sql.DB) (*Plan, error) {
	if err := s.checkAdoptable(); err != nil {
		return nil, err
	}

	return s.readPlan(ctx, db, "plan to adopt", func(s *Set, q engine.Querier) (*Plan, error) {
		a, err := s.adoption(ctx, q, new(adopt.Claim), 0)
		return a.plan, err
	})
}

// adoptStep executes the next step, and returns nil if there is none.
func (s *Set) adoptStep(ctx context.Context, db *sql.DB, c *adopt.Claim) (done *Step, err error) {
	attempt := 0
	err = s.try(ctx, db, true, func(s *Set, q engine.Querier) error {
		done = nil
		a, err := s.adoption(ctx, q, c, attempt)
		attempt++
		if err != nil {
			return err
		}
		if err := adopt.Refusal(a.plan.Problems); err != nil || len(a.plan.Steps) == 0 {
			return err
		}

		done = &a.plan.Steps[0]
		if err := a.runs[0](ctx, q); err != nil {
			return fmt.Errorf("%s %s: %w", done.Action, done.Partition, err)
		}

		return nil
	})
	return done, err
}

// abandonTimeout is the least time for which abandonAdoption tries to remove the constraint. The server needs some of
// it to notice that the statement of a context that has ended is to be cancelled.
const abandonTimeout = 10 * time.Second

// abandonAdoption drops the constraint after an error, since rows are rejected once the clock passes the cut. If it
// stays, the error says so and why.
func (s *Set) abandonAdoption(ctx context.Context, db *sql.DB, c *adopt.Claim) error {
	timeout := max(abandonTimeout, 10*s.table.LockTimeout)
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), timeout)
	defer cancel()

	var reason error // of the last attempt
	_ = s.patiently(ctx, &waiter{until: time.Now().Add(timeout)}, func() error {
		reason = s.connect(ctx, db, c.Touched(), func(s *Set, q engine.Querier) error {
			return c.Release(ctx, q, s.adoptee())
		})
		return reason
	})
	return c.Stays(reason)
}

// adoptee returns what package adopt needs of the Set.
func (s *Set) adoptee() *adopt.Table {
	return &adopt.Table{
		Table: &s.table, Calendar: s.calendar, Now: s.now(), Retain: s.retain, Grace: s.grace,
	}
}

// adoption is what is left to do for a table: the steps of the plan, and what executes each. Only the first one can be
// executed.
type adoption struct {
	plan *Plan
	runs []func(ctx context.Context, q engine.Querier) error
}

// adoption returns what is left to do: the steps to a partitioned table, its missing partitions, and what comes after
// them. After an error it is empty.
func (s *Set) adoption(ctx context.Context, q engine.Querier, c *adopt.Claim, attempt int) (*adoption, error) {
	left, err := adopt.Read(ctx, q, s.adoptee(), c, attempt)
	if err != nil {
		return new(adoption), err
	}

	plan := &Plan{Table: left.Table.String(), Now: left.Now.In(s.calendar.Zone), Problems: left.Problems}
	a := &adoption{plan: plan}
	for _, step := range left.Steps {
		a.add(s.stepOf(step.Change, step.Why, step.SQL), step.Run)
	}

	st := left.After
	if !left.Ordinary {
		if st, err = s.engine.Inspect(ctx, q, &s.table); err != nil {
			return new(adoption), err
		}
	}

	creates, err := s.planCreates(ctx, q, st)
	if err != nil {
		return new(adoption), err
	}

	for _, step := range creates.Steps {
		a.add(step, func(ctx context.Context, q engine.Querier) error {
			return s.engine.Execute(ctx, q, &s.table, st, step.change)
		})
	}
	if left.Ordinary { // else Maintain reports them
		plan.Problems = append(plan.Problems, creates.Problems...)
	}

	for _, step := range left.Later {
		a.add(s.stepOf(step.Change, step.Why, step.SQL), step.Run)
	}

	return a, nil
}

// checkAdoptable returns an error on MySQL and MariaDB, with the statement that partitions the table there.
func (s *Set) checkAdoptable() error {
	if !s.engine.Adjoins() {
		return nil
	}

	options, err := s.TableOptions()
	if err != nil {
		return err
	}
	return fmt.Errorf("%w: Adopt is for PostgreSQL. On MySQL and MariaDB one statement copies the table into "+
		"partitions, and blocks writers meanwhile: ALTER TABLE %s %s",
		ErrTable, mysql.QuoteTable(s.table.Name), options)
}

// add adds a step, which run executes.
func (a *adoption) add(step Step, run func(context.Context, engine.Querier) error) {
	a.plan.Steps = append(a.plan.Steps, step)
	a.runs = append(a.runs, run)
}

// planCreates plans the missing partitions. The first partition holds the rows from before the adoption, and may end
// after the last period ahead. The planner then takes its end for the local time, so partitions follow it.
func (s *Set) planCreates(ctx context.Context, q engine.Querier, st *engine.State) (*Plan, error) {
	now := s.now()
	local := now
	if len(st.Parts) > 0 && st.Parts[0].Hi != engine.NoHigh {
		local = period.Later(now, s.calendar.At(st.Parts[0].Hi))
	}

	p := s.newPlanner(st, local, s.probe(ctx, q, st))
	p.latest = period.Later(st.Now, now) // the real time, for the reasons of the steps
	err := p.run(p.create)
	return p.plan, err
}
