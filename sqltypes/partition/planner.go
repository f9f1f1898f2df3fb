package partition

import (
	"fmt"
	"sort"
	"time"

	"github.com/sqlflake/sqlflake/snowflake"
	"github.com/sqlflake/sqlflake/snowflake/sqldb"
)

// probe asks the database about the rows of a partition. See engine.
type probe struct {
	below    func(p part, limit int64) (id int64, found bool, err error)
	within   func(p part, lo, hi int64) (bool, error)
	greatest func(p part, hi int64) (id int64, found bool, err error)
	taken    func(table string) (bool, error)
}

// maxCreate limits the partitions that WithStart asks for.
const maxCreate = 10_000

// planner makes a plan out of a state.
type planner struct {
	*Set
	*state
	probe probe
	local time.Time // by the clock of this process
	plan  *Plan

	latest time.Time // the later one of the clocks, for the reasons of steps
	cutoff int64     // of what ends at or below it nothing is retained
	live   *bool     // whether a row of the retained time exists; nil: not read yet
	top    int64     // the end of the last partition, if they are contiguous

	enough func(Step) bool
	done   bool // a step is enough
}

// newPlanner returns the planner of a state. Of two clocks that differ, the later one counts for what is created and the
// earlier one for what is dropped.
func (s *Set) newPlanner(st *state, local time.Time, probe probe) *planner {
	p := &planner{Set: s, state: st, probe: probe, local: local, plan: &Plan{Table: st.table.String(), Now: st.now.In(s.zone)}, top: noLow}
	p.latest = later(p.now, p.local)
	p.cutoff = p.oldest().lo
	if n := len(st.parts); n > 0 {
		p.top = st.parts[n-1].hi
	}
	return p
}

// make returns the plan. It ends after a step that is enough for the caller.
func (p *planner) make(enough func(Step) bool) (*Plan, error) {
	p.enough = enough
	for _, part := range p.parts {
		p.plan.Partitions = append(p.plan.Partitions, Partition{
			part.table, snowflake.ID(part.lo), snowflake.ID(part.hi),
			false, part.rows, part.bytes,
		})
	}
	if p.fallback != nil {
		p.plan.Partitions = append(p.plan.Partitions, Partition{
			Name: p.fallback.table, Default: true,
			Rows: p.fallback.rows, Bytes: p.fallback.bytes,
		})
	}
	p.plan.Covered = p.covered()
	if wrong, err := p.contradicted(); wrong || err != nil {
		return p.plan, err
	}
	// What fails in the later parts, such as an Archive, prevents no new partition. All partitions are detached before the
	// first is archived, which may take hours: a Set without Archive leaves them alone as long as one waits.
	return p.run(p.create, p.createDefault, p.retire, p.finishLoose)
}

// missing returns the plan of what is to be created.
func (p *planner) missing() (*Plan, error) {
	p.enough = func(Step) bool { return false }
	return p.run(p.create, p.createDefault)
}

func (p *planner) run(parts ...func() error) (*Plan, error) {
	for _, do := range parts {
		if err := do(); err != nil {
			return nil, err
		}
		if p.done {
			break
		}
	}
	return p.plan, nil
}

