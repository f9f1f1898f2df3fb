package lease_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/sqlflake/sqlflake/snowflake"
	"github.com/sqlflake/sqlflake/snowflake/lease"
)

// simProcess is one life of a process, from its start to its crash or close.
type simProcess struct {
	w     *simWorld
	name  string
	host  *simHost
	lease *lease.Lease

	layout snowflake.Layout
	moves  int // of the namespace, when it started
	window time.Duration
	gen    *snowflake.Generator

	doing  []simActivity // what it is in the middle of, innermost last
	opened bool          // Open would have returned
	paused bool
	cutOff bool // its requests are lost
	failed bool // stopped by a loss
	closed bool
	ending bool // is being closed
	dead   bool // crashed or closed
	healed bool // has issued since heal began

	sharing bool // it sets the share of the namespace

	begin   time.Duration // of Open, by the monotonic clock
	ahead   time.Duration // how far its generator was ahead of true time when it opened
	due     time.Time     // of the next step
	fault   simFault      // of the next calls of the store
	faults  int
	expires time.Time // by its own wall clock, for a broken rule

	copied bool            // it is a copy, or there is a copy of it
	lost   map[int64]int64 // workers that it knows to have lost: under which epoch

	highest int64    // position of the highest ID that it has returned
	drawn   uint64   // IDs that calls have drawn
	pending []func() // returns of calls, after the pause
}

type simActivity int

const (
	simInCall simActivity = iota
	simInStep
)

// calling reports whether the process is in a call of its generator, so that any event may happen at the same time,
// also its own next step.
func (p *simProcess) calling() bool {
	return len(p.doing) > 0 && p.doing[len(p.doing)-1] == simInCall
}

func (p *simProcess) stepping() bool { return p.in(simInStep) }

func (p *simProcess) in(a simActivity) bool { return slices.Contains(p.doing, a) }

func (p *simProcess) enter(a simActivity) { p.doing = append(p.doing, a) }
func (p *simProcess) leave()              { p.doing = p.doing[:len(p.doing)-1] }

func (p *simProcess) nextFault() simFault {
	if p.faults == 0 || p.w.healing {
		return simNoFault
	}
	p.faults--
	return p.fault
}

// start makes a process.
func (w *simWorld) start(host *simHost, window time.Duration) *simProcess {
	w.started++
	p := &simProcess{
		w: w, host: host, name: fmt.Sprintf("p%d", w.started), layout: w.layout, moves: w.moves, window: window,
		due: w.now, begin: host.mono, highest: -1, lost: map[int64]int64{},
		sharing: w.started > 2, // the first ones know their workers
	}
	opts := append(slices.Clone(w.options), lease.WithGenerator(snowflake.WithLayout(w.layout)),
		lease.WithClock(simClock{p}), lease.WithWindow(p.window), lease.WithObserver(p.observe))

	l, err := lease.Stepwise(simPort{p}, opts...)
	if err != nil {
		w.fail(p, "does not start: %v", err)
	}

	p.lease = l
	p.gen = p.lease.Generator()
	w.note(p, "starts")
	return p
}

// observe records which workers the process knows to have lost.
func (p *simProcess) observe(e lease.Event) {
	if e.Kind != lease.Lost {
		return
	}

	p.w.tally["losses"]++
	p.w.note(p, "knows that it has lost worker %d, epoch %d", e.Worker, e.Epoch)
	p.lost[e.Worker] = e.Epoch
	if p.w.kind.goesOn {
		p.goOn(e.Worker, e.Horizon)
	}
}

