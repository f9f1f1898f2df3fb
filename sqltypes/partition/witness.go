package partition

import (
	"fmt"
	"slices"
	"sort"
	"time"
)

// The keys of rows are a clock of their own: they say whether the layout and the other clocks are right.

const (
	// dormant is the longest pause after which a table with rows is maintained again without a person.
	dormant = 90 * 24 * time.Hour
	// strange is the least time between the ends of two partitions ahead that is reported.
	strange = 400 * 24 * time.Hour
)

// idlePeriods returns how many consecutive periods without rows are normal.
func (p *planner) idlePeriods() int {
	if p.idle < 0 {
		return max(p.retain-1, 0) / 12
	}
	return p.idle
}

// contradicted reports, as a problem, that by the layout no row is of a time near the clocks. A table without rows that had
// partitions all the time has one that ends near them.
func (p *planner) contradicted() (bool, error) {
	if p.latest.Before(p.layout.Epoch()) {
		return false, nil // create returns an error
	}
	at := p.period(p.earliest())
	for range max(p.idle, 0) + 1 {
		if at.lo == 0 {
			break
		}
		at = p.previous(at)
	}
	from, to := earlier(at.from, p.earliest().Add(-dormant)), later(p.horizon().to, p.latest.Add(dormant))
	for _, part := range p.parts {
		if end := p.at(part.hi); !end.Before(from) && !end.After(to) {
			return false, nil
		}
	}
	key, found, err := p.youngest()
	if err != nil || found && !p.at(key).Before(from) || !from.Before(p.layout.End()) {
		return false, err
	}
	key, found, err = p.newest(noHigh)
	// Keys of a sequence that was in use before are of the time after the epoch, whatever the layout is.
	if epoch := p.layout.Epoch(); key < p.span(epoch, epoch.Add(time.Hour)).hi {
		return false, err
	}
	if found {
		p.problem("", fmt.Sprintf("the youngest row is of %s by this layout, and no partition ends within %d days of %s: "+
			"are the layout and the clocks right? Nothing is done. If the table was not in use for so long, or its rows were imported, set WithIdle",
			p.text(p.at(key)), dormant/(24*time.Hour), p.text(p.now)))
	}
	return found, err
}

// youngest returns the greatest key up to the end of the current period. Greater ones say nothing about the retained time.
func (p *planner) youngest() (key int64, found bool, err error) {
	return p.newest(p.period(later(p.now, p.local)).hi)
}

// newest returns the greatest key below hi.
func (p *planner) newest(hi int64) (key int64, found bool, err error) {
	for i := len(p.parts) - 1; i >= 0 && !found; i-- {
		if p.parts[i].lo < hi {
			key, found, err = p.probe.greatest(p.parts[i], hi)
		}
		if err != nil {
			return 0, false, err
		}
	}
	if p.fallback == nil {
		return key, found, nil
	}
	stray, has, err := p.probe.greatest(*p.fallback, hi)
	if has && (!found || stray > key) {
		key, found = stray, true
	}
	return key, found, err
}

// occupied reports whether there is a row of the period.
func (p *planner) occupied(at period) (bool, error) {
	first := sort.Search(len(p.parts), func(i int) bool { return p.parts[i].hi > at.lo })
	parts := p.parts[first:]
	if p.fallback != nil {
		parts = append(slices.Clip(parts), *p.fallback)
	}
	for _, part := range parts {
		if part.lo >= at.hi {
			continue
		}
		if key, found, err := p.probe.greatest(part, at.hi); err != nil || found && key >= at.lo {
			return err == nil, err
		}
	}
	return false, nil
}

// steady reports whether rows came in all of the retained time, but for as many periods as are normal. If clocks jump ahead
// there are none of the time between, also if there are rows of the wrong clocks after it: then it is a problem.
//
// The gap is seen as long as rows of before it are retained by the right time, but for the last of these periods. So clocks
// that are ahead remove nothing more than this number of periods, and two, too early.
func (p *planner) steady() (bool, error) {
	normal := p.idlePeriods()
	times := []period{p.period(p.earliest().Add(-p.grace))}
	for len(times) <= p.retain && times[len(times)-1].lo > 0 {
		times = append(times, p.previous(times[len(times)-1]))
	}
	for k := 0; k+normal+1 < len(times); {
		next := k + normal + 1 // the farthest one first: if it has rows, no other is read
		for ; next > k; next-- {
			if found, err := p.occupied(times[next]); err != nil {
				return false, err
			} else if found {
				break
			}
		}
		if next == k {
			return p.gapped(times, k, k+normal+1)
		}
		k = next
	}
	return true, nil
}

// gapped reports, as a problem, that the periods after first up to last, which go back, have no rows, and others before have.
// It returns true if there are none before.
func (p *planner) gapped(times []period, first, last int) (bool, error) {
	_, older, err := p.newest(times[last].lo)
	if err != nil || !older {
		return err == nil, err
	}
	for last+1 < len(times) {
		if found, err := p.occupied(times[last+1]); err != nil {
			return false, err
		} else if found {
			break
		}
		last++
	}
	p.problem("", fmt.Sprintf("there is no row from %s to %s, but there are older ones: were the clocks right, or are they ahead? "+
		"Nothing is removed while this time is retained, unless WithIdle(%d) says that such a gap is normal",
		p.text(times[last].from), p.text(times[first].from), last-first))
	return false, nil
}

// strangers reports, as a problem, a partition that leaves no room for those ahead, or lies far behind them. A Set with
// another layout has made it, or a clock that was wrong.
func (p *planner) strangers(last period) {
	before := last.to
	for i, part := range p.parts {
		if i > 0 {
			before = p.at(p.parts[i-1].hi)
		}
		end := p.at(part.hi)
		if part.hi > last.hi && part.hi != noHigh && end.Sub(before) > strange && end.After(p.next(p.next(p.period(before))).to) {
			p.problem(part.table, fmt.Sprintf("it ends at %s, long after %s: another layout, or a wrong clock, may have made it. "+
				"Drop it and those after it if they have no rows, or split it", p.text(end), p.text(before)))
			return
		}
	}
}
