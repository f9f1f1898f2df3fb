package partition

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sort"
	"time"

	"github.com/sqlflake/sqlflake/contrib/partition/internal/engine"
	"github.com/sqlflake/sqlflake/contrib/partition/internal/period"
	"github.com/sqlflake/sqlflake/snowflake"
)

// planner makes a plan out of a state. This file has what is created, retire.go what is removed.
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

// stepOf returns the step of a change.
func (s *Set) stepOf(c engine.Change, why string, statements []string) Step {
	step := Step{
		Action: c.Action, Partition: c.Partition, Lo: snowflake.ID(c.Lo), Hi: snowflake.ID(c.Hi), Why: why,
		SQL: statements, change: c,
	}
	if c.Lo != engine.NoLow {
		step.From = s.calendar.At(c.Lo).In(s.calendar.Zone)
	}
	if c.Hi != engine.NoHigh {
		step.To = s.calendar.At(c.Hi).In(s.calendar.Zone)
	}
	return step
}

// add adds the step of a change.
func (p *planner) add(c engine.Change, why string) {
	step := p.stepOf(c, why, p.engine.Statements(&p.table, p.State, c))
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
	switch c.Action {
	case engine.Alter:
		return time.Time{}
	case engine.Create:
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
	for _, part := range slices.Backward(p.Parts) {
		if part.Lo >= hi {
			continue
		}
		if key, found = p.find(part, engine.NoLow, hi, engine.Greatest); found {
			break
		}
	}

	if p.Default == nil {
		return key, found
	}

	misplaced, hasMisplaced := p.find(*p.Default, engine.NoLow, hi, engine.Greatest)
	isNewer := !found || misplaced > key
	if hasMisplaced && isNewer {
		return misplaced, true
	}
	return key, found
}

// afterSequences returns the least key that is taken for an ID without WithStart. Keys of a sequence that was in use
// before are of the time after the epoch, whatever the layout is.
func (p *planner) afterSequences() int64 {
	return p.Bound(p.Layout.Epoch().Add(time.Hour + p.Layout.Period()))
}

// maxCreate limits the partitions that WithStart asks for.
const maxCreate = 10_000

// strange is the least time between the ends of two partitions ahead that is reported.
const strange = 400 * 24 * time.Hour

// TableOptions returns what follows the columns in the CREATE TABLE of a table that [Set.Maintain] accepts. In GORM:
//
//	err := db.Set("gorm:table_options", options).Migrator().CreateTable(&Event{})
//
// On PostgreSQL it is PARTITION BY RANGE, and the table has no partitions, so it takes no rows before the first
// Maintain. On MySQL and MariaDB it has the partitions that Maintain would create now, by the clock of this process;
// the first one also takes all smaller keys, so it suits ALTER TABLE of a table with rows too.
//
// It returns [ErrOption] if WithStart asks for too many partitions, snowflake.ErrBeforeEpoch if the clock is before the
// layout's epoch, and snowflake.ErrTimeExhausted if the layout ends before the last partition.
func (s *Set) TableOptions() (string, error) {
	if !s.engine.Adjoins() {
		return s.engine.PartitionBy(&s.table, nil), nil
	}

	creates, err := s.firstPartitions(&engine.State{Table: s.table.Name, Now: s.now()})
	if err != nil {
		return "", fmt.Errorf("partition: options of %v: %w", s.table.Name, err)
	}

	return s.engine.PartitionBy(&s.table, creates), nil
}

// firstPartitions returns the changes that create the missing partitions of an empty table.
func (s *Set) firstPartitions(st *engine.State) (creates []engine.Change, err error) {
	p := s.newPlanner(st, s.now(), probe{})
	err = p.run(p.create)
	for _, step := range p.plan.Steps {
		creates = append(creates, step.change)
	}
	return creates, errors.Join(append(p.plan.Problems, err)...)
}

// create plans the partitions from the first period that rows may come for, to the last one ahead.
func (p *planner) create() {
	if epoch := p.Layout.Epoch(); p.latest.Before(epoch) {
		p.fail(fmt.Errorf("%w: the clock shows %s, the layout begins at %s", snowflake.ErrBeforeEpoch,
			p.Text(p.latest), p.Text(epoch)))
		return
	}

	last := p.horizon()
	p.reportNoUpperBound()
	p.reportEndOfLayout(last)
	p.reportStrange(last)

	for _, at := range p.toCreate(last) {
		for _, gap := range p.gaps(at) {
			// On MySQL the last partition has no upper bound if it is the default one.
			if isLast := gap.Hi == engine.NoHigh && p.engine.Adjoins(); isLast && p.Default != nil {
				return
			}
			if p.reportRowsToSplit() || p.err != nil {
				return
			}
			if p.createOne(at, gap); p.chosen != nil {
				return
			}
		}
	}
}

// reportNoUpperBound reports, as a problem, a partition that none can follow.
func (p *planner) reportNoUpperBound() {
	for _, part := range p.Parts {
		if part.Hi == engine.NoHigh && p.Of(part.Lo).Hi != engine.NoHigh {
			p.plan.problem(part.Table,
				"it has no upper bound, so none can follow it: split it")
		}
	}
}

// reportEndOfLayout reports, as a problem, that there are no IDs for the last period.
func (p *planner) reportEndOfLayout(last period.Span) {
	if end := p.Layout.End(); last.To.After(end) {
		p.plan.problem("", "the layout ends at %s, there are no IDs after it: %w",
			p.Text(end), snowflake.ErrTimeExhausted)
	}
}

// reportStrange reports, as a problem, a partition that leaves no room for those ahead, or lies far behind them. A Set
// with another layout has made it, or a clock that was wrong.
func (p *planner) reportStrange(last period.Span) {
	before := last.To
	for i, part := range p.Parts {
		if i > 0 {
			before = p.At(p.Parts[i-1].Hi)
		}

		end := p.At(part.Hi)
		isAhead := part.Hi > last.Hi && part.Hi != engine.NoHigh
		isFar := end.Sub(before) > strange && end.After(p.Next(p.Next(p.Containing(before))).To)
		if isAhead && isFar {
			p.plan.problem(part.Table,
				"it ends at %s, long after %s: another layout, or a wrong clock, may have made it. "+
					"Drop it and those after it if they have no rows, or split it", p.Text(end), p.Text(before))
			return
		}
	}
}

// reportRowsToSplit reports, as a problem, rows in a default partition that the engine would have to split for a new
// one: it would copy all of them meanwhile.
func (p *planner) reportRowsToSplit() (reported bool) {
	if p.Default == nil || !p.engine.Adjoins() {
		return false
	}

	_, found := p.find(*p.Default, engine.NoLow, engine.NoHigh, engine.Least)
	if found {
		p.plan.problem(p.Default.Table,
			"it has rows, which the server would copy for each new partition while writers wait: "+
				"split it with REORGANIZE PARTITION, and delete rows that are no IDs")
	}
	return found
}

// toCreate returns the periods that have to have partitions.
func (p *planner) toCreate(last period.Span) (periods []period.Span) {
	for at := p.first(); !at.From.After(last.From); at = p.Next(at) {
		if periods = append(periods, at); len(periods) > maxCreate {
			p.fail(fmt.Errorf("%w: it would take more than %d partitions from %s on: "+
				"set a later WithStart or a longer unit", ErrOption, maxCreate, p.Text(periods[0].From)))
			return nil
		}
	}
	return periods
}

// first returns the first period that has to have a partition. Older gaps stay: no rows arrive for them.
func (p *planner) first() period.Span {
	from := p.earliest().Add(-p.grace)
	if !p.begin.IsZero() {
		from = period.Earlier(from, p.begin)
	}

	first := p.Containing(period.Later(from, p.Layout.Epoch()))
	if oldest := p.oldest(); p.retain > 0 && first.From.Before(oldest.From) {
		return oldest
	}
	return first
}

// gaps returns the ranges of keys of a period that have no partition. It is the whole period or nothing, unless the
// unit, the zone or its rules were others when the neighbours were made.
func (p *planner) gaps(at period.Span) (gaps []period.Span) {
	lo := at.Lo
	if p.engine.Adjoins() {
		lo = p.top
	}

	for _, part := range p.endingAfter(lo) {
		if part.Lo >= at.Hi {
			break
		}
		if lo < part.Lo {
			gaps = append(gaps, period.Span{Lo: lo, Hi: part.Lo})
		}
		lo = part.Hi
	}

	if lo < at.Hi {
		gaps = append(gaps, period.Span{Lo: lo, Hi: at.Hi})
	}

	return gaps
}

// endingAfter returns the partitions that end after lo.
func (p *planner) endingAfter(lo int64) []engine.Part {
	return p.Parts[sort.Search(len(p.Parts), func(i int) bool { return p.Parts[i].Hi > lo }):] // they are ascending
}

// createOne plans a partition for a gap in a period.
func (p *planner) createOne(at, gap period.Span) {
	text := p.newName(at)
	p.names[text] = true
	if !p.free(text) {
		return
	}

	if p.Default != nil && !p.engine.Adjoins() {
		if _, found := p.find(*p.Default, gap.Lo, gap.Hi, engine.Least); found {
			p.plan.problem(text, "the default partition %s has rows of its range, FROM (%d) TO (%d): move them",
				p.Default.Table, gap.Lo, gap.Hi)
			return
		}
	}

	why := "past " + p.Unit.Noun()
	switch {
	case at.From.After(p.latest):
		why = p.Unit.Noun() + " ahead"
	case at.To.After(p.latest):
		why = "current " + p.Unit.Noun()
	}

	p.add(engine.Change{Action: engine.Create, Partition: text, Lo: gap.Lo, Hi: gap.Hi}, why)
	p.top = max(p.top, gap.Hi)
}

// newName returns a name for a partition of a period that no other partition has: the second part of a period gets the
// suffix _2.
func (p *planner) newName(at period.Span) string {
	suffix := "_" + p.Unit.Name(at.From, p.Zone)
	text := engine.FitName(p.engine, p.table.Table, suffix)
	for n := 2; p.names[text]; n++ {
		text = engine.FitName(p.engine, p.table.Table, fmt.Sprintf("%s_%d", suffix, n))
	}
	return text
}

// free reports whether a new partition can have the name, and adds a problem to the plan if another table has it.
func (p *planner) free(text string) bool {
	taken := p.taken(text)
	if taken {
		p.plan.problem(text, "a table of this name exists and is no partition: rename it")
	}
	return !taken && p.err == nil
}
