package partition

import (
	"fmt"
	"slices"
	"time"

	"github.com/sqlflake/sqlflake/contrib/partition/internal/engine"
	"github.com/sqlflake/sqlflake/contrib/partition/internal/period"
)

// dormant is the longest pause after which a table with rows is maintained again without a person.
const dormant = 90 * 24 * time.Hour

// retire plans what happens to partitions beyond the retention. One is removed only if it is expired and has no row
// below its floor, and reportDead finds nothing; reportContradiction comes before all steps.
func (p *planner) retire() {
	for _, part := range p.Parts {
		expired := p.expired(part)
		switch {
		case part.Split, part.Moved && !expired:
			p.plan.problem(part.Table, "an earlier call that moved its rows to the table %s was interrupted: "+
				"insert them again and drop that table, or remove its comment to keep it", part.ExchangeTable)

		case part.Pending:
			p.plan.problem(part.Table, "a DETACH CONCURRENTLY was interrupted: finish it with FINALIZE")

		case part.Fixed && expired:
			p.plan.problem(part.Table,
				"it is beyond the retention, but has partitions of its own, or is a foreign table: "+
					"detach it by hand")

		case expired:
			p.retireOne(part)

		case part.Reattached:
			change := engine.Change{
				Action: engine.Alter, Partition: part.Table, Lo: part.Lo, Hi: part.Hi, Part: part,
			}
			p.add(change, "attached again: removes the mark, with which it would be dropped once it is detached")
		}
	}
}

// dropOf returns the change that drops a partition or a detached table.
func dropOf(part engine.Part, text string) engine.Change {
	return engine.Change{
		Action: engine.Drop, Partition: text, Lo: part.Lo, Hi: part.Hi, Part: part, Floor: engine.NoLow,
	}
}

// expired reports whether all of a partition is beyond the retention.
func (p *planner) expired(part engine.Part) bool {
	ended := part.Hi != engine.NoHigh && part.Hi <= p.cutoff
	return p.retain > 0 && ended
}

// retireOne plans the next step for a partition beyond the retention.
func (p *planner) retireOne(part engine.Part) {
	floor := p.floor(part)
	if p.reportOldRow(part, floor) {
		return
	}

	change := dropOf(part, part.Table)
	change.Floor = floor
	switch {
	case p.table.Keep:
		change.Action = engine.Keep
	case p.table.Archive != nil:
		change.Action = engine.Detach
	}

	becomesTable := change.Action != engine.Drop && !part.Moved
	if p.Trigger != "" && becomesTable {
		p.plan.problem(part.Table,
			"MariaDB can't make it a table because of the trigger %s, which uses another table: "+
				"drop the trigger while Maintain runs, or remove WithKeep and WithArchive", p.Trigger)
		return
	}

	why := "beyond the retention of " + count(p.retain, p.Unit.Noun())
	if !p.Unit.ByCalendar() {
		why += fmt.Sprintf(" of %v", time.Duration(p.Unit))
	}
	p.remove(change, why)
}

// finishDetached plans what is left to do for tables that were detached.
func (p *planner) finishDetached() {
	for _, part := range p.Detached {
		text := part.String()
		if !p.expired(part) {
			p.plan.problem(text,
				"it was detached, and is not beyond the retention any more: attach it again, drop it, "+
					"or remove the comment")
			continue
		}

		if p.hasRowsOutside(part) {
			p.plan.problem(text, "it was detached, and has rows outside of its bounds: remove them, "+
				"or remove the comment to keep it")
			continue
		}

		change := dropOf(part, text)
		change.Detached = true
		switch {
		case p.table.Keep:
			change.Action = engine.Keep
		case p.table.Archive != nil && !part.Archived:
			change.Action = engine.Archive
		}

		p.remove(change, "detached before")
	}
}

// remove plans a change that removes rows from the table, or drops or keeps those removed before.
func (p *planner) remove(change engine.Change, why string) {
	if !p.reportDead() {
		p.add(change, why)
	}
}