// step makes a step of the protocol.
func (p *simProcess) step() {
	w := p.w
	w.tally["steps"]++
	if p.in(simInCall) {
		w.tally["steps in calls"]++
	}
	p.enter(simInStep)
	defer p.leave()

	wait, err := p.lease.Step(context.Background())
	switch {
	case p.dead || w.violation != "":
		return
	case err != nil && p.opened:
		if !w.plan.stopOnLoss || !errors.Is(err, lease.ErrLost) {
			w.fail(p, "a step ended in %v", err)
		}
		w.tally["stopped"]++
		w.note(p, "stops: %v", err)
		p.lease.Lessee().Fail(err)
		p.failed = true
	case err != nil:
		p.refused(err)
	case p.lease.State().Held:
		if !p.opened {
			p.opened, p.ahead = true, p.layout.Start(w.tickOf(p)).Sub(w.now)
		}
		state := p.lease.State()
		if g := w.grantOf(p, state.Claim.Worker, state.Claim.Epoch); g != nil && g.owner == p {
			g.used = max(g.used, state.Horizon)
		}
		p.due = w.now.Add(w.choices.jitter(p.window / 2))
		if retries := p.lease.State().Retries; retries > 0 {
			p.due = w.now.Add(w.choices.jitter(p.window / 64 << min(retries, 4)))
		}
	default:
		p.notYet(wait)
	}
}

// refused is called when Open would return an error.
func (p *simProcess) refused(err error) {
	switch w := p.w; {
	case errors.Is(err, lease.ErrClockSkew):
		w.tally["bad skew"]++
	case errors.Is(err, lease.ErrBehindHorizon):
		w.tally["behind horizon"]++
	case errors.Is(err, lease.ErrLayout) && p.layout.String() != w.storedLayout():
		w.tally["other layout"]++
	case errors.Is(err, snowflake.ErrBeforeEpoch):
	default:
		w.fail(p, "Open ended in %v", err)
	}
	p.giveUp(err)
}

func (p *simProcess) giveUp(err error) {
	p.w.note(p, "gives up: %v", err)
	p.lease.GiveUp()
	p.dead = true
}

// notYet is called when there is no worker yet, or none any more.
func (p *simProcess) notYet(wait time.Duration) {
	w := p.w
	if retries := p.lease.State().Retries; retries > 0 {
		wait = w.choices.jitter(p.window / 64 << min(retries, 4)) // reproducible, unlike the lease's own
		if !p.opened && p.host.mono-p.begin > p.window {
			w.tally["given up"]++
			p.giveUp(errors.New("the store does not answer"))
			return
		}
	} else if wait > 0 {
		w.tally["full"]++
	}
	p.due = w.now.Add(wait)
}

// hasEnded reports whether another process may take the place of this one.
func (p *simProcess) hasEnded() bool { return p.dead && len(p.doing) == 0 }

// crash ends a process without a Close.
func (p *simProcess) crash() {
	p.w.note(p, "crashes")
	p.w.tally["crashes"]++
	p.dead = true
	p.pending = nil
}

// close ends a process properly. Calls that have drawn IDs may still return.
func (p *simProcess) close() {
	w := p.w
	w.note(p, "closes")
	w.tally["closed"]++
	p.ending = true
	p.enter(simInStep)
	if w.kind.early && p.lease.State().Held {
		p.releaseFirst()
	}

	err := p.lease.Close(context.Background())
	for err != nil && w.choices.oneIn(2) {
		err = p.lease.Close(context.Background()) // which repeats the release
	}

	p.leave()
	p.closed = err == nil
	p.dead = true
	if id, err := p.gen.Next(); !errors.Is(err, lease.ErrClosed) && !p.failed {
		w.fail(p, "Next after Close: %d, %v", id, err)
	}
}

// call asks the generator for IDs. Any other event may happen meanwhile.
func (p *simProcess) call() {
	w := p.w
	w.tally["calls"]++
	if p.stepping() {
		w.tally["calls in steps"]++
	}
	low, lost := p.highest, maps.Clone(p.lost)
	if w.kind.expiry && !p.extendByExpiry() {
		return
	}

	p.enter(simInCall)
	ids, err := p.draw()
	p.leave()
	if err != nil {
		p.failedCall(err)
		return
	}

	p.drawn += uint64(len(ids))
	p.checkIssued()
	if p.dead && !p.closed {
		w.tally["dead calls"]++
		w.note(p, "dies before a call returns")
		return
	}
	if p.paused || !w.healing && !p.dead && w.choices.oneIn(16) {
		w.note(p, "is paused before a call returns")
		p.paused = true
		p.pending = append(p.pending, func() { w.issue(p, ids, low, lost) })
		return
	}

	w.note(p, "issues %v%s", ids[:min(3, len(ids))], map[bool]string{true: " ..."}[len(ids) > 3])
	w.issue(p, ids, low, lost)
}

