package partition

import (
	"fmt"
	"slices"

	"github.com/sqlflake/sqlflake/snowflake"
	"github.com/sqlflake/sqlflake/snowflake/sqldb"
)

// retire plans what happens to partitions beyond the retention.
func (p *planner) retire() error {
	for _, part := range p.parts {
		expired := p.expired(part)
		if part.moved && (part.split || !expired) {
			p.problem(part.table, fmt.Sprintf("an earlier call that moved its rows to the table %s was interrupted: insert them "+
				"again and drop that table, or remove its comment to keep it", part.twin))
			continue
		}
		if part.fixed && expired {
			p.problem(part.table, "it is beyond the retention, but has partitions of its own, or is a foreign table: detach it by hand")
			continue
		}
		if !expired {
			if part.pending {
				p.problem(part.table, "a DETACH CONCURRENTLY was interrupted, and it is not beyond the retention any more: finish it with FINALIZE")
			} else if part.interrupted {
				p.step(Step{
					Action: actionAlter, Partition: part.table, Lo: snowflake.ID(part.lo), Hi: snowflake.ID(part.hi),
					Why: "not beyond the retention any more: removes the mark of an interrupted DETACH CONCURRENTLY",
				})
			}
			continue
		}
		floor := p.floor(part)
		if blocked, err := p.blocked(part, floor); err != nil {
			return err
		} else if blocked {
			continue
		}
		if err := p.retireOne(part, floor); err != nil {
			return err
		}
	}
	return nil
}

// expired reports whether all of a partition is beyond the retention.
func (p *planner) expired(part part) bool {
	return p.retain > 0 && part.hi <= p.cutoff && part.hi != noHigh
}

// floor returns the least key that a partition is supposed to have, or noLow if it can have no smaller one. Smaller
// keys are no IDs of the layout, such as those of a sequence that was in use before. They can be in a partition whose
// lower bound is none or made by hand, and in any one if WithStart says which ID is the oldest.
func (p *planner) floor(part part) int64 {
	if !p.begin.IsZero() {
		return above(part, p.span(p.begin, p.begin).lo)
	}
	if part.lo > 0 && p.period(p.at(part.lo)).lo == part.lo {
		return noLow
	}
	at := p.period(p.at(part.hi - 1))
	if before := p.previous(at); before.lo > 0 {
		at = before // when the partition was made, the zone or its rules may have been others
	}
	if at.lo == 0 {
		return part.hi // IDs of the epoch's period can't be told from small keys
	}
	return above(part, at.lo)
}

// above returns the floor if it is above the lower bound of the partition, else noLow.
func above(part part, floor int64) int64 {
	if part.lo >= floor {
		return noLow
	}
	return floor
}

// blocked reports, as a problem, a row below the floor of a partition.
func (p *planner) blocked(part part, floor int64) (bool, error) {
	if floor == noLow {
		return false, nil
	}
	foreign, found, err := p.probe.below(part, floor)
	switch {
	case found && p.begin.IsZero():
		p.problem(part.table, fmt.Sprintf("it is beyond the retention, but has a row with the key %d, which is older than "+
			"its time: remove such rows, or set WithStart to the time of the oldest ID", foreign))
	case found:
		p.problem(part.table, fmt.Sprintf("it is beyond the retention, but has a row with the key %d, which is older than "+
			"WithStart, %s: remove or move such rows", foreign, p.text(p.begin)))
	}
	return found, err
}

// retention returns WithRetain for people.
func (p *planner) retention() string {
	text := count(p.retain, p.unit.noun())
	if !p.unit.calendar() {
		text += fmt.Sprintf(" of %v", p.unit)
	}
	return text
}

