package lease

import (
	"fmt"
	"log/slog"
	"math"
	"os"
	"time"

	"github.com/sqlflake/sqlflake/snowflake"
)

// Bounds and defaults of the settings.
const (
	DefaultNamespace = "default"
	DefaultWindow    = 10 * time.Second
	MinWindow        = 10 * time.Millisecond
	MaxWindow        = 10 * time.Minute
	DefaultMaxSkew   = 10 * time.Second
	DefaultPatience  = 5 * time.Second
)

// Option is a setting for Open. Options are made by the With functions of this
// package.
type Option interface{ apply(*config) }

type config struct {
	namespace   string
	window      time.Duration
	ttl         time.Duration
	maxSkew     time.Duration
	patience    time.Duration
	first, last int64 // last may be anyWorker
	stopOnLoss  bool
	holder      Holder
	log         *slog.Logger
	hook        func(Event)
	clock       snowflake.Clock
	generator   []snowflake.Option
}

// maxMaxSkew bounds WithMaxSkew: beyond, clocks have nothing to do with each other.
const maxMaxSkew = 365 * 24 * time.Hour

// anyWorker as the last of a range stands for the layout's greatest.
const anyWorker = math.MinInt64

type optionFunc func(*config)

func (f optionFunc) apply(c *config) { f(c) }

// WithNamespace sets whose workers are leased: 1 to 100 bytes. All processes
// whose IDs must differ have the same namespace and the same layout. Defaults to
// DefaultNamespace.
func WithNamespace(name string) Option { return optionFunc(func(c *config) { c.namespace = name }) }

// WithGenerator sets options of the generator: its layout, its lead, its clock.
func WithGenerator(opts ...snowflake.Option) Option {
	return optionFunc(func(c *config) { c.generator = append(c.generator, opts...) })
}

// WithClock puts a clock in the place of the system clock, for the lease and for
// its generator, for tests.
func WithClock(clock snowflake.Clock) Option {
	return optionFunc(func(c *config) {
		c.clock = clock
		c.generator = append(c.generator, snowflake.WithClock(clock))
	})
}

// WithWindow sets how far ahead of the clock the horizon is put at each
// extension, MinWindow to MaxWindow. Extensions come at half of it, so a
// generator survives an outage of the store of half a window to a whole one. A
// worker whose owner died is free after two windows, and its next owner may have to
// wait up to one for its first ID; one that was given back by Close costs no wait,
// however long the window. Defaults to DefaultWindow.
func WithWindow(d time.Duration) Option { return optionFunc(func(c *config) { c.window = d }) }

// WithWorkers sets the range of workers to choose from, both inclusive. Defaults
// to all that the layout has. Numbers outside may be given to processes by hand.
func WithWorkers(first, last int64) Option {
	return optionFunc(func(c *config) { c.first, c.last = first, last })
}

// WithMaxSkew sets how far the wall clock may be from the store's when Open takes
// a worker, at most a year, and how far ahead of it when a generator follows a
// step forward. Stores without a clock of their own, on files and on SQLite, can't
// tell; their steps forward are followed. Defaults to DefaultMaxSkew, the figure of Twitter's servers of 2010.
func WithMaxSkew(d time.Duration) Option { return optionFunc(func(c *config) { c.maxSkew = d }) }

// WithPatience sets how long calls whose context never ends, such as Next, wait
// for a horizon that has not risen before they return
// snowflake.ErrLeaseStalled. Defaults to DefaultPatience; 0 is not at all.
func WithPatience(d time.Duration) Option { return optionFunc(func(c *config) { c.patience = d }) }

// StopOnLoss makes a generator whose worker was taken over stop at its horizon
// with ErrLost, instead of going on under another worker.
func StopOnLoss() Option { return optionFunc(func(c *config) { c.stopOnLoss = true }) }

// WithVersion sets what List shows as the version of the program.
func WithVersion(version string) Option {
	return optionFunc(func(c *config) { c.holder.Version = version })
}

// WithLogger sets where the lease tells what happens to it: workers that are
// taken and released at level Info, lost workers, failed extensions and clock
// steps at level Warn, extensions at level Debug. Defaults to slog.Default().
func WithLogger(log *slog.Logger) Option { return optionFunc(func(c *config) { c.log = log }) }

// WithHook sets a function that is told of each event, one call after the other:
// by Open, by the lease's own goroutine, and by Close. It must not take long, nor
// call Close, which waits for it.
func WithHook(hook func(Event)) Option { return optionFunc(func(c *config) { c.hook = hook }) }

func configure(opts []Option) (config, error) {
	host, err := os.Hostname()
	if err != nil {
		host = "unknown"
	}
	c := config{
		namespace: DefaultNamespace,
		window:    DefaultWindow,
		maxSkew:   DefaultMaxSkew,
		patience:  DefaultPatience,
		last:      anyWorker,
		holder:    Holder{Host: host, PID: os.Getpid()},
		log:       slog.Default(),
		clock:     systemClock{},
	}
	for _, opt := range opts {
		if opt == nil {
			return c, fmt.Errorf("%w: nil Option", ErrOption)
		}
		opt.apply(&c)
	}
	switch {
	case c.namespace == "" || len(c.namespace) > 100:
		return c, fmt.Errorf("%w: namespace %.110q has %d bytes, want 1 to 100", ErrOption, c.namespace, len(c.namespace))
	case c.window < MinWindow || c.window > MaxWindow:
		return c, fmt.Errorf("%w: window %v out of range [%v, %v]", ErrOption, c.window, MinWindow, MaxWindow)
	case c.maxSkew <= 0 || c.maxSkew > maxMaxSkew:
		return c, fmt.Errorf("%w: skew %v out of range (0, %v]", ErrOption, c.maxSkew, maxMaxSkew)
	case c.patience < 0:
		return c, fmt.Errorf("%w: patience %v is negative", ErrOption, c.patience)
	case c.clock == nil:
		return c, fmt.Errorf("%w: nil Clock", ErrOption)
	case c.log == nil:
		return c, fmt.Errorf("%w: nil Logger", ErrOption)
	}
	c.ttl = 2 * c.window
	return c, nil
}

// workers returns the range of workers in a layout.
func (c *config) workers(l snowflake.Layout) (first, last int64, err error) {
	if last = c.last; last == anyWorker {
		last = l.MaxWorker()
	}
	if c.first < 0 || last < c.first || last > l.MaxWorker() {
		return 0, 0, fmt.Errorf("%w: workers %d to %d, the layout has 0 to %d", ErrOption, c.first, last, l.MaxWorker())
	}
	return c.first, last, nil
}

// ticks returns how many ticks d has, rounded up.
func ticks(d time.Duration, l snowflake.Layout) int64 {
	if d <= 0 {
		return 0
	}
	return min(int64((d+l.Tick()-1)/l.Tick()), math.MaxInt32)
}
