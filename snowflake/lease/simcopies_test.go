package lease_test

import (
	"maps"
	"testing"
)

// eventCopy clones the host of a process while it runs: there are two processes that know the same, at any moment, also
// with a call of the store under way, whose reply only the first one gets.
func (w *simWorld) eventCopy() {
	i := w.choices.below(len(w.slots))
	old := w.slots[i]
	p := w.process(func(p *simProcess) bool { return !p.failed && !p.ending })
	if p == nil || !w.kind.copies || old != nil && (!old.dead || len(old.doing) > 0) {
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
	w.note(q, "is a copy of %s, which has asked for the horizon %d of worker %d under epoch %d", p.name, state.Asked, claim.Worker, claim.Epoch)
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

// TestCopiesRepeatIDsOnlyUntilTheirNextExtension makes schedules in which processes are copied while they run.
func TestCopiesRepeatIDsOnlyUntilTheirNextExtension(t *testing.T) {
	mustHold(t, simKind{copies: true}, 4000, "copies", "repeats")
}
