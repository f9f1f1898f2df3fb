package partition

import (
	"fmt"
	"slices"
	"time"

	"github.com/sqlflake/sqlflake/contrib/partition/internal/period"
	"github.com/sqlflake/sqlflake/snowflake"
	"github.com/sqlflake/sqlflake/snowflake/sqldb"
)

const (
	// dormant is the longest pause after which a table with rows is maintained again without a person.
	dormant = 90 * 24 * time.Hour
	// strange is the least time between the ends of two partitions ahead that is reported.
	strange = 400 * 24 * time.Hour
)

// retire plans what happens to partitions beyond the retention. One is removed only if it is expired and not blocked,
// and the table is alive and steady; reportContradiction is checked before all steps.
func (p *planner) retire() {
	for _, part := range p.parts {
		expired := p.expired(part)
		switch {
		case part.moved && (part.split || !expired):
			p.plan.problem(part.table, "an earlier call that moved its rows to the table %s was interrupted: "+
				"insert them again and drop that table, or remove its comment to keep it", part.exchangeTable)
		case part.fixed && expired:
			p.plan.problem(part.table,
				"it is beyond the retention, but has partitions of its own, or is a foreign table: "+
					"detach it by hand")
		case expired:
			p.retireOne(part)
		case part.pending:
			p.plan.problem(part.table,
				"a DETACH CONCURRENTLY was interrupted, and it is not beyond the retention any more: "+
					"finish it with FINALIZE")
		case part.interrupted:
			p.step(Step{
				Action: actionAlter, Partition: part.table, Lo: snowflake.ID(part.lo), Hi: snowflake.ID(part.hi), part: part,
				Why: "not beyond the retention any more: removes the mark of an interrupted DETACH CONCURRENTLY",
			})
		}
	}
}

// dropOf returns the step that drops a partition or a detached table.
func dropOf(part part, text, why string) Step {
	return Step{
		Action: actionDrop, Partition: text, Lo: snowflake.ID(part.lo), Hi: snowflake.ID(part.hi), Rows: part.rows,
		Bytes: part.bytes, Why: why, part: part, floor: noLow,
	}
}

// expired reports whether all of a partition is beyond the retention.
func (p *planner) expired(part part) bool {
	return p.retain > 0 && part.hi <= p.cutoff && part.hi != noHigh
}

// retireOne plans the next step for a partition beyond the retention.
func (p *planner) retireOne(part part) {
	floor := p.floor(part)
	if p.reportOldRow(part, floor) {
		return
	}

	step := dropOf(part, part.table, "beyond the retention of "+count(p.retain, p.Unit.Noun()))
	if !p.Unit.ByCalendar() {
		step.Why += fmt.Sprintf(" of %v", time.Duration(p.Unit))
	}

	step.floor = floor
	switch {
	// PostgreSQL does not detach partitions of tables with a default partition concurrently.
	case p.concurrently && p.defaultPart == nil && p.dialect == sqldb.Postgres || part.pending:
		step.Action, step.finish = actionDetach, true
		// PostgreSQL detaches none concurrently while another one is not detached completely.
		for _, other := range p.parts {
			step.waits = step.waits || other.pending && other.name != part.name
		}
	case p.rename != nil:
		step.Action = actionRename
	case p.archive != nil:
		step.Action = actionDetach
	}

	if p.trigger != "" && step.Action != actionDrop && !part.moved {
		p.plan.problem(part.table,
			"MariaDB can't make it a table because of the trigger %s, which uses another table: "+
				"drop the trigger while Maintain runs, or remove WithKeep and WithArchive", p.trigger)
		return
	}

	p.remove(part, step)
}

// finishDetached plans what is left to do for tables that were detached.
func (p *planner) finishDetached() {
	for _, part := range p.detached {
		text := part.String()
		if !p.expired(part) {
			p.plan.problem(text,
				"it was detached, and is not beyond the retention any more: attach it again, drop it, "+
					"or remove the comment")
			continue
		}

		if p.outside(part) {
			p.plan.problem(text, "it was detached, and has rows outside of its bounds: remove them, "+
				"or remove the comment to keep it")
			continue
		}

		step := dropOf(part, text, "detached before")
		step.detached = true
		switch {
		case p.rename != nil:
			step.Action = actionRename
		case p.archive != nil && !part.archived:
			step.Action, step.finish = actionArchive, true
		}

		p.remove(part, step)
	}
}

