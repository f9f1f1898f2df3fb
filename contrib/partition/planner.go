package partition

import (
	"cmp"
	"context"
	"time"

	"github.com/sqlflake/sqlflake/contrib/partition/internal/period"
	"github.com/sqlflake/sqlflake/snowflake/sqldb"
)

// planner makes a plan out of a state: create.go has what is created, retire.go what is removed.
type planner struct {
	*Set
	*state
	period.Calendar
	probe  probe
	local  time.Time // by the clock of this process
	plan   *Plan
	enough func(Step) bool // a step after which the plan may end; nil: none
	chosen *Step           // the first one that is enough
	err    error           // the first one: there is no plan

	latest time.Time       // the later one of the clocks, for the reasons of steps
	cutoff int64           // what ends at or below it is not retained
	live   *bool           // whether rows came in the retained time; nil: not read yet
	top    int64           // the end of the last partition, if they are contiguous
	names  map[string]bool // of the partitions, also of those that the plan creates
}

// probe asks the database about rows and tables: see Set.keyOf and engine.taken. The zero probe finds none.
type probe struct {
	key   func(p part, lo, hi int64, n int) (key int64, found bool, err error)
	taken func(table string) (bool, error)
}

func (s *Set) probe(ctx context.Context, q querier, st *state) probe {
	return probe{
		func(p part, lo, hi int64, n int) (int64, bool, error) { return s.keyOf(ctx, q, p, lo, hi, n) },
		func(table string) (bool, error) { return s.engine.taken(ctx, q, st, table) },
	}
}

// newPlanner returns the planner of a state. Of two clocks that differ, the later one counts for what is created and
// the earlier one for what is dropped.
func (s *Set) newPlanner(st *state, local time.Time, probe probe) *planner {
	p := &planner{Set: s, state: st, Calendar: s.calendar, probe: probe, local: local, top: noLow, names: make(map[string]bool)}
	p.plan = &Plan{Table: st.table.String(), Now: st.now.In(s.calendar.Zone)}
	p.latest = period.Later(p.now, p.local)
	p.cutoff = p.oldest().Lo
	p.plan.partitions = len(p.parts)
	for _, part := range p.parts {
		p.names[part.table] = true
		p.top = part.hi
	}

	if p.defaultPart != nil {
		p.names[p.defaultPart.table] = true
		p.plan.partitions++
	}

	return p
}

// find returns a key, and taken whether a name is. See probe. After an error there is none.
func (p *planner) find(part part, lo, hi int64, n int) (key int64, found bool) {
	if p.err == nil && p.probe.key != nil {
		key, found, p.err = p.probe.key(part, lo, hi, n)
	}
	return key, found && p.err == nil
}

func (p *planner) taken(table string) (taken bool) {
	if p.err == nil && p.probe.taken != nil {
		taken, p.err = p.probe.taken(table)
	}
	return taken && p.err == nil
}

func (p *planner) fail(err error) { p.err = cmp.Or(p.err, err) }

// make makes the plan.
func (p *planner) make() error {
	p.plan.Covered = p.covered()
	if p.reportContradiction() {
		return p.err
	}

	// What fails in the later parts, such as an archive callback, prevents no new partition. All partitions are
	// detached before the first is archived, which may take hours: a Set without WithArchive leaves them alone as long
	// as one waits.
	return p.run(p.create, p.createDefault, p.retire, p.finishDetached)
}

// run calls the functions up to the one that plans a step that is enough.
func (p *planner) run(parts ...func()) error {
	for _, do := range parts {
		if do(); p.chosen != nil || p.err != nil {
			break
		}
	}
	return p.err
}

// step adds a step for a partition, or for a detached table.
func (p *planner) step(step Step) {
	if step.Lo != noLow {
		step.From = p.At(int64(step.Lo)).In(p.Zone)
	}
	if step.Hi != noHigh {
		step.To = p.At(int64(step.Hi)).In(p.Zone)
	}
	if due := p.due(step); p.plan.Overdue.IsZero() || !due.IsZero() && due.Before(p.plan.Overdue) {
		p.plan.Overdue = due
	}

	step.SQL = p.engine.statements(p.Set, p.state, step)
	p.plan.Steps = append(p.plan.Steps, step)
	if p.chosen == nil && p.enough != nil && p.enough(step) {
		p.chosen = &step
	}
}

// due returns the time since which a step is due, or zero for one that does not depend on the time.
func (p *planner) due(step Step) time.Time {
	at := p.Of(int64(step.Hi) - 1)
	switch {
	case step.isDefault(), step.Action == actionAlter:
		return time.Time{}
	case step.Action == actionCreate:
		return p.Before(at, p.ahead).From.In(p.Zone)
	}
	return p.After(at, p.retain+1).From.Add(p.grace).In(p.Zone)
}

// covered returns the end of the partitions that follow each other from now on.
func (p *planner) covered() (end time.Time) {
	now := p.Bound(p.now)
	for _, part := range p.parts {
		if part.hi == noHigh && part.lo <= now {
			return p.Layout.End().In(p.Zone)
		}
		if part.lo <= now && now < part.hi {
			now = part.hi
			end = p.Reached(now).In(p.Zone)
		}
	}
	return end
}

// contiguous reports whether a partition begins where the one before ends, and the first one has no lower bound. A gap
// then belongs to the partition that follows it.
func (p *planner) contiguous() bool { return p.dialect == sqldb.MySQL }

func (p *planner) earliest() time.Time { return period.Earlier(p.now, p.local) }

// oldest returns the oldest period that is retained, or the one of the epoch.
func (p *planner) oldest() period.Span {
	return p.Before(p.Containing(p.earliest().Add(-p.grace)), p.retain)
}

// horizon returns the last period ahead. Periods after the layout's end have no keys, and so no gaps.
func (p *planner) horizon() period.Span {
	return p.After(p.Containing(period.Later(p.now, p.local)), p.ahead)
}
