package lease

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"time"

	"github.com/sqlflake/sqlflake/snowflake/lease/leasestore"
)

// The protocol. The model in model/lease.pml uses the same names. One rule separates the IDs of two owners of a worker:
//
//	An ID may be issued only if its tick lies below a horizon that the store has committed before under this owner's
//	epoch, and not below the horizon that the acquisition of the epoch has read. Only an owner that issues nothing
//	more lowers the horizon: to a tick above all that it has issued, and not below where it started. A takeover raises
//	the epoch and starts at the horizon of the row.
//
// Extensions and releases under the epoch e change the row only until it has the epoch e+1, and the acquisition of e+1
// reads the horizon after that. What it reads is above each tick issued under e. Without a release it is at or above
// all horizons committed under e. With a release, the owner froze its generator before the call: what it has issued
// lies below the tick it sent, which never changes, and a late extension can only raise the horizon. It is also at or
// above what the acquisition of e has read, thus above each tick issued under the epochs before.
//
// A second rule finds copies of a process, as of a cloned virtual machine, which are the same owner to all of this:
//
//	Each extension hands the row on to a new token, which is drawn when the call is made. One whose outcome is unknown
//	is repeated as it was, until the store has answered. An owner that has lost the worker issues nothing more, not
//	even below its horizon.
//
// So only one copy gets an extension that was not requested when the copy was made, unless the store forgets it in a
// failover. Two copies, and the next owner if one of them gives the worker back, can issue an ID twice only if its tick
// lies below the horizon that the owner had, or had requested, when the copy was made.
//
// A store with another identity, such as a replica that was promoted, may have forgotten the last commits. The row can
// then have an epoch and a horizon that were passed before. A third rule keeps owners apart that the store has
// forgotten:
//
//	The first call on a store with a new identity commits this identity and the time, before any acquisition or
//	extension is committed there. Owners that acquire after it start above a floor: that time, and the greatest reach
//	of an owner beyond the store's clock. Before the floor no worker that has a row changes hands there. An owner from
//	before keeps its worker only if its lease can't have expired when the old store committed for the last time.
//
// What the old store committed, and its floor, lies below the new floor as long as the clocks of its owners were ahead
// of the new store's by at most the skew that a reach has. A generator stays ahead of a clock that was set back, so its
// owner asks for no horizon beyond a window from what the wall clock or the store's shows, and uses none: see agreed.
// It is enough that no clock has shown a time which is further ahead of the new store's than the skew. So new owners
// are above all that old ones may issue. An old owner that keeps its worker has it to itself: no takeover can have come
// before the expiry, and a later one is an acquisition that reads its horizon. The expiry in its row was written by the
// clock of another server. There are two ways to know that it had not expired:
//
//   - The expiry lies more than the skew after the time that the new store has committed with its identity.
//   - The owner's last confirmed call began less than a TTL before the new store answered it, less the skew: both
//     clocks of the owner may have stood still for that long. This compares no clocks: all commits of the old store
//     came before that answer, and the lease lasted a TTL from that call on. It also holds after several failovers, if
//     each replica has followed the server before it: a store in between gave out no worker that has a row before its
//     floor, and owners count on no more time than a floor is ahead: see remaining.
//
// A floor must be above the horizons of owners that the replica has never heard of, so the row of the namespace has the
// greatest reach. A greater one counts for extensions only when every replica that may be promoted must have it. Until
// then the lease uses a shorter window.
//
// An SQL store can give a namespace another layout, while no lease is held. Each row gets another epoch, so that no
// owner can extend under the former layout, and a horizon above all IDs of that layout: see sqllease.Store.Move.
//
// A later version that needs other rules in a namespace marks it, and the store then refuses the calls of this one. To
// the rules here, such a call did not reach the store, or was not answered: owners issue what is left below their
// horizon.

// maxBackoff bounds the wait before a retry: long windows are for outages, and a store that is back is used soon.
const maxBackoff = DefaultWindow / 4

// step does what is due: it acquires a worker or extends the one that is held, and returns how long to wait before the
// next step. An error is final.
func (l *Lease) step(ctx context.Context) (time.Duration, error) {
	if !l.state.held {
		return l.acquire(ctx)
	}
	return l.extend(ctx)
}