// draw makes one of the generator's calls.
func (p *simProcess) draw() ([]snowflake.ID, error) {
	w := p.w
	if w.choices.below(4) > 0 {
		id, err := p.gen.Next()
		return []snowflake.ID{id}, err
	}

	ids := make([]snowflake.ID, pick(w.choices, 2, 5, 1, 17))
	err := p.gen.Fill(context.Background(), ids)
	if err != nil && slices.Max(ids) > 0 {
		w.fail(p, "a failed Fill has left %v: %v", ids, err)
	}
	return ids, err
}

// failedCall checks the error of a call.
func (p *simProcess) failedCall(err error) {
	w := p.w
	w.note(p, "issues nothing: %v", err)
	switch {
	case errors.Is(err, errSimWait):
	case errors.Is(err, snowflake.ErrLeaseStalled):
		w.tally["stalls"]++
		p.hurry()
	case errors.Is(err, lease.ErrLost) && p.failed, errors.Is(err, lease.ErrClosed) && p.ending:
	default:
		w.fail(p, "a call ended in %v", err)
	}
	p.checkIssued()
}

// hurry makes the next step due, as a call that waits does.
func (p *simProcess) hurry() {
	select {
	case <-p.lease.Lessee().Wanted():
		if p.lease.State().Retries == 0 {
			p.due = p.w.now
		}
	default:
	}
}

// checkIssued compares the generator's counter with what calls have returned: no ID is lost.
func (p *simProcess) checkIssued() {
	if len(p.doing) > 0 || p.dead || p.w.kind.unique {
		return
	}
	if issued := p.gen.Stats().Issued; issued != p.drawn {
		p.w.fail(p, "%d IDs were returned, %d are counted", p.drawn, issued)
	}
}

// resume ends a pause: the pending calls return what they have drawn.
func (p *simProcess) resume() {
	p.w.note(p, "goes on")
	p.paused = false
	pending := p.pending
	p.pending = nil
	for _, finish := range pending {
		p.w.tally["paused calls"]++
		finish()
	}
}

// eventCopy clones the host of a process while it runs: there are two processes that know the same, at any moment, also
// with a call of the store under way, whose reply only the first one gets.
func (w *simWorld) eventCopy() {
	i := w.choices.below(len(w.slots))
	old := w.slots[i]
	p := w.process(func(p *simProcess) bool { return !p.failed && !p.ending })
	if p == nil || !w.kind.copies || old != nil && !old.hasEnded() {
		return
	}

	host := *p.host
	w.hosts = append(w.hosts, &host)
	w.slots[i] = w.copyOf(p, &host)
}

func (w *simWorld) copyOf(p *simProcess, host *simHost) *simProcess {
	w.tally["copies"]++
	q := w.start(host, p.window)
	q.opened, q.begin, q.due, q.highest, q.expires = p.opened, p.begin, p.due, p.highest, p.expires
	p.copied, q.copied = true, true
	maps.Copy(q.lost, p.lost)
	if err := q.lease.Become(p.lease, p.highest>>sequenceBits+1); err != nil {
		w.fail(q, "is not a copy: %v", err)
	}

	state := q.lease.State()
	claim := state.Claim
	w.note(q, "is a copy of %s, which has asked for the horizon %d of worker %d under epoch %d",
		p.name, state.Asked, claim.Worker, claim.Epoch)

	l := &w.ledger
	if claim.Epoch > 0 {
		l.copied[claim.Worker] = max(l.copied[claim.Worker], state.Asked)
	}
	for worker, grants := range l.grants {
		for _, g := range grants {
			if g.owner == p {
				shared := *g
				shared.owner = q
				l.grants[worker] = append(l.grants[worker], &shared)
			}
		}
	}
	return q
}
