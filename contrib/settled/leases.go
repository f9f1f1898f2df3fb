package settled

import (
	"context"
	"fmt"
	"time"

	"github.com/sqlflake/sqlflake/snowflake"
	"github.com/sqlflake/sqlflake/snowflake/lease"
	"github.com/sqlflake/sqlflake/snowflake/lease/leasestore"
)

// WithLeases makes Read add the greatest lag of a clock that the leases of the namespace show to the margin. It may be
// given several times. The store must have the clock of the database that is read, as one in the same database has;
// stores without a clock, on files, show no lag.
//
// Package lease checks a clock once: Open rejects one that differs from the store's by more than WithMaxSkew, by
// default 10 s, the default margin. The lease table shows a clock that falls behind later, by the two times that an
// extension writes: a horizon by the owner's clock, and an expiry by the database's.
//
// That lag is the one of the last extension, up to half a window ago. The rows in doubt have older IDs: rows of open
// transactions, and rows that wait for one. So WithLeases assumes that since then no clock that was behind was
// corrected and no lease has ended: the lag would disappear from the table, but not from the ID. If the database's
// clock jumps forward, as after a failover to a server that is ahead, all others are behind and the table does not show
// it before the next extension. The margin must cover such differences.
//
// The table says nothing about other processes. A lease that has expired counts as free: its generator stopped at the
// horizon, a window before. The next owner is a new process, or one whose lease was extended late; the margin must
// cover its clock. A virtual machine that was suspended has a clock that is behind by that time until its generator
// compares it with the wall clock, within a second of its first call. No bound covers IDs from that second, unless
// their transaction was open before.
//
// window is the shortest that a process of the namespace uses ([lease.WithWindow]). If it is not known it is 0: the
// bound is then lower, by up to a third of the window of a lease, since Read has to assume the worst.
func WithLeases(store leasestore.Store, namespace string, window time.Duration) Option {
	return func(c *config) error {
		switch {
		case store == nil:
			return fmt.Errorf("%w: WithLeases: nil Store", ErrOption)
		case namespace == "":
			return fmt.Errorf("%w: WithLeases: the namespace is empty", ErrOption)
		case window < 0 || window > lease.MaxWindow:
			return fmt.Errorf("%w: WithLeases: window %v out of range [0, %v]", ErrOption, window, lease.MaxWindow)
		}

		c.leases = append(c.leases, leases{store, namespace, window})
		return nil
	}
}

// leases reads the leases of a namespace.
type leases struct {
	store     leasestore.Store
	namespace string
	window    time.Duration // the shortest
}

// owner is a lease that is held.
type owner struct {
	leasestore.Entry
	layout snowflake.Layout
	window time.Duration // at least
}

// owners returns the leases whose rows show the clocks of their owners. An owner without a horizon issues nothing yet.
func (c config) owners(ctx context.Context) (owners []owner, err error) {
	for _, l := range c.leases {
		entries, err := l.store.List(ctx, l.namespace)
		if err != nil {
			return nil, fmt.Errorf("settled: %w", err)
		}

		for _, e := range entries {
			if !showsClock(e) {
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

// showsClock reports whether the entry's owner may issue IDs and its row shows the owner's clock.
func showsClock(e leasestore.Entry) bool {
	return e.Held && e.Horizon > 0 && !e.Expires.IsZero()
}

// lag returns the most by which the owner's clock can have been behind the database's at the last extension. It may be
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