// retireOne plans the next step for a partition beyond the retention.
func (p *planner) retireOne(part part, floor int64) error {
	step := Step{
		Action: actionDrop, Partition: part.table, Lo: snowflake.ID(part.lo), Hi: snowflake.ID(part.hi),
		Rows: part.rows, Bytes: part.bytes, floor: floor, Why: "beyond the retention of " + p.retention(),
	}
	switch {
	case p.concurrent() || part.pending:
		step.Action, step.finish = actionDetach, true
	case p.rename != nil:
		step.Action = actionRename
	case p.archive != nil:
		step.Action = actionDetach
	}
	if p.trigger != "" && step.Action != actionDrop && !part.moved {
		p.problem(part.table, fmt.Sprintf("MariaDB can't make it a table because of the trigger %s, which uses another table: "+
			"drop the trigger while Maintain runs, or remove Keep and Archive", p.trigger))
		return nil
	}
	return p.remove(part, step)
}

// remove plans a step that removes rows from the table, or drops or renames those removed before.
func (p *planner) remove(part part, step Step) error {
	if !p.keepable(part) {
		return nil
	}
	live, err := p.alive()
	if live {
		p.step(step)
	}
	return err
}

// alive reports whether rows may be removed: the table has a row of the retained time, and others at all times of it. If it
// has none, that is a problem: by a wrong layout or wrong clocks, all partitions may seem to be beyond the retention.
func (p *planner) alive() (bool, error) {
	if p.live != nil {
		return *p.live, nil
	}
	for _, part := range slices.Concat(p.loose, p.parts) {
		if part.due && p.archive == nil {
			p.live = new(bool)
			p.problem(part.table, "another Set is to archive it, and this one has no Archive: nothing is removed until that is done. "+
				"To keep the table, remove the line from its comment")
			return false, nil
		}
	}
	key, found, err := p.youngest()
	if err != nil {
		return false, err
	}
	live := found && key >= p.cutoff
	if live {
		live, err = p.steady()
		p.live = &live
		return live, err
	}
	p.live = &live
	youngest := "there is no row"
	if found {
		youngest = fmt.Sprintf("the youngest row is of %s by this layout", p.text(p.at(key)))
	}
	p.problem("", fmt.Sprintf("no row is younger than the retention, which begins at %s (%s): are the layout and the clocks right? "+
		"Nothing is removed until there is one", p.text(p.at(p.cutoff)), youngest))
	return false, nil
}

// keepable reports, as a problem, a name of Keep that is not usable.
func (p *planner) keepable(part part) bool {
	if p.rename == nil {
		return true
	}
	err := p.checkNew(p.keptName(part).table)
	if err != nil {
		p.plan.Problems = append(p.plan.Problems, problem{part.table, "WithKeep: " + err.Error(), ErrName})
	}
	return err == nil
}

// finishLoose plans what is left to do for tables that were detached.
func (p *planner) finishLoose() error {
	for _, part := range p.loose {
		text := part.String()
		if !p.expired(part) {
			p.problem(text, "it was detached, and is not beyond the retention any more: attach it again, drop it, or remove the comment")
			continue
		}
		outside, err := p.outside(part)
		if err != nil {
			return err
		}
		if outside {
			p.problem(text, "it was detached, and has rows outside of its bounds: remove them, or remove the comment to keep it")
			continue
		}
		step := Step{
			Action: actionDrop, Partition: text, Lo: snowflake.ID(part.lo), Hi: snowflake.ID(part.hi),
			Rows: part.rows, Bytes: part.bytes, floor: noLow, Why: "detached before",
		}
		switch {
		case p.rename != nil:
			step.Action = actionRename
		case p.archive != nil && !part.archived:
			step.Action, step.finish = actionArchive, true
		}
		if err := p.remove(part, step); err != nil {
			return err
		}
	}
	return nil
}

// outside reports whether a table that was detached has rows outside of its bounds: since then somebody wrote to it, or
// attached it with other ones.
func (p *planner) outside(part part) (bool, error) {
	if _, found, err := p.probe.below(part, max(part.lo, p.floor(part))); found || err != nil {
		return found, err
	}
	return p.probe.within(part, part.hi, noHigh)
}

// concurrent reports whether partitions are detached concurrently. PostgreSQL refuses it for tables with a default
// partition.
func (p *planner) concurrent() bool {
	return p.concurrently && p.fallback == nil && p.dialect == sqldb.Postgres
}
