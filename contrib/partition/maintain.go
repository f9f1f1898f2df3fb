package partition

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/sqlflake/sqlflake/contrib/partition/internal/engine"
)

// Plan returns the partitions and what Maintain would do. It only reads: the catalog, and one entry of an index for
// each partition whose rows decide something.
func (s *Set) Plan(ctx context.Context, db *sql.DB) (*Plan, error) {
	return s.readPlan(ctx, db, "plan", func(s *Set, q engine.Querier) (*Plan, error) {
		p, err := s.survey(ctx, q, nil)
		return p.plan, err
	})
}

// readPlan returns the plan that read returns. It only reads.
func (s *Set) readPlan(
	ctx context.Context, db *sql.DB, what string, read func(*Set, engine.Querier) (*Plan, error),
) (*Plan, error) {
	var plan *Plan
	err := s.try(ctx, db, false, func(s *Set, q engine.Querier) (err error) {
		plan, err = read(s, q)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("partition: %s %v: %w", what, s.table.Name, err)
	}
	return plan, nil
}

// survey reads the table and makes the plan, up to a step that is enough. It returns a planner even with an error.
func (s *Set) survey(ctx context.Context, q engine.Querier, enough func(Step) bool) (*planner, error) {
	st, err := s.engine.Inspect(ctx, q, &s.table)
	if err != nil {
		return new(planner), err
	}

	p := s.newPlanner(st, s.now(), s.probe(ctx, q, st))
	if enough != nil {
		p.enough = enough
	}
	return p, p.make()
}

// make makes the plan.
func (p *planner) make() error {
	p.plan.Covered = p.covered()
	if p.reportContradiction() {
		return p.err
	}

	// What fails in the later parts, such as an archive callback, prevents no new partition. All partitions are
	// detached before the first is archived, which may take hours: a Set without WithArchive leaves them alone as long
	// as one waits.
	return p.run(p.create, p.retire, p.finishDetached)
}

// Maintain creates missing partitions, and drops, detaches or archives those beyond the retention. It returns the steps
// that it did itself, not the steps of another process. One process makes a step at a time, and each reads the catalog
// anew before each step.
//
// If a step fails, Maintain does the others and returns the errors, joined: each problem of the plan, which match
// ErrBlocked, ErrLocked for a step that did not get its locks, and errors of the database and of the callback of
// WithArchive. After ErrLocked for a lock of the table, it leaves other steps that need this lock to the next call. It
// returns ErrTable, and errors that prevent a plan, before any step.
//
// # Locks
//
// If the process stops within a step, the server ends the transaction or connection, and with it the locks, after five
// seconds.
//
// On PostgreSQL a table like the parent is created and attached. That takes a SHARE UPDATE EXCLUSIVE lock on the table,
// which waits for neither readers nor writers, ACCESS EXCLUSIVE on a default partition, which is then read, and SHARE
// ROW EXCLUSIVE on tables that its foreign keys refer to. The partition gets defaults, checks, generated columns,
// indexes, foreign keys, triggers, owner, tablespace and replica identity, unless that is an index: set that on each
// partition. It gets no privileges, and default privileges are revoked: they would evade the table's row level
// security.
//
// DETACH and DROP in one transaction take an ACCESS EXCLUSIVE lock on the table for a few milliseconds, and on each
// table that its foreign keys refer to: a reader of such a table delays the drop.
// A step waits for its locks in turn, each for at most [WithLockTimeout], and keeps those it has. Attempts use
// different orders.
//
// On MySQL and MariaDB each step takes the table's metadata lock, so a transaction open for hours delays every step.
func (s *Set) Maintain(ctx context.Context, db *sql.DB) ([]Step, error) {
	m, err := s.maintain(ctx, db)
	return m.done, err
}

func (s *Set) maintain(ctx context.Context, db *sql.DB) (*maintenance, error) {
	m := &maintenance{Set: s, db: db, failed: make(map[string]bool), locked: make(map[bool]bool)}
	err := m.run(ctx)
	if err != nil {
		err = fmt.Errorf("partition: maintain %v: %w", s.table.Name, err)
	}
	return m, err
}

// maintenance is one call of Maintain.
type maintenance struct {
	*Set
	db       *sql.DB
	wait     waiter
	done     []Step
	failed   map[string]bool // by Step.id; or left to another process
	locked   map[bool]bool   // a lock of the table was refused; by whether the step creates a partition
	yields   bool            // a lock was refused, and no pause has followed yet
	tries    int             // of the current step
	errs     []error         // of steps
	problems bool            // the plan has problems, and nothing failed
}

// open reports whether a step is to be done.
func (m *maintenance) open(step Step) bool {
	if m.failed[step.id()] {
		return false
	}
	return step.change.Detached || !m.locked[step.Action == engine.Create]
}

func (m *maintenance) run(ctx context.Context) error {
	for {
		p, step, err := m.nextPatiently(ctx)
		isLast := step == nil || ctx.Err() != nil
		switch {
		case err != nil && isLast:
			return errors.Join(append(m.errs, withCause(ctx, err))...)

		case err != nil:
			m.recordFailure(*step, err)

		case step != nil:
			m.done = append(m.done, *step)
			m.logger().InfoContext(ctx, "partition maintained",
				"action", step.Action, "partition", step.Partition, "why", step.Why)

		default:
			m.problems = len(m.errs) == 0
			return errors.Join(append(m.errs, p.plan.Problems...)...)
		}
	}
}

// nextPatiently does the next step: see next. It repeats one that is refused a lock.
func (m *maintenance) nextPatiently(ctx context.Context) (p *planner, step *Step, err error) {
	m.tries = 0
	err = m.patiently(ctx, &m.wait, func() (err error) {
		p, step, err = m.next(ctx)
		return err
	})
	return p, step, err
}

// recordFailure records the error of a step. This call then skips the step. After a lock that was refused it also skips
// others that need the same lock, and lets others proceed before the next step.
func (m *maintenance) recordFailure(step Step, err error) {
	m.failed[step.id()] = true
	m.errs = append(m.errs, fmt.Errorf("%s %s: %w", step.Action, step.Partition, err))
	if !errors.Is(err, ErrLocked) {
		return
	}

	if ownLock := errors.As(err, new(engine.OwnLock)); !ownLock && step.Action != engine.Archive {
		m.locked[step.Action == engine.Create] = true
	}

	m.yields = true
}

// next does the first step that has not failed. It returns nil if there is none, and the step even if it fails.
func (m *maintenance) next(ctx context.Context) (p *planner, step *Step, err error) {
	for {
		step = nil
		err = m.connect(ctx, m.db, true, func(s *Set, q engine.Querier) (err error) {
			if p, err = s.survey(ctx, q, m.open); err != nil || p.chosen == nil {
				return err
			}
			if m.yields {
				m.yields = false
				return errYield
			}

			step = p.chosen
			step.change.Attempt = m.tries
			m.tries++
			return s.engine.Execute(ctx, q, &s.table, p.State, step.change)
		})
		if err != nil || step == nil {
			return p, step, err
		}
		if step.Action != engine.Archive {
			return p, step, nil
		}

		err = m.engine.Archive(ctx, m.db, &p.table, p.State, step.change.Part)
		if !errors.Is(err, engine.ErrBusy) {
			return p, step, err
		}

		m.failed[step.id()] = true // another process archives, which may take hours
		m.logger().InfoContext(ctx, "partition left to another process",
			"action", step.Action, "partition", step.Partition)
	}
}

// Run calls Maintain at once and then at this interval, up to a tenth earlier at random, until ctx ends, and returns
// the error of ctx. It logs the steps, and errors at level ERROR: an alert on them covers everything that needs
// attention. Unless all errors are problems of the plan, which do not pass by themselves, it calls Maintain again
// within a minute.
//
// It returns ErrOption for an interval that is not positive, or longer than the time of the partitions ahead.
func (s *Set) Run(ctx context.Context, db *sql.DB, every time.Duration) error {
	now := time.Now()
	end := s.calendar.After(s.calendar.Containing(now), s.ahead)
	if longest := end.From.Sub(now); every <= 0 || every > longest {
		return fmt.Errorf("%w: Run every %v, want more than 0 and at most %v: there are %d partitions ahead",
			ErrOption, every, longest.Truncate(time.Second), s.ahead)
	}

	for ctx.Err() == nil {
		wait := every
		if m, err := s.maintain(ctx, db); err != nil && ctx.Err() == nil {
			s.logger().ErrorContext(ctx, "partitions not maintained", "error", err)
			if !m.problems {
				wait = min(every, time.Minute)
			}
		}

		_ = pause(ctx, wait-wait/10, wait) // the loop's condition has the error
	}

	return ctx.Err()
}

// Pauses of calls that another process is ahead of.
const (
	minBusyPause = 10 * time.Millisecond
	maxBusyPause = 50 * time.Millisecond
	busyWarning  = time.Minute // between two warnings
)

// try calls f on a connection, patiently.
func (s *Set) try(ctx context.Context, db *sql.DB, change bool, f func(*Set, engine.Querier) error) error {
	return s.patiently(ctx, new(waiter), func() error { return s.connect(ctx, db, change, f) })
}

// errYield makes patiently pause before a step that follows a refused lock, so that other statements proceed.
var errYield = errors.New("partition: a pause is due")

// waiter counts how long a call is refused locks.
type waiter struct{ until time.Time }

// patiently calls f until it succeeds. After ErrBusy it waits for the other process until ctx ends, and logs a warning
// each minute. If f was refused a lock, it repeats f until the patience is used up, and then returns ErrLocked. The
// patience begins anew with each success.
func (s *Set) patiently(ctx context.Context, w *waiter, f func() error) error {
	limit := s.engine.Limit(s.table.LockTimeout)
	warned := time.Now()
	for {
		err := f()
		least, most := minBusyPause, maxBusyPause
		switch {
		case err == nil:
			w.until = time.Time{}
			return nil

		case errors.Is(err, engine.ErrBusy), errors.Is(err, engine.ErrChanging):
			if now := time.Now(); now.Sub(warned) >= busyWarning {
				warned = now
				s.logger().WarnContext(ctx, "partition maintenance waits for another process", "error", err)
			}

		case errors.Is(err, errYield):
			least, most = 2*limit, 6*limit

		case s.engine.Refused(err):
			now := time.Now()
			if w.until.IsZero() {
				w.until = now.Add(s.patience)
			}
			if !now.Before(w.until) {
				return fmt.Errorf("%w: for %v, with waits of at most %v: %w", ErrLocked, s.patience, limit, err)
			}

			least, most = 2*limit, 6*limit

		default:
			return err
		}

		if err := pause(ctx, least, most); err != nil {
			return err
		}
	}
}

// withCause adds the error of a context that has ended: drivers return the state of their connection instead.
func withCause(ctx context.Context, err error) error {
	if ctx.Err() != nil && !errors.Is(err, ctx.Err()) {
		return fmt.Errorf("%w: %w", ctx.Err(), err)
	}
	return err
}

func pause(ctx context.Context, least, most time.Duration) error {
	timer := time.NewTimer(least + rand.N(most-least+1))
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
