package lease_test

import (
	"context"
	"errors"
	"maps"
	"slices"

	"github.com/sqlflake/sqlflake/snowflake"
	"github.com/sqlflake/sqlflake/snowflake/lease"
)

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
