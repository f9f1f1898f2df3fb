package partition

import (
	"errors"
	"fmt"
	"sort"
	"time"

	"github.com/sqlflake/sqlflake/contrib/partition/internal/engine"
	"github.com/sqlflake/sqlflake/contrib/partition/internal/period"
	"github.com/sqlflake/sqlflake/snowflake"
)

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
			p.fail(fmt.Errorf("%w: there are more than %d partitions from %s on",
				ErrOption, maxCreate, p.Text(periods[0].From)))
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

// free reports whether a new partition can have the name.
func (p *planner) free(text string) bool {
	taken := p.taken(text)
	if taken {
		p.plan.problem(text, "a table of this name exists and is no partition: rename it")
	}
	return !taken && p.err == nil
}