// acquire takes a worker, commits a first horizon, and only then lets the generator use it.
func (l *Lease) acquire(ctx context.Context) (time.Duration, error) {
	tick, err := l.lessee.Tick()
	if err != nil {
		if l.hadWorker() { // the clock may be corrected
			return l.failed(ctx, err)
		}
		return 0, err
	}

	// A claim without a committed horizon stays: the row may already have its next token, by which Acquire can't find
	// it.
	if l.state.claim.Epoch == 0 {
		wait, err := l.request(ctx, tick)
		if err != nil || l.state.claim.Epoch == 0 {
			return wait, err
		}
	}

	// The new horizon depends on the clock and not on the old horizon, which would move it a window further with each
	// owner. Until the clock has come near the old horizon nothing can be issued, and extensions do no harm.
	wait, err := l.commit(ctx, tick)
	if err != nil {
		if errors.Is(err, ErrLost) { // the call took longer than the TTL, or a copy of this process was faster
			l.state.claim = leasestore.Claim{}
		}
		return l.failed(ctx, err)
	}

	l.state.held, l.state.noWorker = true, 0
	l.record(nil) // before waiting calls return: they may read it
	if err := l.lessee.Move(l.state.claim.Worker, l.state.from, l.state.horizon); err != nil {
		l.state.held = false
		return 0, err
	}

	l.reportKind(Acquired, l.warnEnding(l.state.warning))
	return wait, nil
}

// request asks the store for a worker and starts a claim. Without a claim it returns how long to wait before the next
// step.
func (l *Lease) request(ctx context.Context, tick int64) (time.Duration, error) {
	gap := l.clockGap(tick)
	if l.state.token == "" {
		l.state.token, l.state.confirmedAt = newToken(), l.moment()
	}

	grant, err := l.callAcquire(ctx, tick)
	if err != nil {
		return l.refused(ctx, err)
	}

	floor := l.tickAt(grant.Floor) + 1
	err = l.checkClocks(grant, floor, tick, gap)
	if err != nil && l.hadWorker() {
		// The token stays, and the worker with it: the next call returns what the floor is by then.
		l.state.mayHold = true // Close has a worker to give back
		return l.failed(ctx, err)
	}

	l.state.grant(grant, max(grant.Horizon, floor)) // even if the clocks differ: Open gives the worker back
	return 0, err
}

// extend commits a higher horizon and then lets the generator go up to it. If the outcome is unknown the old horizon
// stays in force.
func (l *Lease) extend(ctx context.Context) (time.Duration, error) {
	var wait time.Duration
	tick, err := l.lessee.Tick()
	if err == nil {
		wait, err = l.commit(ctx, tick)
	}

	switch {
	case errors.Is(err, ErrLost):
		return l.lost(err)
	case err != nil:
		return l.failed(ctx, err)
	}

	l.record(nil) // before waiting calls return: they may read it
	l.lessee.Extend(l.state.horizon)
	l.reportKind(Extended, nil)

	drift, stopped := l.Generator().Stats().Drift, l.Ready()
	if !errors.Is(stopped, ErrClockSkew) {
		stopped = nil
	}
	if stopped != nil || drift.Abs() > l.cfg.maxSkew {
		l.report(Event{Kind: Stepped, Skew: drift, Err: stopped})
	}

	return wait, nil
}

