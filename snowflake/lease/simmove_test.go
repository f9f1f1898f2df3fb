package lease_test

import (
	"bytes"
	"testing"
	"time"

	"github.com/sqlflake/sqlflake/snowflake"
	"github.com/sqlflake/sqlflake/snowflake/lease"
)

// simMoves are pairs of layouts; the later one follows the earlier one within a minute.
var simMoves = func() (pairs [][2]snowflake.Layout) {
	for _, texts := range [][2]string{
		{"default", "wide"},
		{"default", "epoch=2025-01-01T00:00:25Z tick=1ms time:41 worker:10 sequence:12"}, // whose IDs are less at the same time
		{"default", "epoch=2024-12-31T23:00:00Z tick=1ms time:41 worker:10 sequence:12"},
		{"default", "epoch=2025-01-01T00:00:00Z tick=1ms time:26 worker:10 time:15 sequence:12"}, // Clustered, with short periods
		{"epoch=2025-01-01T00:00:00Z tick=1ms time:26 worker:10 time:15 sequence:12", "default"},
		{"epoch=2025-01-01T00:00:00Z tick=10ms time:39 sequence:8 worker:16", "default"}, // Sonyflake's
		{"wide", "epoch=2020-01-01T00:00:00Z tick=1s time:35 sequence:14 worker:14"},
	} {
		var pair [2]snowflake.Layout
		for i, text := range texts {
			layout, err := snowflake.ParseLayout(text)
			if err != nil {
				panic(err)
			}
			pair[i] = layout
		}
		pairs = append(pairs, pair)
	}
	return pairs
}()

// planMove changes the plan to one with a move.
func (plan *simPlan) planMove(c *simChoices) {
	pair := pick(c, simMoves...)
	plan.layout, plan.moved = pair[0], pair[1]
	plan.workers, plan.slots, plan.hosts, plan.stopOnLoss, plan.blind = int64(1+c.below(4)), 3+c.below(3), 3, false, false
	plan.window, plan.lead = pick(c, 10*time.Second, 4*time.Second), pick(c, 10*time.Millisecond, 0)
	plan.other, plan.delay = plan.window, pick(c, 2*plan.window, 6*plan.window)
	plan.skew = pick(c, time.Millisecond, lease.DefaultMaxSkew)
	plan.events = 50 + c.below(150)
}

// moving returns the layout of a process that starts, and the options for it.
func (w *simWorld) moving() (snowflake.Layout, []lease.Option) {
	if w.choices.below(8) >= w.newer {
		return w.plan.layout, nil
	}
	return w.plan.moved, []lease.Option{
		lease.WithGenerator(snowflake.WithLayout(w.plan.moved), snowflake.WithLead(w.plan.lead)), lease.WithFormerLayout(w.plan.layout),
	}
}

// drillMove begins a schedule with a move: processes of the old layout, an announcement that has settled, and then
// failovers, ends and starts of processes, some of which reach no server for a while.
func (w *simWorld) drillMove() {
	begin := func() *simProcess {
		for i, old := range w.slots {
			if old == nil || old.dead && len(old.doing) == 0 {
				w.slots[i] = w.start(pick(w.choices, w.hosts...))
				w.slots[i].step()
				return w.slots[i]
			}
		}
		return nil
	}
	begin()
	if w.choices.oneIn(2) {
		begin()
	}
	w.rounds(w.choices.below(6))
	if w.choices.oneIn(3) {
		w.eventFailover()
	}
	w.newer = 8
	for range 4 { // to announce the move
		if p := begin(); p != nil {
			w.rounds(1)
			p.crash()
		}
	}
	w.newer = pick(w.choices, 0, 5)
	if w.choices.oneIn(2) {
		w.rounds(int((w.plan.delay+lease.DefaultMaxSkew)/(w.plan.window/4)) + 4 - w.choices.below(8))
	}
	w.newer = 5
	for range 16 {
		switch w.choices.below(8) {
		case 0, 1:
			w.fork(begin)
		case 2:
			begin()
		case 3:
			if p := w.process(func(p *simProcess) bool { return !p.stepping() && !p.paused }); p != nil {
				pick(w.choices, p.crash, p.close)()
			}
		case 4, 5:
			w.slow = pick(w.choices, 1+w.choices.below(3), 8+w.choices.below(16))
			begin()
			w.rounds(1)
		default:
			w.rounds(1 + w.choices.below(6))
		}
	}
}

// fork lets a replica miss what happens for a while, and then take the place of the server. Some owners reach neither at
// that time.
func (w *simWorld) fork(begin func() *simProcess) {
	if w.backup == nil {
		w.eventFailover()
	}
	w.rounds(w.choices.below(8))
	for _, p := range w.slots {
		if p != nil && !p.dead && !p.stepping() && w.choices.below(4) > 0 {
			pick(w.choices, p.crash, func() { p.cutOff = true }, func() { p.cutOff = true })()
		}
	}
	begin()
	w.rounds(pick(w.choices, 0, 1, w.choices.below(8)))
	w.eventFailover()
	for _, p := range w.slots {
		if p != nil && w.choices.below(4) > 0 {
			p.cutOff = false
		}
	}
	begin()
	w.rounds(w.choices.below(8))
}

