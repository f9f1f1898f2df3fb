package settled

import (
	"fmt"
	"time"

	"github.com/sqlflake/sqlflake/snowflake/lease"
)

// DefaultMargin is used without [WithMargin].
const DefaultMargin = 10 * time.Second

// Option is a setting of Read. A nil Option is an error that matches ErrOption.
type Option func(*config) error

type config struct {
	margin time.Duration
	leases []leases
}

// WithMargin sets how long before its transaction an ID may have been issued, by a clock that may be behind the
// database's: the sum of both, [DefaultMargin] by default. 0 is allowed, for tests. A longer margin delays the reader
// and is otherwise safe.
func WithMargin(d time.Duration) Option {
	return func(c *config) error {
		if d < 0 {
			return fmt.Errorf("%w: margin %v is negative", ErrOption, d)
		}
		c.margin = d
		return nil
	}
}

// WithLeases makes Read add the greatest lag of a clock that the leases of the namespace show to the margin. It may be
// given several times. The store must have the clock of the database that is read, as one in the same database has;
// stores without a clock, on files, show no lag.
//
// Package lease checks a clock once: Open rejects one that differs from the store's by more than WithMaxSkew, by
// default 10 s, the default margin. The lease table shows a clock that falls behind later, by the two times that an
// extension writes: a horizon by the owner's clock, and an expiry by the database's.
//
// That lag is the one of the last extension, up to half a window ago. The rows in doubt have older IDs: those of open
// transactions, and those that wait for one. So WithLeases assumes that since then no clock that was behind was
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
func WithLeases(store lease.Store, namespace string, window time.Duration) Option {
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

func configure(opts []Option) (config, error) {
	c := config{margin: DefaultMargin}
	for _, opt := range opts {
		if opt == nil {
			return config{}, fmt.Errorf("%w: nil Option", ErrOption)
		}
		if err := opt(&c); err != nil {
			return config{}, err
		}
	}
	return c, nil
}