// commit extends the lease. It returns when the new horizon is durable, with the time until the next call. The next
// token is drawn only now, so copies that were made of this process before do not have it.
//
// If the outcome of a call is unknown, commit repeats it with the same token and horizon, and the caller then asks for
// a higher horizon at once. Copies that were made in between have the same token, so a repeated call must not ask for
// more.
func (l *Lease) commit(ctx context.Context, tick int64) (time.Duration, error) {
	s := &l.state
	repeated := s.claim.Next != ""
	if !repeated {
		s.claim.Next, s.requested = newToken(), max(l.horizonOf(tick), s.horizon)
	}

	ctx, cancel := l.calls.Begin(ctx, l.timeout(tick >= s.horizon))
	defer cancel()

	before := l.moment()
	claim := s.claim
	now, err := l.callExtend(ctx, &claim)

	if errors.Is(err, ErrLost) && s.previous != "" {
		// A store that has forgotten the last extension, as after a crash without fsync, has the token before it.
		// Otherwise no row has that token, so no copy of this process gains by this.
		claim.Token = s.previous
		now, err = l.callExtend(ctx, &claim)
	}

	if reach := (*ReachError)(nil); errors.As(err, &reach) && l.shorten(reach) {
		s.requested = max(min(s.requested, l.horizonOf(tick)), s.horizon) // never more than before: see above
		now, err = l.callExtend(ctx, &claim)
	}

	if err != nil {
		s.timedOut = ctx.Err() != nil
		return 0, err
	}

	s.previous, s.claim.Token, s.claim.Next = s.claim.Token, s.claim.Next, ""
	s.confirmedAt, s.retries = before, 0
	l.observe(now, before.wall)

	// Bounded again: the clocks may have been set back before the call.
	s.horizon = max(s.horizon, min(s.requested, l.horizonOf(tick)))
	if repeated {
		return 0, nil
	}

	return jitter(l.left(tick) / 2), nil
}

// horizonOf returns the horizon to commit: a window beyond all that may be issued at the tick, as far as clocks agree.
func (l *Lease) horizonOf(tick int64) int64 { return l.agreed(tick) + l.ahead(l.window()) }

// left returns how long IDs may be issued from the tick on, at most a window. If that is short because the generator is
// ahead of the clocks, left also sets the generator back: slowing it down instead would take 200 s for each second it
// is ahead.
func (l *Lease) left(tick int64) time.Duration {
	left := time.Duration(l.state.horizon-tick-l.lessee.Lead()) * l.layout.Tick()
	if excess := tick - l.agreed(tick); excess > 0 && left < l.window()/4 {
		l.state.resumes = l.lessee.SetBack(excess)
		return l.window()
	}

	return max(l.window()/4, min(left, l.window()))
}

func (l *Lease) ahead(window time.Duration) int64 {
	return l.lessee.Lead() + max(1, ticks(window, l.layout))
}

func (l *Lease) callExtend(ctx context.Context, claim *leasestore.Claim) (now time.Time, err error) {
	start := l.moment()
	claim.Deadline, claim.Reach = l.deadline(start), l.reach()

	now, err = l.store.Extend(ctx, *claim, l.state.requested, l.cfg.ttl)
	l.called("extend", start.elapsed, err)
	return now, err
}

func (l *Lease) callAcquire(ctx context.Context, tick int64) (leasestore.Grant, error) {
	ctx, cancel := l.calls.Begin(ctx, l.timeout(true))
	defer cancel()
	before, start := l.cfg.clock.Now(), l.cfg.clock.Elapsed()

	grant, err := l.store.Acquire(ctx, leasestore.Request{
		Namespace: l.cfg.namespace, Layout: l.layout.String(), First: l.cfg.first, Last: l.cfg.last,
		Token: l.state.token, TTL: l.cfg.ttl, Reach: l.reachOf(l.cfg.window), Tick: tick, Holder: l.cfg.holder,
	})

	l.called("acquire", start, err)
	lentNone := errors.Is(err, ErrNoWorker) || refusal(err)
	l.state.mayHold = err != nil && !lentNone
	l.state.timedOut = ctx.Err() != nil
	if err == nil {
		l.observe(grant.Now, before)
	}

	return grant, err
}

// refused handles the errors of Acquire.
func (l *Lease) refused(ctx context.Context, err error) (time.Duration, error) {
	var none *NoWorkerError
	if !errors.As(err, &none) {
		return l.failed(ctx, err)
	}

	l.state.retries = 0 // the store has answered
	l.record(err)
	if l.state.noWorker++; l.state.noWorker == 1 {
		l.reportKind(Failed, err) // once, not at each attempt
	}

	wait := none.Wait
	if wait <= 0 { // unknown
		wait = l.cfg.window / 64 << min(l.state.noWorker, 4)
	}

	// At most a default window, however long this one is: a worker may be given back before it expires.
	return min(max(wait, 10*time.Millisecond), l.cfg.window, DefaultWindow), nil
}