// create plans the partitions from the first period that rows may come for, to the last one ahead.
func (p *planner) create() error {
	if epoch := p.layout.Epoch(); p.latest.Before(epoch) {
		return fmt.Errorf("%w: the clock shows %s, the layout begins at %s", snowflake.ErrBeforeEpoch,
			p.text(p.latest), p.text(epoch))
	}
	if n := len(p.parts); n > 0 && p.parts[n-1].hi == noHigh && p.period(p.at(p.parts[n-1].lo)).hi != noHigh {
		p.problem(p.parts[n-1].table, "it has no upper bound, so none can follow it: split it, or on MySQL set WithDefault")
	}
	last := p.last()
	p.strangers(last)
	names := make(map[string]bool)
	for _, part := range p.parts {
		names[part.table] = true
	}
	if p.fallback != nil {
		names[p.fallback.table] = true
	}
	var periods []period
	for at := p.first(); !at.from.After(last.from); at = p.next(at) {
		if periods = append(periods, at); len(periods) > maxCreate {
			return fmt.Errorf("%w: there are more than %d partitions from %s on", ErrOption, maxCreate, p.text(periods[0].from))
		}
	}
	for _, at := range periods {
		for _, gap := range p.gaps(at) {
			if splits, err := p.splits(); !splits {
				return err
			}
			created, err := p.createOne(at, gap, names)
			if err != nil || p.done {
				return err
			}
			if created {
				p.top = max(p.top, gap.hi)
			}
		}
	}
	return nil
}

// splits reports whether partitions can be created as far as the default partition is concerned. MySQL splits that one
// for each of them, and would copy all of its rows meanwhile.
func (p *planner) splits() (bool, error) {
	if p.fallback == nil || !p.contiguous() {
		return true, nil
	}
	found, err := p.probe.within(*p.fallback, noLow, noHigh)
	if found {
		p.problem(p.fallback.table, "it has rows, which the server would copy for each new partition while writers wait: "+
			"MoveDefault moves them; delete those that are no IDs")
	}
	return !found && err == nil, err
}

// horizon returns the last period ahead. Periods after the layout's end have no keys, and so no gaps.
func (p *planner) horizon() period {
	at := p.period(later(p.now, p.local))
	for range p.ahead {
		at = p.next(at)
	}
	return at
}

// last returns the horizon, and reports the end of the layout as a problem.
func (p *planner) last() period {
	end := p.layout.End()
	at := p.horizon()
	if at.to.After(end) {
		p.plan.Problems = append(p.plan.Problems, problem{
			cause: snowflake.ErrTimeExhausted,
			text:  fmt.Sprintf("the layout ends at %s, there are no IDs after it", p.text(end)),
		})
	}
	return at
}

// first returns the first period that has to have a partition. Older gaps are left as they are: no rows come for them.
func (p *planner) first() period {
	from := p.earliest().Add(-p.grace)
	if !p.begin.IsZero() {
		from = earlier(from, p.begin)
	}
	first := p.period(later(from, p.layout.Epoch()))
	if p.retain > 0 {
		if oldest := p.oldest(); first.from.Before(oldest.from) {
			return oldest
		}
	}
	return first
}

// contiguous reports whether a partition begins where the one before ends, and the first one has no lower bound. A gap
// then belongs to the partition that follows it.
func (p *planner) contiguous() bool { return p.dialect == sqldb.MySQL }

// earliest returns the earlier of the two clocks.
func (p *planner) earliest() time.Time { return earlier(p.now, p.local) }

// oldest returns the oldest period that is retained, or the one of the epoch.
func (p *planner) oldest() period {
	at := p.period(p.earliest().Add(-p.grace))
	for range p.retain {
		if at.lo == 0 {
			break
		}
		at = p.previous(at)
	}
	return at
}

// gap is a range of keys without a partition.
type gap struct{ lo, hi int64 }

// gaps returns what of a period has no partition. It is the whole period or nothing, unless the unit, the zone or its
// rules were others when the neighbours were made.
func (p *planner) gaps(at period) []gap {
	var gaps []gap
	lo := at.lo
	if p.contiguous() {
		lo = p.top
	}
	first := sort.Search(len(p.parts), func(i int) bool { return p.parts[i].hi > lo }) // they are ascending
	for _, part := range p.parts[first:] {
		if part.lo >= at.hi {
			break
		}
		if lo < part.lo {
			gaps = append(gaps, gap{lo, part.lo})
		}
		lo = part.hi
	}
	if lo < at.hi {
		gaps = append(gaps, gap{lo, at.hi})
	}
	return gaps
}

