package lease

import (
	"cmp"
	"fmt"
	"log/slog"
	"math"
	"os"
	"runtime/debug"
	"slices"
	"time"

	"github.com/sqlflake/sqlflake/snowflake"
	"github.com/sqlflake/sqlflake/snowflake/internal/core"
	"github.com/sqlflake/sqlflake/snowflake/lease/leasestore"
)

const (
	// DefaultNamespace is used without [WithNamespace].
	DefaultNamespace = "default"

	// DefaultWindow is used without [WithWindow].
	DefaultWindow = 10 * time.Second

	// DefaultMaxSkew is used without [WithMaxSkew]. It is also by how much the clocks of two servers of a store may
	// differ when one takes the place of the other.
	DefaultMaxSkew = 10 * time.Second

	// MaxWindow is the longest window.
	MaxWindow = 10 * time.Minute

	minWindow       = 10 * time.Millisecond
	limitMaxSkew    = 365 * 24 * time.Hour // clocks that differ by more have nothing in common
	defaultPatience = 5 * time.Second
	anyWorker       = math.MinInt64 // as the last of a range: the layout's greatest
)

// Option is a setting for Open. The With functions return options. A nil Option, and a nil argument of a With function,
// is an error that matches ErrOption.
type Option func(*config) error

type config struct {
	namespace   string
	window      time.Duration
	ttl         time.Duration
	maxSkew     time.Duration
	patience    time.Duration
	first, last int64 // last may be anyWorker
	stopOnLoss  bool
	holder      leasestore.Holder
	log         *slog.Logger
	observers   []func(Event)
	clock       snowflake.Clock
	generator   []snowflake.Option
}

// option returns an Option that makes a change if it is valid, and else an error that matches ErrOption.
func option(valid bool, change func(*config), format string, args ...any) Option {
	return func(c *config) error {
		if !valid {
			return fmt.Errorf("%w: %s", ErrOption, fmt.Sprintf(format, args...))
		}
		change(c)
		return nil
	}
}

// WithNamespace sets whose workers are leased: 1 to 100 bytes, DefaultNamespace by default. All processes whose IDs
// must differ use the same namespace and the same layout.
func WithNamespace(name string) Option {
	return option(true, func(c *config) { c.namespace = name }, "") // Store.Acquire checks it
}

// WithLayout sets the layout of the IDs; without it, it is snowflake.Default. All processes of a namespace have one
// layout: [Open] returns [ErrLayout] for another one.
func WithLayout(l snowflake.Layout) Option { return WithGenerator(snowflake.WithLayout(l)) }

// WithGenerator sets options of the generator, such as its layout and its lead. If they replace its clock, that clock
// is compared with the store's like the system clock, and with the system clock if the store has none.
func WithGenerator(opts ...snowflake.Option) Option {
	valid := !slices.ContainsFunc(opts, func(o snowflake.Option) bool { return o == nil })
	return option(valid, func(c *config) { c.generator = append(c.generator, opts...) }, "WithGenerator: nil Option")
}

// WithClock replaces the system clock, for the lease and for its generator. A generator's own clock ([WithGenerator])
// stays, in either order of the options. It is for tests.
func WithClock(clock snowflake.Clock) Option {
	return option(clock != nil, func(c *config) { c.clock = clock }, "nil Clock")
}

// WithWindow sets how far ahead of the clock each extension puts the horizon: 10 ms to MaxWindow, DefaultWindow by
// default. Extensions come at half of the window, so a generator survives an outage of the store of half a window to a
// whole one. The worker of a killed process is free after two windows, and its next owner may have to wait up to one
// window for its first ID. A worker that was given back by Close causes no wait.
//
// On SQL servers a window longer than all before it in the namespace counts after an hour, when every replica that may
// be promoted knows it. Until then the lease uses a shorter one, and reports a *ReachError once in the event Failed.
func WithWindow(d time.Duration) Option {
	return option(minWindow <= d && d <= MaxWindow, func(c *config) { c.window = d },
		"window %v out of range [%v, %v]", d, minWindow, MaxWindow)
}

// WithWorkers sets the range of workers to choose from, both inclusive; by default all that the layout has. Numbers
// outside the range can be assigned to processes by hand.
func WithWorkers(first, last int64) Option {
	return option(true, func(c *config) { c.first, c.last = first, last }, "")
}

