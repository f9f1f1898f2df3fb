package partition

import (
	"errors"
	"fmt"
	"sort"
	"strings"

	"github.com/sqlflake/sqlflake/contrib/internal/pgsql"
	"github.com/sqlflake/sqlflake/contrib/partition/internal/period"
	"github.com/sqlflake/sqlflake/snowflake"
	"github.com/sqlflake/sqlflake/snowflake/sqldb"
)

// maxCreate limits the partitions that WithStart asks for.
const maxCreate = 10_000

// create plans the partitions from the first period that rows may come for, to the last one ahead.
func (p *planner) create() {
	if epoch := p.Layout.Epoch(); p.latest.Before(epoch) {
		p.fail(fmt.Errorf("%w: the clock shows %s, the layout begins at %s", snowflake.ErrBeforeEpoch,
			p.Text(p.latest), p.Text(epoch)))
		return
	}

	for _, part := range p.parts {
		if part.hi == noHigh && p.Of(part.lo).Hi != noHigh {
			p.plan.problem(part.table,
				"it has no upper bound, so none can follow it: split it, or on MySQL set WithDefault")
		}
	}

	last := p.horizon()
	if end := p.Layout.End(); last.To.After(end) {
		p.plan.problem("", "the layout ends at %s, there are no IDs after it: %w",
			p.Text(end), snowflake.ErrTimeExhausted)
	}

	p.reportStrange(last)
	var periods []period.Span
	for at := p.first(); !at.From.After(last.From); at = p.Next(at) {
		if periods = append(periods, at); len(periods) > maxCreate {
			p.fail(fmt.Errorf("%w: there are more than %d partitions from %s on",
				ErrOption, maxCreate, p.Text(periods[0].From)))
			return
		}
	}

	for _, at := range periods {
		for _, gap := range p.gaps(at) {
			if p.contiguous() && gap.Hi == noHigh && (p.wantDefault || p.defaultPart != nil) {
				return // only the last partition can have no upper bound, and that is the default one
			}
			if !p.reportRowsToSplit() {
				return
			}
			if p.createOne(at, gap); p.chosen != nil {
				return
			}
		}
	}
}

// reportRowsToSplit reports whether the default partition allows new partitions. MySQL splits it for each of them, and would copy
// all of its rows meanwhile.
func (p *planner) reportRowsToSplit() bool {
	if p.defaultPart == nil || !p.contiguous() {
		return p.err == nil
	}
	_, found := p.find(*p.defaultPart, noLow, noHigh, 0)
	if found {
		p.plan.problem(p.defaultPart.table,
			"it has rows, which the server would copy for each new partition while writers "+
				"wait: MoveDefault moves them; delete those that are no IDs")
	}
	return !found && p.err == nil
}

// first returns the first period that has to have a partition. Older gaps are left as they are: no rows come for them.
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
	if p.contiguous() {
		lo = p.top
	}

	for _, part := range p.from(lo) {
		if part.lo >= at.Hi {
			break
		}
		if lo < part.lo {
			gaps = append(gaps, period.Span{Lo: lo, Hi: part.lo})
		}
		lo = part.hi
	}

	if lo < at.Hi {
		gaps = append(gaps, period.Span{Lo: lo, Hi: at.Hi})
	}

	return gaps
}

func (p *planner) from(lo int64) []part {
	return p.parts[sort.Search(len(p.parts), func(i int) bool { return p.parts[i].hi > lo }):] // they are ascending
}

func (p *planner) createOne(at, g period.Span) {
	text := p.newName(at, func(string) bool { return false })
	p.names[text] = true
	if !p.free(text) {
		return
	}

	if p.defaultPart != nil && !p.contiguous() {
		if _, found := p.find(*p.defaultPart, g.Lo, g.Hi, 0); found {
			p.plan.problem(text, "the default partition %s has rows of its time: MoveDefault moves them",
				p.defaultPart.table)
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

	p.step(Step{Action: actionCreate, Partition: text, Lo: snowflake.ID(g.Lo), Hi: snowflake.ID(g.Hi), Why: why})
	p.top = max(p.top, g.Hi)
}

// newName returns a name for a partition of a period that no other partition has and that is not taken: the second
// part of a period gets the suffix _2.
func (p *planner) newName(at period.Span, taken func(string) bool) string {
	base := p.partitionName(at.From)
	text := base
	for n := 2; p.names[text] || taken(text); n++ {
		text = fmt.Sprintf("%s_%d", base, n)
	}
	if err := p.checkNew(text); err != nil {
		p.fail(fmt.Errorf("%w: WithNames sets other names", err))
	}
	return text
}

// free reports whether a new partition can have the name.
func (p *planner) free(text string) bool {
	taken := p.taken(text)
	if taken {
		p.plan.problem(text, "a table of this name exists and is no partition: rename it, or set other names")
	}
	return !taken && p.err == nil
}

// createDefault plans the default partition.
func (p *planner) createDefault() {
	if !p.wantDefault || p.defaultPart != nil {
		return
	}
	text := p.defaultName()
	if p.fail(p.checkNew(text)); p.free(text) {
		p.step(Step{Action: actionCreate, Partition: text, Why: "default partition"})
	}
}

// TableOptions returns what follows the columns in the CREATE TABLE of a table that [Set.Maintain] accepts. In GORM:
//
//	err := db.Set("gorm:table_options", options).Migrator().CreateTable(&Event{})
//
// On PostgreSQL it is PARTITION BY RANGE, and the table has no partitions, so it takes no rows before the first
// Maintain. On MySQL and MariaDB it has the partitions that Maintain would create now, by the clock of this process;
// the first one also takes all smaller keys.
//
// It returns [ErrOption] if a partition has no usable name, snowflake.ErrBeforeEpoch if the clock is before the
// layout's epoch, and snowflake.ErrTimeExhausted if the layout ends before the last partition.
func (s *Set) TableOptions() (string, error) {
	if s.dialect == sqldb.Postgres {
		return "PARTITION BY RANGE (" + pgsql.Name(s.key) + ")", nil
	}
	steps, err := s.firstPartitions(&state{table: s.table, now: s.now()})
	if err != nil {
		return "", fmt.Errorf("partition: options of %v: %w", s.table, err)
	}
	return s.partitionBy(steps), nil
}

// firstPartitions returns the steps that create the missing partitions of an empty table.
func (s *Set) firstPartitions(st *state) ([]Step, error) {
	p := s.newPlanner(st, s.now(), probe{})
	err := p.run(p.create, p.createDefault)
	return p.plan.Steps, errors.Join(append(p.plan.Problems, err)...)
}

// partitionBy returns the clause of MySQL for partitions that adjoin each other.
func (s *Set) partitionBy(steps []Step) string {
	var list []string
	for _, step := range steps {
		list = append(list, definePartition(step))
	}
	return fmt.Sprintf("PARTITION BY RANGE (%s) (%s)", quoteMySQL(s.key), strings.Join(list, ", "))
}