// floor returns the least key that a partition is supposed to have, or NoLow if it can have no smaller one. Smaller
// keys are no IDs of the layout, such as the numbers of a sequence that was in use before. They can be in a partition
// whose lower bound is none or made by hand, and in any one if WithStart says which ID is the oldest.
func (p *planner) floor(part engine.Part) int64 {
	floor := p.Bound(p.begin)
	if p.begin.IsZero() {
		if part.Lo > 0 && p.Of(part.Lo).Lo == part.Lo {
			return engine.NoLow
		}

		at := p.Of(part.Hi - 1)
		if before := p.Previous(at); before.Lo > 0 {
			at = before // when the partition was made, the zone or its rules may have been others
		}

		if at.Lo == 0 {
			return part.Hi // IDs of the epoch's period can't be distinguished from small keys
		}

		floor = at.Lo
	}

	if part.Lo >= floor {
		return engine.NoLow
	}

	return floor
}

// reportOldRow reports, as a problem, a row below the floor of a partition.
func (p *planner) reportOldRow(part engine.Part, floor int64) (reported bool) {
	if floor == engine.NoLow {
		return false
	}

	key, found := p.find(part, engine.NoLow, floor, engine.Least)
	if !found {
		return false
	}

	than, mend := "its time", "remove such rows, or set WithStart to the time of the oldest ID"
	if !p.begin.IsZero() {
		than, mend = "WithStart, "+p.Text(p.begin), "remove or move such rows"
	}

	p.plan.problem(part.Table,
		"it is beyond the retention, but has a row with the key %d, which is older than %s: %s",
		key, than, mend)
	return true
}

// hasRowsOutside reports whether a detached table has rows outside of its bounds: it was written to since, or attached
// again with other bounds.
func (p *planner) hasRowsOutside(part engine.Part) bool {
	_, below := p.find(part, engine.NoLow, max(part.Lo, p.floor(part)), engine.Least)
	if below {
		return true
	}
	_, above := p.find(part, part.Hi, engine.NoHigh, engine.Least)
	return above
}

// reportDead reports, as a problem, that no rows may be removed: another Set has to archive a table first, the table
// has no row of the retained time, or that time has a gap. With a wrong layout or wrong clocks, all partitions may seem
// to be beyond the retention. It reports once.
func (p *planner) reportDead() (reported bool) {
	if p.dead == nil {
		dead := p.reportDue() || p.reportNoYoungRow() || p.reportGap()
		p.dead = &dead
	}
	return *p.dead
}

// reportDue reports, as a problem, a table that another Set has to archive.
func (p *planner) reportDue() (reported bool) {
	if p.table.Archive != nil {
		return false
	}

	for _, part := range slices.Concat(p.Detached, p.Parts) {
		if part.Due {
			p.plan.problem(part.Table,
				"another Set is to archive it, and this one has no WithArchive: nothing is removed "+
					"until that is done. To keep the table, remove the line from its comment")
			return true
		}
	}

	return false
}

// reportNoYoungRow reports, as a problem, that the table has no row of the retained time.
func (p *planner) reportNoYoungRow() (reported bool) {
	key, found := p.newest(p.Of(p.Bound(p.latest)).Hi) // greater ones say nothing about the retained time
	if found && key >= p.cutoff {
		return false
	}

	youngest := "there is no row"
	if found {
		youngest = fmt.Sprintf("the youngest row is of %s by this layout", p.Text(p.At(key)))
	}

	p.plan.problem("", "no row is younger than the retention, which begins at %s (%s): "+
		"are the layout and the clocks right? Nothing is removed until there is one", p.Text(p.At(p.cutoff)), youngest)
	return true
}