// failed handles other errors. The outcome is unknown, so the same is tried again soon, unless the error is final.
func (l *Lease) failed(ctx context.Context, err error) (time.Duration, error) {
	var reach *ReachError
	tooFar := errors.As(err, &reach) && reach.Wait > DefaultWindow // for longer than Open waits for the store
	isInVain := refusal(err) || tooFar

	switch {
	case ctx.Err() != nil:
		return 0, errors.Join(ctx.Err(), err)
	case errors.Is(err, os.ErrClosed), isInVain && !l.hadWorker(): // the store is closed for good, or refuses
		return 0, err
	}

	l.record(err)
	l.reportKind(Failed, err)
	l.state.retries++
	if l.state.timedOut { // that was wait enough: don't miss the moment at which the pool has a connection
		l.state.timedOut = false
		return 0, nil
	}

	backoff := l.window() / 64 << min(l.state.retries, 4)
	return jitter(min(backoff, maxBackoff)), nil
}

// refusal reports whether the store has answered that it will not lend a worker.
func refusal(err error) bool {
	if version := (*VersionError)(nil); errors.As(err, &version) {
		return true
	}
	return errors.Is(err, ErrLayout) || errors.Is(err, ErrOption) || errors.Is(err, ErrDamaged)
}

// lost handles a takeover. The generator stops at once: the owner may be a copy of this process, which also uses what
// is left below the horizon. It continues with another worker as soon as there is one. There is nothing to give back.
func (l *Lease) lost(err error) (time.Duration, error) {
	l.lessee.Withdraw()
	l.state.held = false
	l.record(err)
	l.reportKind(Lost, err)

	worker := l.state.claim.Worker
	l.state.claim = leasestore.Claim{}
	if l.cfg.stopOnLoss {
		return 0, fmt.Errorf("lease: worker %d of namespace %q: %w", worker, l.cfg.namespace, err)
	}
	return 0, nil
}

// hadWorker reports whether the lease has had a worker.
func (l *Lease) hadWorker() bool { return l.shared.Epoch > 0 } // Epoch is written by this goroutine only, so no lock

// jitter returns d plus or minus a tenth, so that processes started together do not extend together.
func jitter(d time.Duration) time.Duration {
	return d*9/10 + rand.N(d/5+1)
}

// timeout bounds a call of the store. Two fit into the rest of the window when an extension is due, unless it is short.
// While no horizon is ahead nothing is lost by a long call.
func (l *Lease) timeout(stalled bool) time.Duration {
	if stalled {
		return max(l.window()/5, 2*time.Second)
	}
	return max(l.window()/5, 50*time.Millisecond)
}

// claimState is what the protocol knows. It is used by one goroutine at a time.
type claimState struct {
	claim    leasestore.Claim // without an Epoch: none
	held     bool             // the generator uses the worker
	token    string           // of an acquisition that has not led to a claim yet
	mayHold  bool             // the store may have a worker under the token
	previous string           // the row's token before the last extension of the claim
	table    string           // of the claim's grant
	warning  error            // of the claim's grant

	from        int64  // the horizon that the claim started at
	horizon     int64  // committed by the store under the claim; less than that if clocks were set back meanwhile
	requested   int64  // the horizon of the last extension; its outcome is unknown if the claim has a Next
	resumes     int64  // the tick of the next ID when the generator's clock was set back
	forgets     bool   // the store may forget what it has committed
	confirmedAt moment // when the call began that has confirmed the claim last

	reduced  reducedWindow // instead of the window, for a while
	skew     time.Duration // of the wall clock against the store's
	retries  int           // calls in a row that the store has not answered
	timedOut bool          // the last one has had all of its time
	noWorker int           // acquisitions in a row for which all workers were held
	released bool          // nothing is left to give back
}

// grant starts a claim, whose first tick is from. No horizon is committed under it yet.
func (s *claimState) grant(g leasestore.Grant, from int64) {
	s.claim, s.from, s.table, s.warning, s.forgets = g.Claim, from, g.Table, g.Warning, g.Forgets
	s.token, s.previous, s.horizon, s.requested = "", "", 0, 0
}

// unused returns the first tick that no ID can have been issued for under the claim. next counts only if the generator
// has used the claim: otherwise it is about an earlier worker.
func (s *claimState) unused(next int64) int64 {
	if !s.held {
		return s.from
	}
	return max(s.from, next)
}
