package leasetest

import (
	"cmp"
	"slices"
	"time"

	"github.com/sqlflake/sqlflake/snowflake/lease"
)

type namespace struct {
	layout string
	rows   map[int64]*row // by worker
}

type row struct {
	epoch   int64
	token   string
	horizon int64
	expires time.Time
	holder  lease.Holder
}

// held reports whether the clock has not reached the expiry.
func (r *row) held(now time.Time) bool { return now.Before(r.expires) }

// find returns the lowest worker that is held with the token.
func (ns *namespace) find(token string, now time.Time) (worker int64, ok bool) {
	for candidate, found := range ns.rows {
		if found.token == token && found.held(now) && (!ok || candidate < worker) {
			worker, ok = candidate, true
		}
	}
	return worker, ok
}

// choose returns the free worker that is to be taken next, false if there is none.
func (ns *namespace) choose(r lease.Request, now time.Time) (worker int64, ok bool) {
	var free []int64
	taken := int64(0) // rows in the range
	for worker, found := range ns.rows {
		if worker < r.First || worker > r.Last {
			continue
		}
		taken++
		if !found.held(now) {
			free = append(free, worker)
		}
	}
	slices.SortFunc(free, func(a, b int64) int {
		x, y := ns.rows[a], ns.rows[b]
		return cmp.Or(
			// Nothing below the tick counts: those are equal.
			cmp.Compare(max(x.horizon, r.Tick), max(y.horizon, r.Tick)),
			x.expires.Compare(y.expires),
			cmp.Compare(a, b))
	})
	if len(free) > 0 && ns.rows[free[0]].horizon <= r.Tick {
		return free[0], true
	}
	if taken <= r.Last-r.First {
		worker = r.First
		for ns.rows[worker] != nil {
			worker++
		}
		return worker, true
	}
	if len(free) > 0 {
		return free[0], true
	}
	return 0, false
}

func (ns *namespace) noWorker(r lease.Request, now time.Time) error {
	e := &lease.NoWorkerError{Namespace: r.Namespace, First: r.First, Last: r.Last}
	for worker, found := range ns.rows {
		if wait := found.expires.Sub(now); worker >= r.First && worker <= r.Last && (e.Wait == 0 || wait < e.Wait) {
			e.Wait = wait
		}
	}
	return e
}
