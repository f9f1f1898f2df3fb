package partition

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"
)

// Adopt turns an ordinary table into a partitioned one with the same name and rows, and creates the partitions that
// [Set.Maintain] would create. It returns the steps that it took, also with an error. A partitioned table that fits the
// Set only gets missing partitions. [Set.PlanAdopt] returns the steps and their statements without executing them.
//
// Any number of processes may call it at once: one does the work, the others wait until it is done. If it was
// interrupted at any point, also by kill -9, the next call goes on.
//
// # PostgreSQL
//
// The table is neither rewritten nor copied, and no index is built. It becomes the first partition, table_legacy, of a
// new table with its name:
//
//  1. A CHECK constraint named sqlflake_adopt limits the keys to those before the cut: the start of the first period
//     that lies at least a day ahead, more for very large tables. Afterwards VALIDATE CONSTRAINT reads all rows, while
//     others read and write.
//  2. One transaction swaps the tables. It waits for its locks for at most the lock timeout in total (WithLockTimeout),
//     and is repeated within the patience. Attempts take the locks of the table, and of those that foreign keys connect
//     it with, in different orders: one of them suits writers that all lock a parent before its children, or all after
//     them. If writers of both kinds overlap all the time, pause one kind. The error says who has the locks. With them
//     the swap takes some ten milliseconds, and about six round trips to the server. Statements of others wait that
//     long, and then use the new table, prepared statements too.
//  3. The partitions from the cut on are created, and foreign keys that refer to the table are validated, while others
//     read and write.
//
// The new table has the columns, defaults, constraints, indexes, extended statistics, triggers, foreign keys in both
// directions, owner, privileges, comments and settings of columns of the old one, under their names; indexes and
// statistics objects of table_legacy get the suffix _legacy. Storage parameters stay on table_legacy. Triggers see the
// name of the partition in TG_TABLE_NAME. The new table has no statistics: run ANALYZE on it.
//
// Rows with keys from the cut on are rejected between the first step and the swap. So Adopt removes the constraint if
// the clock comes closer to the cut than a quarter of the time, and if it returns an error, also that of ctx: for that it
// tries for up to ten seconds, or ten lock timeouts, after ctx has ended. It leaves a constraint that another call has
// validated. If the constraint stays, the error has the statement that removes it. A killed process leaves it too: call
// Adopt again within six hours, or drop the constraint.
//
// Some statements have another effect on a partitioned table:
//
//   - INSERT without a key fails if a trigger sets the key: PostgreSQL chooses the partition before row triggers. Adopt
//     does not detect that. Use a DEFAULT of the key, or set it in the application. Likewise a BEFORE trigger must not
//     change the key.
//   - INSERT ... RETURNING of a system column such as xmax, xmin or ctid fails, as in ON CONFLICT ... RETURNING (xmax = 0).
//   - COPY events TO fails: use COPY (SELECT * FROM events) TO.
//   - SELECT ... FROM ONLY events returns no rows.
//   - Statements prepared before the swap fail if they select the whole row as one value (SELECT e FROM events e).
//
// What can't be carried over is refused before anything is changed, by a problem that names it: views, rules,
// policies, functions and columns that depend on the table; publications and subscriptions; inheritance; identity
// columns, and a key with a sequence (see package gormplugin/adopt); unique indexes without the key, exclusion
// constraints, invalid indexes; constraints that are NOT VALID or NO INHERIT; foreign keys to the table itself, or from
// a partitioned one; unlogged tables; keys from the cut on.
//
// # The legacy partition
//
// The legacy partition has no lower bound. Maintain drops it like others when the retention has passed its end, unless
// it has rows from before the period that it ends with; WithStart says how old IDs may be. So set WithStart to the time
// of the oldest row to have it dropped. Until then, which the plan names, nothing of it is dropped: delete old rows in
// batches, or split it. If no foreign key refers to the table, make it the default partition on PostgreSQL, which
// reads its rows beside writers, and then locks the table for an instant; the cut is the bound of its partition:
//
//	ALTER TABLE events_legacy ADD CONSTRAINT cut CHECK (id IS NOT NULL AND id < 234567890123456789) NOT VALID;
//	ALTER TABLE events_legacy VALIDATE CONSTRAINT cut;
//	BEGIN;
//	ALTER TABLE events DETACH PARTITION events_legacy;
//	ALTER TABLE events ATTACH PARTITION events_legacy DEFAULT;
//	COMMIT;
//
// Then [Set.MoveDefault] moves the retained rows to partitions of their time; it locks the table for each batch. Detach
// and drop the default partition with the rest. On MySQL and MariaDB set WithStart before Adopt, which then makes the
// partitions from that time on, or split the partition with REORGANIZE PARTITION, which blocks writers.
//
// # MySQL and MariaDB
//
// One ALTER TABLE copies the table, and blocks writers meanwhile: the Step has the action rewrite, with the
// estimated rows and bytes. table_legacy is the partition before the current period, or before that of WithStart.
// Primary key and unique keys have to contain the key; foreign keys from or to the table, FULLTEXT and SPATIAL indexes,
// and an AUTO_INCREMENT key are refused.
//
// # Errors
//
// It returns [ErrTable] for a table that can't be adopted, also if there are problems, which are in the error;
// [ErrName] if table_legacy or a partition has no usable name; [ErrLocked]; snowflake.ErrTimeExhausted if the layout
// ends before the last partition; and errors of ctx and of the database.
func (s *Set) Adopt(ctx context.Context, db *sql.DB) ([]Step, error) {
	return s.adopt(ctx, db)
}