// reportGap reports, as a problem, that rows did not come in all of the retained time, except for as many consecutive
// periods as are normal. Clocks that jump ahead leave a longer gap, even if rows of the wrong time follow. The gap is
// seen as long as rows of before it are retained by the right time, except for the last of these periods. So clocks
// that are ahead remove at most this number of periods, and two, too early.
func (p *planner) reportGap() (reported bool) {
	normal := p.idle
	if normal < 0 {
		normal = max(p.retain-1, 0) / 12
	}

	times := []period.Span{p.Containing(p.earliest().Add(-p.grace))}
	for len(times) <= p.retain && times[len(times)-1].Lo > 0 {
		times = append(times, p.Previous(times[len(times)-1]))
	}

	first, found := p.findGap(times, normal+1)
	return found && p.reportGapBetween(times, first, first+normal+1)
}

// findGap returns the first time after which this many periods, which go back, have no rows.
func (p *planner) findGap(times []period.Span, length int) (first int, found bool) {
	for first+length < len(times) {
		next := first + length // the farthest one first: if it has rows, no other is read
		for next > first && !p.occupied(times[next]) {
			next--
		}

		if next == first {
			return first, true
		}
		first = next
	}

	return 0, false
}

// reportGapBetween reports, as a problem, that the periods after first up to last, which go back, have no rows, and
// others before have.
func (p *planner) reportGapBetween(times []period.Span, first, last int) (reported bool) {
	if _, older := p.newest(times[last].Lo); !older {
		return false
	}

	for last+1 < len(times) && !p.occupied(times[last+1]) {
		last++
	}

	p.plan.problem("", "there is no row from %s to %s, but there are older ones: were the clocks right, or are "+
		"they ahead? Nothing is removed while this time is retained, "+
		"unless WithIdle(%d) says that such a gap is normal",
		p.Text(times[last].From), p.Text(times[first].From), last-first)
	return true
}

// occupied reports whether there is a row of the period.
func (p *planner) occupied(at period.Span) bool {
	parts := p.endingAfter(at.Lo)
	if p.Default != nil {
		parts = append(slices.Clip(parts), *p.Default)
	}
	return slices.ContainsFunc(parts, func(part engine.Part) bool {
		if part.Lo >= at.Hi {
			return false
		}
		key, found := p.find(part, engine.NoLow, at.Hi, engine.Greatest)
		return found && key >= at.Lo
	})
}

// reportContradiction reports, as a problem, that by the layout no row is of a time near the clocks. A table without
// rows that had partitions all the time has one that ends near them.
func (p *planner) reportContradiction() (reported bool) {
	if p.latest.Before(p.Layout.Epoch()) {
		return false // create returns an error
	}

	at := p.Before(p.Containing(p.earliest()), max(p.idle, 0)+1)
	from := period.Earlier(at.From, p.earliest().Add(-dormant))
	if p.hasPartitionNear(from) {
		return false
	}

	key, found := p.newest(p.Of(p.Bound(p.latest)).Hi)
	isNear := found && !p.At(key).Before(from)
	if isAfterLayout := !from.Before(p.Layout.End()); isNear || isAfterLayout {
		return false
	}

	key, found = p.newest(engine.NoHigh)
	if isOfSequence := key < p.afterSequences(); !found || isOfSequence {
		return false
	}

	p.plan.problem("", "the youngest row is of %s by this layout, and no partition ends within %d days of %s: "+
		"are the layout and the clocks right? Nothing is done. If the table was not in use for so long, "+
		"or its rows were imported, set WithIdle", p.Text(p.At(key)), dormant/(24*time.Hour), p.Text(p.Now))
	return true
}

// hasPartitionNear reports whether a partition ends after from, and before the end of those ahead or of a pause.
func (p *planner) hasPartitionNear(from time.Time) bool {
	to := period.Later(p.horizon().To, p.latest.Add(dormant))
	return slices.ContainsFunc(p.Parts, func(part engine.Part) bool {
		end := p.At(part.Hi)
		return !end.Before(from) && !end.After(to)
	})
}
