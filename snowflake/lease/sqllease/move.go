package sqllease

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"time"

	"github.com/sqlflake/sqlflake/internal/sqltable"
	"github.com/sqlflake/sqlflake/snowflake"
	"github.com/sqlflake/sqlflake/snowflake/lease"
	"github.com/sqlflake/sqlflake/snowflake/lease/leasestore"
	"github.com/sqlflake/sqlflake/snowflake/sqldb"
)

const (
	moveAttempts = 10
	movePause    = 50 * time.Millisecond // see sqltable.Repeat

	// moveReserve is how much later than two periods a start may be: as far as horizons are ahead of the clock.
	moveReserve = 2 * lease.MaxWindow
)

// HeldError says which worker keeps a namespace from moving.
type HeldError struct {
	leasestore.Entry // the worker, until when it is held, and by whom; Reserved for SQL functions
}

func (e *HeldError) Error() string {
	if e.Reserved() {
		return fmt.Sprintf("lease: namespace %q can't move: worker %d is %s: drop them first",
			e.Namespace, e.Worker, e.Holder.Host)
	}
	return fmt.Sprintf("lease: namespace %q can't move: worker %d is held by %q, pid %d, until %s: "+
		"end it, or wait, or revoke the worker",
		e.Namespace, e.Worker, e.Holder.Host, e.Holder.PID, e.Expires.UTC().Format(time.RFC3339))
}

// Move gives a namespace another layout, and returns from when on its IDs have it. All of these are greater than all
// IDs before, see [snowflake.Layout.Follows]. If the namespace has the layout, Move changes nothing and returns the
// same time, so a call whose answer was lost can be repeated.
//
// First end all processes with the old layout, and let nothing start them again (in Kubernetes the strategy Recreate).
// Then call Move. Then start those with the new layout. No ID is issued from the end of the last process until the
// returned time, which is at most two periods of the layouts ahead, 20 minutes if these are short; for most layouts it
// is the greatest horizon of the processes that have ended. lease.Open waits for it, and its context bounds the wait.
//
// It returns a *[HeldError] if a worker is held: a killed process frees its worker after two windows, or with
// [Store.Revoke]. It also does so if one is reserved for SQL functions, which would continue with the layout before.
// Workers that [lease.Lease.Reserve] has reserved stay so, but are of no use: first end what makes IDs with them.
//
// A process with the old layout that starts afterwards gets [lease.ErrLayout]. One that was missed, since its lease had
// expired, finds at its next extension that it has lost the worker, and issues nothing above its horizon, which is
// below the start. A replica that is promoted right after a move may not know it. So until each replica shows the new
// layout, start nothing with the old one. After a failover in that time call Move again first.
//
// Other errors are ErrLayout, without a change, if the layout can't follow, or only later; [lease.ErrOption] if no
// process has used the namespace, if its share has no worker of the layout, and for a database without BeginTx;
// lease.ErrClockSkew if the server's clock differs from this one's by more than 20 minutes; a *[lease.VersionError];
// lease.ErrDamaged; and the database's: then call it again.
func (s *Store) Move(ctx context.Context, namespace string, to snowflake.Layout) (start time.Time, err error) {
	r := leasestore.Request{Namespace: namespace, Layout: to.String(), Token: noToken, TTL: time.Second}
	if err := r.Validate(); err != nil {
		return time.Time{}, err
	}
	if r.Layout == "" {
		return time.Time{}, fmt.Errorf("%w: Move: zero Layout", lease.ErrOption)
	}
	begin, ok := s.db.(beginner)
	if !ok {
		return time.Time{}, fmt.Errorf("%w: Move needs a database with BeginTx, such as a *sql.DB", lease.ErrOption)
	}

	r.TTL = 0 // no lease: the namespace is not added
	err = sqltable.Repeat(ctx, moveAttempts, movePause, func() (done bool, err error) {
		start, err = s.moveOnce(ctx, begin, r, to)
		return err == nil || !isRepeatable(err), err
	})
	return start, err
}

type beginner interface {
	BeginTx(ctx context.Context, opts *sql.TxOptions) (*sql.Tx, error)
}

// errMoved says that another caller has changed the namespace since it was read.
var errMoved = errors.New("lease: the namespace has changed meanwhile")

// lockText is what the MySQL and SQLite drivers say of a deadlock and of a lock timeout. They export no interface for
// it.
var lockText = regexp.MustCompile(`\bError (1205|1213)\b|database is locked|SQLITE_BUSY`)

// lockStates are a serialization failure, a deadlock and a lock that was not available.
var lockStates = []string{"40001", "40P01", "55P03"}

// isRepeatable reports whether a transaction that has failed, and has changed nothing, can succeed.
func isRepeatable(err error) bool {
	isLocked := slices.Contains(lockStates, sqltable.State(err)) || lockText.MatchString(err.Error())
	return isLocked || errors.Is(err, errMoved)
}

// moveOnce records the server, and then moves the namespace in one transaction.
func (s *Store) moveOnce(
	ctx context.Context, begin beginner, r leasestore.Request, to snowflake.Layout,
) (time.Time, error) {
	shot, from, err := s.readForMove(ctx, r)
	if err != nil {
		return time.Time{}, err
	}
	if n := shot.namespace; from == to {
		return to.Start(n.start), nil
	}

	options := &sql.TxOptions{Isolation: sql.LevelReadCommitted} // an older snapshot would miss a lease that was added
	if s.dialect == sqlite {
		options = nil
	}
	tx, err := begin.BeginTx(ctx, options)
	if err != nil {
		return time.Time{}, s.failed("move", err)
	}
	defer func() { _ = tx.Rollback() }() // no effect after a commit

	start, err := s.moveIn(ctx, tx, shot, r, from, to)
	if err != nil {
		return time.Time{}, err
	}
	if err := tx.Commit(); err != nil {
		return time.Time{}, s.failed("move", err)
	}
	return to.Start(start), nil
}