func (p *planner) createOne(at period, g gap, names map[string]bool) (created bool, err error) {
	text, err := p.partitionName(at.from)
	if err != nil {
		return false, err
	}
	base := text
	for n := 2; names[text]; n++ { // a second part of a period
		text = fmt.Sprintf("%s_%d", base, n)
	}
	if err := p.checkNew(text); err != nil {
		return false, err
	}
	names[text] = true
	if free, err := p.free(text); !free {
		return false, err
	}
	if p.fallback != nil && !p.contiguous() {
		found, err := p.probe.within(*p.fallback, g.lo, g.hi)
		if found {
			p.problem(text, fmt.Sprintf("the default partition %s has rows of its time: MoveDefault moves them", p.fallback.table))
		}
		if found || err != nil {
			return false, err
		}
	}
	p.step(Step{
		Action: actionCreate, Partition: text, Lo: snowflake.ID(g.lo), Hi: snowflake.ID(g.hi),
		Why: p.why(at),
	})
	return true, nil
}

// why says why a period has to have a partition.
func (p *planner) why(at period) string {
	switch {
	case at.from.After(p.latest):
		return p.unit.noun() + " ahead"
	case at.to.After(p.latest):
		return "current " + p.unit.noun()
	}
	return "past " + p.unit.noun()
}

// free reports whether a new partition can have the name.
func (p *planner) free(text string) (bool, error) {
	taken, err := p.probe.taken(text)
	if taken {
		p.problem(text, "a table of this name exists and is no partition: rename it, or set other names")
	}
	return !taken && err == nil, err
}

// createDefault plans the default partition.
func (p *planner) createDefault() error {
	if !p.wantDefault || p.fallback != nil {
		return nil
	}
	text := p.defaultName()
	if err := p.checkNew(text); err != nil {
		return err
	}
	if free, err := p.free(text); !free {
		return err
	}
	p.step(Step{Action: actionCreate, Partition: text, Why: "default partition"})
	return nil
}

func (p *planner) step(step Step) {
	if step.Lo != noLow {
		step.From = p.at(step.Lo.Int64()).In(p.zone)
	}
	if step.Hi != noHigh {
		step.To = p.at(step.Hi.Int64()).In(p.zone)
	}
	if due := p.due(step); p.plan.Overdue.IsZero() || !due.IsZero() && due.Before(p.plan.Overdue) {
		p.plan.Overdue = due
	}
	step.SQL = p.engine.statements(p.Set, p.state, step)
	p.plan.Steps = append(p.plan.Steps, step)
	p.done = p.done || p.enough(step)
}

// due returns the time since which a step is due, or zero for one that does not depend on the time.
func (p *planner) due(step Step) time.Time {
	switch {
	case step.Lo == 0 && step.Hi == 0, step.Action == actionAlter:
		return time.Time{}
	case step.Action == actionCreate:
		at := p.period(p.at(step.Hi.Int64() - 1))
		for range p.ahead {
			at = p.previous(at)
		}
		return at.from.In(p.zone)
	}
	at := p.period(p.at(step.Hi.Int64() - 1))
	for range p.retain + 1 {
		at = p.next(at)
	}
	return at.from.Add(p.grace).In(p.zone)
}

// covered returns the end of the partitions that follow each other from now on.
func (p *planner) covered() (end time.Time) {
	now := p.span(p.now, p.now).lo
	for _, part := range p.parts {
		if part.hi == noHigh && part.lo <= now {
			return p.layout.End().In(p.zone)
		}
		if part.lo <= now && now < part.hi {
			now = part.hi
			end = p.at(now).In(p.zone)
		}
	}
	return end
}

func (p *planner) problem(partition, text string) {
	p.plan.Problems = append(p.plan.Problems, problem{partition: partition, text: text})
}

func earlier(a, b time.Time) time.Time {
	if b.Before(a) {
		return b
	}
	return a
}

func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}