// PlanAdopt returns what [Set.Adopt] would do, with the statements in Step.SQL. It changes nothing. If the plan has
// Problems, Adopt refuses the table. It returns ErrTable for a table that does not exist, is no ordinary table, or has
// no bigint key, or that is partitioned in another way; and the other errors of Adopt.
func (s *Set) PlanAdopt(ctx context.Context, db *sql.DB) (*Plan, error) {
	var plan *Plan
	err := s.patiently(ctx, &waiter{}, func() error {
		return s.engine.look(ctx, db, s, func(q querier) error {
			a, err := s.adoption(ctx, q, 0)
			if err == nil {
				plan = a.plan
			}
			return err
		})
	})
	if err != nil {
		return nil, fmt.Errorf("partition: plan to adopt %v: %w", s.table, err)
	}
	return plan, nil
}

// adoptLead is the least time from the start of an adoption to the cut.
const adoptLead = 24 * time.Hour

// adoption is what is left to do for a table. The plan has all steps; run executes the first one.
type adoption struct {
	plan *Plan
	run  func(ctx context.Context, q querier) error

	// PostgreSQL
	adoptee   *adoptee // nil after the swap
	touches   bool     // the first step adds or validates the constraint
	validates bool     // the first step validates it
}

// add adds a step. run is for the case that it is the first one.
func (a *adoption) add(step Step, run func(context.Context, querier) error) {
	if len(a.plan.Steps) == 0 {
		a.run = run
	}
	a.plan.Steps = append(a.plan.Steps, step)
}

// refusal returns the problems as an error.
func (a *adoption) refusal() error {
	if len(a.plan.Problems) == 0 {
		return nil
	}
	return fmt.Errorf("%w: it can't be adopted: %w", ErrTable, errors.Join(a.plan.Problems...))
}

// adoption reads the table. Attempts count from 0: see relatedLocks.
func (s *Set) adoption(ctx context.Context, q querier, attempt int) (*adoption, error) {
	if _, ok := s.engine.(postgres); ok {
		return s.adoptionPostgres(ctx, q, attempt)
	}
	return s.adoptionMySQL(ctx, q)
}