// readForMove reads the namespace and its layout, after it has recorded the server.
func (s *Store) readForMove(ctx context.Context, r leasestore.Request) (snapshot, snowflake.Layout, error) {
	var from snowflake.Layout
	shot, err := s.open(ctx, r)
	if isOther := shot.namespace != nil && !shot.namespace.sameServer; err == nil && isOther {
		shot, err = s.recordAndRead(ctx, shot, r)
	}
	if err != nil {
		return shot, from, s.failed("move", err)
	}

	n := shot.namespace
	if n == nil {
		return shot, from, fmt.Errorf("%w: nobody has used the namespace %q", lease.ErrOption, r.Namespace)
	}
	if err := n.check(r.Namespace); err != nil {
		return shot, from, err
	}
	if from, err = snowflake.ParseLayout(n.layout); err != nil {
		return shot, from, fmt.Errorf("%w: namespace %q has %q: %w", lease.ErrLayout, r.Namespace, n.layout, err)
	}
	if skew := time.Until(shot.now); skew.Abs() > moveReserve { // the start would be there
		return shot, from, fmt.Errorf("%w by %v, so namespace %q can't move now",
			lease.ErrClockSkew, skew.Round(time.Second), r.Namespace)
	}
	return shot, from, nil
}

// moveIn moves the namespace in a transaction, and returns the start in ticks of the layout.
func (s *Store) moveIn(
	ctx context.Context, tx sqldb.DB, shot snapshot, r leasestore.Request, from, to snowflake.Layout,
) (int64, error) {
	values := named{"namespace": r.Namespace, "generation": shot.namespace.generation, "layout": from.String()}
	locked, err := shot.change(ctx, tx, shot.beginMove, values)
	switch {
	case err != nil:
		return 0, s.failed("move", err)
	case locked == 0:
		return 0, errMoved
	}
	if _, err := shot.change(ctx, tx, shot.endOwners, values); err != nil {
		return 0, s.failed("move", err)
	}

	found, err := s.survey(ctx, tx, shot, r.Namespace)
	if err != nil {
		return 0, s.failed("move", err)
	}
	start, err := found.start(r.Namespace, from, to)
	if err != nil {
		return 0, err
	}

	values["start_tick"], values["layout"] = start, to.String()
	for _, text := range []string{shot.moveLeases, shot.moveNamespace} {
		if _, err := shot.change(ctx, tx, text, values); err != nil {
			return 0, s.failed("move", err)
		}
	}
	return start, nil
}

// survey is what a transaction that moves a namespace reads.
type survey struct {
	namespace
	now     time.Time
	horizon int64             // the greatest, in ticks of the layout before
	held    *leasestore.Entry // held or reserved for SQL functions, the one that expires last; nil: none is
}

func (s *Store) survey(ctx context.Context, tx sqldb.DB, shot snapshot, name string) (survey, error) {
	var found survey
	err := shot.query(ctx, tx, shot.readMove, named{"namespace": name}, func(scan scan) error {
		var worker, epoch, horizon, expires, pid sql.NullInt64
		var purpose, host, version sql.NullString
		var now int64
		err := scan(&found.namespace.start, &found.first, &found.serverSince, &found.reach, &now,
			&worker, &epoch, &horizon, &expires, &purpose, &host, &pid, &version)
		found.now = time.UnixMilli(now)
		found.horizon = max(found.horizon, horizon.Int64)

		isFunction := purpose.String == PurposeSQL
		isLeased := purpose.String == "" && expires.Int64 > now
		isLast := found.held == nil || time.UnixMilli(expires.Int64).After(found.held.Expires)
		if isHeld := isFunction || isLeased; isHeld && isLast {
			found.held = &leasestore.Entry{
				Claim:   leasestore.Claim{Namespace: name, Worker: worker.Int64, Epoch: epoch.Int64 - 1},
				Horizon: horizon.Int64, Expires: time.UnixMilli(expires.Int64), Held: true,
				Holder: leasestore.Holder{Host: host.String, PID: int(pid.Int64), Version: version.String},
			}
			if isFunction {
				found.held.Holder = reservedHolder(purpose.String, found.held.Holder)
			}
		}
		return err
	})
	return found, err
}

// start returns the first tick of the new layout.
func (found *survey) start(name string, from, to snowflake.Layout) (int64, error) {
	if found.held != nil {
		return 0, &HeldError{*found.held}
	}
	if found.first > to.MaxWorker() {
		return 0, fmt.Errorf("%w: namespace %q has no worker for %q, which has 0 to %d, in its share from %d",
			lease.ErrOption, name, to, to.MaxWorker(), found.first)
	}
	fail := func(err error) (int64, error) {
		return 0, fmt.Errorf("%w: namespace %q can't move from %q to %q: %w", lease.ErrLayout, name, from, to, err)
	}

	after := slices.MaxFunc([]time.Time{
		found.now, from.Start(found.horizon), from.Start(found.namespace.start), time.UnixMilli(found.floor()),
	}, time.Time.Compare)
	begins, err := to.Follows(from, after.Add(from.Tick()))
	if err != nil {
		return fail(err)
	}
	limit := 2*max(to.Period(), from.Period()) + moveReserve
	if ahead := begins.Sub(found.now); ahead > limit {
		return fail(fmt.Errorf("its IDs are above all before from %s on, more than %v ahead",
			begins.Format(time.RFC3339), limit))
	}

	id, err := to.Compose(snowflake.Parts{Time: begins})
	if err != nil {
		return fail(err)
	}
	return to.Field(id, snowflake.FieldTime) // begins is the start of a tick
}