// remove plans a step that removes rows from the table, or drops or renames those removed before.
func (p *planner) remove(part part, step Step) {
	if p.rename != nil {
		if err := p.checkNew(p.keptName(part).table); err != nil {
			p.plan.problem(part.table, "WithKeep: %w", err)
			return
		}
	}
	if p.alive() {
		p.step(step)
	}
}

// floor returns the least key that a partition is supposed to have, or noLow if it can have no smaller one. Smaller
// keys are no IDs of the layout, such as the numbers of a sequence that was in use before. They can be in a partition
// whose lower bound is none or made by hand, and in any one if WithStart says which ID is the oldest.
func (p *planner) floor(part part) int64 {
	floor := p.Bound(p.begin)
	if p.begin.IsZero() {
		if part.lo > 0 && p.Of(part.lo).Lo == part.lo {
			return noLow
		}

		at := p.Of(part.hi - 1)
		if before := p.Previous(at); before.Lo > 0 {
			at = before // when the partition was made, the zone or its rules may have been others
		}

		if at.Lo == 0 {
			return part.hi // IDs of the epoch's period can't be distinguished from small keys
		}

		floor = at.Lo
	}

	if part.lo >= floor {
		return noLow
	}

	return floor
}

// reportOldRow reports, as a problem, a row below the floor of a partition.
func (p *planner) reportOldRow(part part, floor int64) bool {
	if floor == noLow {
		return false
	}

	key, found := p.find(part, noLow, floor, 0)
	if found {
		than, mend := "its time", "remove such rows, or set WithStart to the time of the oldest ID"
		if !p.begin.IsZero() {
			than, mend = "WithStart, "+p.Text(p.begin), "remove or move such rows"
		}
		p.plan.problem(part.table,
			"it is beyond the retention, but has a row with the key %d, which is older than %s: %s",
			key, than, mend)
	}

	return found
}

// outside reports whether a detached table has rows outside of its bounds: somebody wrote to it since, or attached it
// with other ones.
func (p *planner) outside(part part) bool {
	_, below := p.find(part, noLow, max(part.lo, p.floor(part)), 0)
	if below {
		return true
	}
	_, above := p.find(part, part.hi, noHigh, 0)
	return above
}

// alive reports whether rows may be removed: the table has a row of the retained time, and others at all times of it.
// By a wrong layout or wrong clocks, all partitions may seem to be beyond the retention.
func (p *planner) alive() (live bool) {
	if p.live != nil {
		return *p.live
	}
	defer func() { p.live = &live }()

	for _, part := range slices.Concat(p.detached, p.parts) {
		if part.due && p.archive == nil {
			p.plan.problem(part.table,
				"another Set is to archive it, and this one has no WithArchive: nothing is removed "+
					"until that is done. To keep the table, remove the line from its comment")
			return false
		}
	}

	key, found := p.newest(p.Of(p.Bound(p.latest)).Hi) // greater ones say nothing about the retained time
	if found && key >= p.cutoff {
		return p.steady()
	}

	youngest := "there is no row"
	if found {
		youngest = fmt.Sprintf("the youngest row is of %s by this layout", p.Text(p.At(key)))
	}

	p.plan.problem("", "no row is younger than the retention, which begins at %s (%s): "+
		"are the layout and the clocks right? Nothing is removed until there is one", p.Text(p.At(p.cutoff)), youngest)
	return false
}

// steady reports whether rows came in all of the retained time, except for as many consecutive periods as are normal.
// Clocks that jump ahead leave a longer gap, even if rows of the wrong time follow. The gap is seen as long as rows of
// before it are retained by the right time, except for the last of these periods. So clocks that are ahead remove
// nothing more than this number of periods, and two, too early.
func (p *planner) steady() bool {
	normal := p.idle
	if normal < 0 {
		normal = max(p.retain-1, 0) / 12
	}

	times := []period.Span{p.Containing(p.earliest().Add(-p.grace))}
	for len(times) <= p.retain && times[len(times)-1].Lo > 0 {
		times = append(times, p.Previous(times[len(times)-1]))
	}

	for k := 0; k+normal+1 < len(times); {
		next := k + normal + 1 // the farthest one first: if it has rows, no other is read
		for next > k && !p.occupied(times[next]) {
			next--
		}

		if next == k {
			return p.reportGapBetween(times, k, k+normal+1)
		}

		k = next
	}

	return true
}