func (s *Set) adopt(ctx context.Context, db *sql.DB) (steps []Step, err error) {
	var c claim
	for err == nil {
		var step *Step
		if step, err = s.adoptStep(ctx, db, &c); err == nil && step == nil {
			return steps, nil
		}
		if step != nil {
			steps = append(steps, *step)
			s.logger().InfoContext(ctx, "partition: adopt", "action", step.Action, "partition", step.Partition, "why", step.Why)
		}
	}
	if ctx.Err() != nil && !errors.Is(err, ctx.Err()) { // database/sql may return ErrTxDone for it
		err = fmt.Errorf("%w: %w", ctx.Err(), err)
	}
	if _, ok := s.engine.(postgres); ok {
		err = errors.Join(err, s.abandon(ctx, db, c))
	}
	return steps, fmt.Errorf("partition: adopt %v: %w", s.table, err)
}

// adoptStep executes the next step, and returns nil if there is none.
func (s *Set) adoptStep(ctx context.Context, db *sql.DB, c *claim) (done *Step, err error) {
	attempt := 0
	err = s.patiently(ctx, &waiter{}, func() error {
		return s.engine.alone(ctx, db, s, func(q querier) error {
			done = nil
			a, err := s.adoption(ctx, q, attempt)
			attempt++
			if err != nil {
				return err
			}
			c.see(a)
			if err := a.refusal(); err != nil || len(a.plan.Steps) == 0 {
				return err
			}
			done = &a.plan.Steps[0]
			c.touched = c.touched || a.touches
			if err := a.run(ctx, q); err != nil {
				return fmt.Errorf("%s %s: %w", done.Action, done.Partition, err)
			}
			c.validated = c.validated || a.validates // unless the commit fails
			return nil
		})
	})
	if err != nil {
		return nil, err
	}
	return done, nil
}

// createsFor adds the missing partitions of a state to the plan. now is at least the time up to which there are
// partitions already, so that others follow.
func (a *adoption) createsFor(ctx context.Context, q querier, s *Set, st *state, now time.Time) error {
	p := s.newPlanner(st, now, s.probe(ctx, q, st))
	p.latest = later(st.now, s.now())
	plan, err := p.missing()
	if err != nil {
		return err
	}
	for _, step := range plan.Steps {
		a.add(step, func(ctx context.Context, q querier) error { return s.engine.execute(ctx, q, s, st, step) })
	}
	a.plan.Problems = append(a.plan.Problems, plan.Problems...)
	return nil
}

// adopted returns the adoption of a table that has partitions.
func (s *Set) adopted(ctx context.Context, q querier) (*adoption, error) {
	st, err := s.engine.inspect(ctx, q, s)
	if err != nil {
		return nil, err
	}
	now := s.now()
	if len(st.parts) > 0 && st.parts[0].hi != noHigh { // the legacy partition may end after the last one ahead
		now = later(now, s.at(st.parts[0].hi))
	}
	a := &adoption{plan: &Plan{Table: st.table.String(), Now: st.now.In(s.zone)}}
	err = a.createsFor(ctx, q, s, st, now)
	a.plan.Problems = nil // those are Maintain's
	return a, err
}

// legacyDrop says in a plan when Maintain drops the partition for the rows that there are, which ends at the bound hi.
func (s *Set) legacyDrop(hi int64) string {
	if s.retain == 0 {
		return ""
	}
	at := s.period(s.at(hi))
	for range s.retain {
		at = s.next(at)
	}
	return ": Maintain drops it as a whole, not before " + s.text(at.from.Add(s.grace))
}

// legacyName returns the name of the partition for the rows that there are.
func (s *Set) legacyName() (string, error) {
	if s.legacy != "" {
		return s.legacy, s.checkNew(s.legacy)
	}
	text := s.table.table + "_legacy"
	err := s.checkNew(text)
	if err != nil {
		err = fmt.Errorf("%w: set WithLegacy", err)
	}
	return text, err
}
