package lease_test

import (
	"context"
	"fmt"
	"strings"

	"github.com/sqlflake/sqlflake/snowflake"
	"github.com/sqlflake/sqlflake/snowflake/lease"
)

// simLedger knows what the store has committed and what was issued.
type simLedger struct {
	rows   map[int64]simRow
	grants map[int64][]*simGrant // by worker, in the order of their epochs
	issued map[snowflake.ID]string
}

type simRow struct{ epoch, horizon int64 }

// simGrant is a worker under one epoch: its owner may issue the ticks in
// [from, below).
type simGrant struct {
	owner       *simProcess
	epoch       int64
	from, below int64
}

func newSimLedger() simLedger {
	return simLedger{rows: map[int64]simRow{}, grants: map[int64][]*simGrant{}, issued: map[snowflake.ID]string{}}
}

// granted notes that the store has given a worker to a process.
func (w *simWorld) granted(p *simProcess, c lease.Claim) {
	l := &w.ledger
	grants := l.grants[c.Worker]
	if n := len(grants); n > 0 {
		last := grants[n-1]
		if last.owner == p && last.epoch == c.Epoch {
			return // once more: the reply was lost
		}
		if !last.owner.closed {
			w.tally[simTakeovers]++
		}
	}
	l.grants[c.Worker] = append(grants, &simGrant{owner: p, epoch: c.Epoch, from: l.rows[c.Worker].horizon})
	w.tally[simAcquired]++
	w.note(p, "is granted worker %d, epoch %d, from tick %d", c.Worker, c.Epoch, l.rows[c.Worker].horizon)
}

// audit looks at what the store has committed after a call of p.
func (w *simWorld) audit(p *simProcess) {
	if w.kind.unique {
		return
	}
	l := &w.ledger
	entries, err := w.store.List(context.Background(), "")
	if err != nil {
		w.fail(nil, "List: %v", err)
	}
	for _, e := range entries {
		row, was := simRow{e.Epoch, e.Horizon}, l.rows[e.Worker]
		if row == was {
			continue
		}
		if row.horizon < was.horizon {
			w.fail(nil, "the horizon of worker %d fell from %d to %d", e.Worker, was.horizon, row.horizon)
		}
		if row.epoch < was.epoch {
			w.fail(nil, "the epoch of worker %d fell from %d to %d", e.Worker, was.epoch, row.epoch)
		}
		if row.epoch != was.epoch && row.horizon != was.horizon && !w.kind.forgets {
			w.fail(nil, "a takeover of worker %d changed the horizon from %d to %d", e.Worker, was.horizon, row.horizon)
		}
		l.rows[e.Worker] = row
		if row.horizon > was.horizon {
			w.committed(p, e.Worker, row)
		}
	}
}

// committed notes a horizon that a call of p has raised. A store that forgets
// may have given an epoch to several owners.
func (w *simWorld) committed(p *simProcess, worker int64, row simRow) {
	var owner *simGrant
	for _, g := range w.ledger.grants[worker] {
		if g.epoch == row.epoch && (owner == nil || owner.owner != p || g.owner == p) {
			owner = g
		}
	}
	if owner != nil {
		owner.below = max(owner.below, row.horizon)
	}
}

// forget makes the ledger's rows those of a backup.
func (w *simWorld) forget() {
	clear(w.ledger.rows)
	w.audit(nil)
}

// issue notes the IDs that a call of p has returned. No call that had returned
// when it began got an ID beyond the position low.
func (w *simWorld) issue(p *simProcess, ids []snowflake.ID, low int64) {
	layout := w.plan.layout
	for _, id := range ids {
		tick, sequence := field(layout, id, snowflake.FieldTime), field(layout, id, snowflake.FieldSequence)
		worker := field(layout, id, layout.WorkerField())
		if before, ok := w.ledger.issued[id]; ok {
			w.violate(p, "ID %d (worker %d, tick %d, sequence %d) was issued before by %s", id, worker, tick, sequence, before)
			return
		}
		w.ledger.issued[id] = p.name
		w.tally[simIDs]++
		at := tick<<sequenceBits + sequence
		if at <= low {
			w.fail(p, "ID of tick %d, sequence %d after one of tick %d, sequence %d",
				tick, sequence, low>>sequenceBits, low&(1<<sequenceBits-1))
		}
		low = at
		w.checkGrant(p, worker, tick)
	}
	p.highest = max(p.highest, low)
}

// sequenceBits is more than the sequences of the simulated layouts have.
const sequenceBits = 16

// checkGrant looks for the claim under which p may issue the tick.
func (w *simWorld) checkGrant(p *simProcess, worker, tick int64) {
	grants := w.ledger.grants[worker]
	if n := len(grants); n > 0 && grants[n-1].owner != p {
		w.tally[simZombieIDs]++
	}
	if w.kind.unique {
		return
	}
	var seen strings.Builder
	for _, g := range grants {
		if g.owner == p && g.from <= tick && tick < g.below {
			return
		}
	}
	for _, g := range grants {
		if g.owner == p {
			fmt.Fprintf(&seen, " [%d, %d) under epoch %d", g.from, g.below, g.epoch)
		}
	}
	w.fail(p, "issued tick %d of worker %d, was granted%s", tick, worker, &seen)
}

func field(l snowflake.Layout, id snowflake.ID, name string) int64 {
	value, err := l.Field(id, name)
	if err != nil {
		panic(err)
	}
	return value
}
