package snowflake

import (
	"context"
	"math"
	"time"
)

// Clock is where a generator takes its time from. The system clock is built in;
// WithClock puts another in its place, so that tests own the time. Its methods
// must be safe for concurrent use.
type Clock interface {
	// Now returns the wall clock's time, which may step in both directions.
	Now() time.Time

	// Elapsed returns the time since any fixed instant by a clock that keeps on
	// going: it neither steps nor goes back. It is read for every ID.
	Elapsed() time.Duration

	// Sleep waits for d, or until ctx is done, and then returns ctx.Err().
	Sleep(ctx context.Context, d time.Duration) error
}

// origin is what the system clock's Elapsed counts from. It never changes.
var origin = time.Now()

// inBubble reports whether the caller runs in a testing/synctest bubble, whose
// clock starts in the year 2000: only there, until the year 2157, does time.Now
// return a time without a monotonic reading.
func inBubble() bool {
	now := time.Now()
	return now == now.Round(0) //nolint:staticcheck // Equal would not see the reading
}

// systemClock is the built-in Clock.
type systemClock struct{}

func (systemClock) Now() time.Time         { return time.Now() }
func (systemClock) Elapsed() time.Duration { return time.Since(origin) }

func (systemClock) Sleep(ctx context.Context, d time.Duration) error {
	if ctx.Done() == nil {
		time.Sleep(d)
		return nil
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// bubbleClock is the system clock for a generator that was made in a
// testing/synctest bubble.
type bubbleClock struct{ systemClock }

// Elapsed returns a time before every epoch outside a bubble, where the rest of
// the clock is decades off.
func (c bubbleClock) Elapsed() time.Duration {
	if !inBubble() {
		return math.MinInt64
	}
	return c.systemClock.Elapsed()
}
