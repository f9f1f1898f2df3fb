package settled

import (
	"context"
	"fmt"
	"time"

	"github.com/sqlflake/sqlflake/snowflake"
	"github.com/sqlflake/sqlflake/snowflake/lease"
)

// leases are those of a namespace.
type leases struct {
	store     lease.Store
	namespace string
	window    time.Duration // the shortest
}

// owner is a lease that is held.
type owner struct {
	lease.Entry
	layout snowflake.Layout
	window time.Duration // at least
}

// owners returns the leases whose owners may issue IDs and whose rows show their clocks. An owner without a horizon
// issues nothing yet.
func (c config) owners(ctx context.Context) (owners []owner, err error) {
	for _, l := range c.leases {
		entries, err := l.store.List(ctx, l.namespace)
		if err != nil {
			return nil, fmt.Errorf("settled: %w", err)
		}
		for _, e := range entries {
			if !e.Held || e.Horizon <= 0 || e.Expires.IsZero() {
				continue
			}
			layout, err := snowflake.ParseLayout(e.Layout)
			if err != nil {
				return nil, fmt.Errorf("settled: the leases of namespace %q: %w", l.namespace, err)
			}
			owners = append(owners, owner{e, layout, l.window})
		}
	}
	return owners, nil
}

// lag returns by how much the owner's clock was behind the database's at the last extension, at most. It may be
// negative.
//
// The extension has set the horizon to the tick of the owner's clock, plus the window in ticks, rounded up, plus the
// lead; and the expiry to the database's time plus two windows. A greater window than the real one would hide a lag. So
// it is the shortest that is in use, or what is left of the two windows now, by half, if that is more. For that, now
// must not be before the extension, so the leases are listed before the clock is read.
//
// A horizon that an earlier owner of the worker has left may be higher, and then the owner issues nothing below it. The
// lead, some milliseconds, is left to the margin.
func (o owner) lag(now time.Time) time.Duration {
	window := max(o.window, o.Expires.Sub(now)/2)
	tick := o.layout.Tick()
	ahead := (window + tick - 1) / tick * tick
	clock := o.layout.Start(o.Horizon).Add(-ahead)
	return o.Expires.Add(-2 * window).Sub(clock)
}
