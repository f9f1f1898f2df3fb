package partition

import (
	"cmp"
	"context"
	"time"

	"github.com/sqlflake/sqlflake/contrib/partition/internal/engine"
	"github.com/sqlflake/sqlflake/contrib/partition/internal/period"
	"github.com/sqlflake/sqlflake/snowflake"
)

// planner makes a plan out of a state: create.go has what is created, retire.go what is removed.
type planner struct {
	*Set
	*engine.State
	period.Calendar
	probe  probe
	local  time.Time // by the clock of this process
	plan   *Plan
	enough func(Step) bool // reports a step after which the plan may end
	chosen *Step           // the first one that is enough
	err    error           // the first one: there is no plan

	latest time.Time       // the later one of the clocks, for the reasons of steps
	cutoff int64           // what ends at or below it is not retained
	dead   *bool           // whether reportDead has found that nothing may be removed; nil: not called yet
	top    int64           // the end of the last partition, if they adjoin
	names  map[string]bool // of the partitions, also of those that the plan creates
}

// probe asks the database about rows and tables: see engine.FindKey and Engine.Taken. The zero probe finds none.
type probe struct {
	key   func(p engine.Part, lo, hi int64, order string) (key int64, found bool, err error)
	taken func(table string) (bool, error)
}

func (s *Set) probe(ctx context.Context, q engine.Querier, st *engine.State) probe {
	return probe{
		func(p engine.Part, lo, hi int64, order string) (int64, bool, error) {
			return s.engine.Key(ctx, q, &s.table, p, lo, hi, order)
		},
		func(table string) (bool, error) { return s.engine.Taken(ctx, q, st, table) },
	}
}

// newPlanner returns the planner of a state. Of two clocks that differ, the later one counts for what is created and
// the earlier one for what is dropped.
func (s *Set) newPlanner(st *engine.State, local time.Time, probe probe) *planner {
	p := &planner{
		Set: s, State: st, Calendar: s.calendar, probe: probe, local: local,
		plan: &Plan{Table: st.Table.String(), Now: st.Now.In(s.calendar.Zone)},
		top:  engine.NoLow, names: make(map[string]bool), enough: func(Step) bool { return false },
	}
	p.latest = period.Later(p.Now, p.local)
	p.cutoff = p.oldest().Lo

	p.plan.partitions = len(p.Parts)
	for _, part := range p.Parts {
		p.names[part.Table] = true
		p.top = part.Hi
	}
	if p.Default != nil {
		p.names[p.Default.Table] = true
		p.plan.partitions++
	}

	return p
}

// find returns a key, and taken whether a name is. See probe. After an error there is none.
func (p *planner) find(part engine.Part, lo, hi int64, order string) (key int64, found bool) {
	if p.err == nil && p.probe.key != nil {
		key, found, p.err = p.probe.key(part, lo, hi, order)
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

// run calls the functions up to the one that plans a step that is enough.
func (p *planner) run(parts ...func()) error {
	for _, do := range parts {
		if do(); p.chosen != nil || p.err != nil {
			break
		}
	}
	return p.err
}

// add adds the step of a change.
func (p *planner) add(c engine.Change, why string) {
	step := Step{
		Action: c.Action, Partition: c.Partition, Lo: snowflake.ID(c.Lo), Hi: snowflake.ID(c.Hi), Why: why,
		SQL: p.engine.Statements(&p.table, p.State, c), change: c,
	}
	if c.Lo != engine.NoLow {
		step.From = p.At(c.Lo).In(p.Zone)
	}
	if c.Hi != engine.NoHigh {
		step.To = p.At(c.Hi).In(p.Zone)
	}

	due := p.due(c)
	isEarlier := !due.IsZero() && due.Before(p.plan.Overdue)
	if p.plan.Overdue.IsZero() || isEarlier {
		p.plan.Overdue = due
	}

	p.plan.Steps = append(p.plan.Steps, step)
	if p.chosen == nil && p.enough(step) {
		p.chosen = &step
	}
}

// due returns the time since which a change is due, or zero for one that does not depend on the time.
func (p *planner) due(c engine.Change) time.Time {
	at := p.Of(c.Hi - 1)
	switch {
	case c.Action == engine.Alter:
		return time.Time{}
	case c.Action == engine.Create:
		return p.Before(at, p.ahead).From.In(p.Zone)
	}
	return p.After(at, p.retain+1).From.Add(p.grace).In(p.Zone)
}

// covered returns the end of the partitions that follow each other from now on.
func (p *planner) covered() (end time.Time) {
	now := p.Bound(p.Now)
	for _, part := range p.Parts {
		if part.Hi == engine.NoHigh && part.Lo <= now {
			return p.Layout.End().In(p.Zone)
		}
		if part.Lo <= now && now < part.Hi {
			now = part.Hi
			end = p.Reached(now).In(p.Zone)
		}
	}
	return end
}

func (p *planner) earliest() time.Time { return period.Earlier(p.Now, p.local) }

// oldest returns the oldest period that is retained, or the one of the epoch.
func (p *planner) oldest() period.Span {
	return p.Before(p.Containing(p.earliest().Add(-p.grace)), p.retain)
}

// horizon returns the last period ahead. Periods after the layout's end have no keys, and so no gaps.
func (p *planner) horizon() period.Span {
	return p.After(p.Containing(period.Later(p.Now, p.local)), p.ahead)
}

// newest returns the greatest key below hi.
func (p *planner) newest(hi int64) (key int64, found bool) {
	for i := len(p.Parts) - 1; i >= 0 && !found; i-- {
		if p.Parts[i].Lo < hi {
			key, found = p.find(p.Parts[i], engine.NoLow, hi, engine.Greatest)
		}
	}

	if p.Default == nil {
		return key, found
	}

	misplaced, has := p.find(*p.Default, engine.NoLow, hi, engine.Greatest)
	if isNewer := !found || misplaced > key; has && isNewer {
		return misplaced, true
	}
	return key, found
}

// afterSequences returns the least key that is taken for an ID without WithStart. Keys of a sequence that was in use
// before are of the time after the epoch, whatever the layout is.
func (p *planner) afterSequences() int64 {
	return p.Bound(p.Layout.Epoch().Add(time.Hour + p.Layout.Period()))
}