// reportGapBetween reports, as a problem, that the periods after first up to last, which go back, have no rows, and others before
// have. It returns true if there are none before.
func (p *planner) reportGapBetween(times []period.Span, first, last int) bool {
	if _, older := p.newest(times[last].Lo); !older {
		return true
	}
	for last+1 < len(times) && !p.occupied(times[last+1]) {
		last++
	}
	p.plan.problem("", "there is no row from %s to %s, but there are older ones: were the clocks right, or are "+
		"they ahead? Nothing is removed while this time is retained, unless WithIdle(%d) says that such a gap is normal",
		p.Text(times[last].From), p.Text(times[first].From), last-first)
	return false
}

// reportContradiction reports, as a problem, that by the layout no row is of a time near the clocks. A table without rows that
// had partitions all the time has one that ends near them.
func (p *planner) reportContradiction() bool {
	if p.latest.Before(p.Layout.Epoch()) {
		return false // create returns an error
	}

	at := p.Before(p.Containing(p.earliest()), max(p.idle, 0)+1)
	from := period.Earlier(at.From, p.earliest().Add(-dormant))
	to := period.Later(p.horizon().To, p.latest.Add(dormant))
	for _, part := range p.parts {
		if end := p.At(part.hi); !end.Before(from) && !end.After(to) {
			return false
		}
	}

	if key, found := p.newest(p.Of(p.Bound(p.latest)).Hi); found && !p.At(key).Before(from) || !from.Before(p.Layout.End()) {
		return false
	}

	key, found := p.newest(noHigh)
	if key < p.afterSequences() {
		return false
	}

	if found {
		p.plan.problem("", "the youngest row is of %s by this layout, and no partition ends within %d days of %s: "+
			"are the layout and the clocks right? Nothing is done. If the table was not in use for so long, or its rows were "+
			"imported, set WithIdle", p.Text(p.At(key)), dormant/(24*time.Hour), p.Text(p.now))
	}

	return found
}

// afterSequences returns the least key that is taken for an ID without WithStart. Keys of a sequence that was in use
// before are of the time after the epoch, whatever the layout is.
func (p *planner) afterSequences() int64 {
	return p.Bound(p.Layout.Epoch().Add(time.Hour + p.Layout.Period()))
}

// newest returns the greatest key below hi.
func (p *planner) newest(hi int64) (key int64, found bool) {
	for i := len(p.parts) - 1; i >= 0 && !found; i-- {
		if p.parts[i].lo < hi {
			key, found = p.find(p.parts[i], noLow, hi, greatest)
		}
	}
	if p.defaultPart != nil {
		if misplaced, has := p.find(*p.defaultPart, noLow, hi, greatest); has && (!found || misplaced > key) {
			return misplaced, true
		}
	}
	return key, found
}

// occupied reports whether there is a row of the period.
func (p *planner) occupied(at period.Span) bool {
	parts := p.from(at.Lo)
	if p.defaultPart != nil {
		parts = append(slices.Clip(parts), *p.defaultPart)
	}
	return slices.ContainsFunc(parts, func(part part) bool {
		if part.lo >= at.Hi {
			return false
		}
		key, found := p.find(part, noLow, at.Hi, greatest)
		return found && key >= at.Lo
	})
}

// reportStrange reports, as a problem, a partition that leaves no room for those ahead, or lies far behind them. A Set with
// another layout has made it, or a clock that was wrong.
func (p *planner) reportStrange(last period.Span) {
	before := last.To
	for i, part := range p.parts {
		if i > 0 {
			before = p.At(p.parts[i-1].hi)
		}

		end := p.At(part.hi)
		if part.hi > last.Hi && part.hi != noHigh && p.isStrange(before, end) {
			p.plan.problem(part.table,
				"it ends at %s, long after %s: another layout, or a wrong clock, may have made it. "+
					"Drop it and those after it if they have no rows, or split it", p.Text(end), p.Text(before))
			return
		}
	}
}

// isStrange reports whether a partition ends long after the one before it.
func (p *planner) isStrange(before, end time.Time) bool {
	return end.Sub(before) > strange && end.After(p.Next(p.Next(p.Containing(before))).To)
}