// rounds lets quarters of a window pass, in which all processes make steps and issue.
func (w *simWorld) rounds(n int) {
	for range n {
		w.advance(w.plan.window / 32 * time.Duration(7+w.choices.below(3)))
		w.runDue()
		for _, p := range w.slots {
			if p != nil && !p.dead && p.opened && !p.paused && !p.in(simInCall) && w.violation == "" {
				p.call()
			}
		}
	}
}

// ascends checks that all IDs of the layout before the move are below all of the one after it, whichever was issued first.
func (w *simWorld) ascends(p *simProcess, id snowflake.ID) {
	l := &w.ledger
	switch {
	case p.layout == w.plan.layout:
		l.before = max(l.before, id)
	case l.after == 0 || id < l.after:
		l.after = id
	}
	if p.layout == w.plan.moved {
		w.tally["IDs after a move"]++
	}
	if l.after > 0 && l.before >= l.after {
		w.violate(p, "ID %d of the layout before the move is not below ID %d of the one after it", l.before, l.after)
	}
}

// TestANamespaceMovesToAnotherLayout makes schedules in which processes of two layouts run, and crash, close and start.
func TestANamespaceMovesToAnotherLayout(t *testing.T) {
	must := []string{"fences", "moves", "starts", "IDs after a move", "late statements"}
	mustHold(t, simKind{moves: true}, 1500, must...)
	mustHold(t, simKind{moves: true, forgets: true}, 2500, append(must, "failovers")...)
}

func TestTheSimulatorCatchesEveryBrokenRuleOfAMove(t *testing.T) {
	for _, rule := range []struct {
		name    string
		forgets bool
	}{
		{"start before fence", false},
		{"extend ignores layout", false},
		{"acquire ignores layout", false},
		{"start not kept", false},
		{"move unannounced", true},
		{"old layout after a failover", true},
		{"start without the floor", true},
	} {
		t.Run(rule.name, func(t *testing.T) {
			mustCatch(t, simKind{moves: true, forgets: rule.forgets, breaks: rule.name}, 4000)
		})
	}
}

// TestAMoveWaitsForALeaseThatAFailoverMayConfirm has an owner of the old layout that goes on after a failover, since its
// lease has not expired, while the server before has moved. Random schedules hardly ever have that.
func TestAMoveWaitsForALeaseThatAFailoverMayConfirm(t *testing.T) {
	for _, breaks := range []string{"", "fence the held"} {
		w := newSimCase(t, simKind{moves: true, forgets: true, breaks: breaks}, 2)
		w.choices.script = make([]byte, 1<<16) // no other events
		w.plan.moved, w.plan.delay = simMoves[0][1], 3*w.plan.window
		first := w.start(w.hosts[0])
		w.newer = 8
		second := w.start(w.hosts[1])
		first.step()
		second.step() // announces
		for range 10 {
			w.advance(w.plan.window / 2)
			first.step()
		}
		w.eventFailover() // the replica gets nothing more
		second.step()
		w.advance(w.plan.window * 11 / 10)
		second.step()
		second.call()
		w.eventFailover() // and is promoted
		w.advance(time.Second)
		first.step()
		first.call()
		if broken := breaks != ""; second.opened != broken || first.drawn == 0 || (w.violation != "") != broken {
			t.Errorf("%q: %d IDs; %s", breaks, first.drawn, w.violation)
		}
	}
}

// TestAMoveLooksAtTheRowsOfAnOwnerThatCameLast has a cluster, of which a node that lags shows no row of an owner of the old
// layout. Random schedules hardly ever have that without another row.
func TestAMoveLooksAtTheRowsOfAnOwnerThatCameLast(t *testing.T) {
	for _, breaks := range []string{"", "rows of another node"} {
		w := newSimCase(t, simKind{moves: true, breaks: breaks}, 2)
		w.choices.script = bytes.Repeat([]byte{1}, 1<<16) // the node that lags answers, and there are no other events
		w.plan.moved = simMoves[0][1]
		server := w.memory.(*simSQL)
		server.ns = simNamespace{host: server, layout: w.plan.layout.String(), reach: 2 * w.plan.window}
		w.newer = 8
		second := w.start(w.hosts[1])
		second.step() // announces
		w.advance(server.settles() + time.Second)
		server.past = &simSQL{ns: server.ns, rows: map[int64]simLease{}}
		w.newer = 0
		first := w.start(w.hosts[0])
		first.step()
		second.step()
		for range 3 {
			w.advance(w.plan.window / 8)
			first.call()
			second.step()
			if second.opened {
				second.call()
			}
		}
		if broken := breaks != ""; second.opened != broken || first.drawn == 0 || (w.violation != "") != broken {
			t.Errorf("%q: %d IDs; %s", breaks, first.drawn, w.violation)
		}
	}
}