// WithMaxSkew sets how far the clock may be from the store's when Open takes a worker: by default 10 s, more than 0, at
// most a year. It also limits how far ahead of the store's a generator follows a step forward of the wall clock, and a
// horizon follows a generator if the server can fail over. Stores without a clock (files, SQLite, kvlease) can't
// confirm a step: each is followed.
//
// After a failover of an SQL store new owners wait for a window and this skew, at most 10 s of it. A skew greater than
// all before it in the namespace, up to 10 s, counts after an hour: until then the window is shorter by the difference,
// and Open returns a *ReachError if none is left.
func WithMaxSkew(d time.Duration) Option {
	return option(0 < d && d <= limitMaxSkew, func(c *config) { c.maxSkew = d },
		"skew %v out of range (0, %v]", d, limitMaxSkew)
}

// WithPatience sets how long calls whose context has no deadline, such as Next, wait for a horizon that does not rise
// before they return snowflake.ErrLeaseStalled: 5 s by default, 0 for no wait. It does not bound the wait until an ID
// below the horizon is due, up to a window after a takeover or a failover, or until clocks that were set back have
// caught up: for that use a context with a deadline.
func WithPatience(d time.Duration) Option {
	return option(d >= 0, func(c *config) { c.patience = d }, "patience %v is negative", d)
}

// WithStopOnLoss makes the generator return ErrLost as soon as the lease knows that its worker was taken over, instead
// of continuing with another worker.
func WithStopOnLoss() Option {
	return option(true, func(c *config) { c.stopOnLoss = true }, "")
}

// WithVersion sets what List shows as the version of the program. By default it is the version of the main module that
// the go command wrote into the binary, if there is one.
func WithVersion(version string) Option {
	return option(true, func(c *config) { c.holder.Version = version }, "")
}

// WithLogger sets where the lease logs its events: level Info for workers that are taken and given back, Warn for lost
// workers, failed calls of the store and clock steps, Debug for extensions. The default is slog.Default().
func WithLogger(log *slog.Logger) Option {
	return option(log != nil, func(c *config) { c.log = log }, "nil Logger")
}

// WithObserver adds a function that receives each event, one at a time and without a lock: from Open, from the lease's
// goroutine and from Close. It must return quickly, must not panic, and must not call Close, which waits for it.
func WithObserver(f func(Event)) Option {
	return option(f != nil, func(c *config) { c.observers = append(c.observers, f) }, "nil observer")
}

func configure(opts []Option) (config, error) {
	host, _ := os.Hostname() // empty after an error
	c := config{
		namespace: DefaultNamespace,
		window:    DefaultWindow,
		maxSkew:   DefaultMaxSkew,
		patience:  defaultPatience,
		last:      anyWorker,
		holder:    leasestore.Holder{Host: cmp.Or(host, "unknown"), PID: os.Getpid(), Version: buildVersion()},
		log:       slog.Default(),
	}
	for _, opt := range opts {
		if opt == nil {
			return c, fmt.Errorf("%w: nil Option", ErrOption)
		}
		if err := opt(&c); err != nil {
			return c, err
		}
	}

	if c.clock == nil {
		c.clock = core.SystemClock{}
	} else { // first, so that the generator's own clock replaces it
		c.generator = slices.Insert(c.generator, 0, snowflake.WithClock(c.clock))
	}
	c.ttl = 2 * c.window
	return c, nil
}

// buildVersion returns the version of the main module, or "" for a build that has none, as in a test.
func buildVersion() string {
	info, ok := debug.ReadBuildInfo()
	if !ok || info.Main.Version == "(devel)" {
		return ""
	}
	return info.Main.Version
}

// workers returns the range of workers in a layout.
func (c *config) workers(l snowflake.Layout) (first, last int64, err error) {
	if last = c.last; last == anyWorker {
		last = l.MaxWorker()
	}
	isRange := 0 <= c.first && c.first <= last
	if !isRange || last > l.MaxWorker() {
		return 0, 0, fmt.Errorf("%w: workers %d to %d, the layout has 0 to %d", ErrOption, c.first, last, l.MaxWorker())
	}
	return c.first, last, nil
}
