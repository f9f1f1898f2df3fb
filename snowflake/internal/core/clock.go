package core

import (
	"context"
	"errors"
	"math"
	"math/bits"
	"time"
)

// Clock is snowflake.Clock.
type Clock interface {
	Now() time.Time
	Elapsed() time.Duration
	Sleep(ctx context.Context, d time.Duration) error
}

// stepTolerance is how far the wall clock may differ from the generator's before it counts as a step.
const stepTolerance = 10 * time.Millisecond

var errForeignClock = errors.New(
	"snowflake: the generator was created inside another testing/synctest bubble or outside of any")

// origin is what the system clock's Elapsed counts from. It never changes.
var origin = time.Now()

// SystemClock is the Clock of generators and leases without WithClock.
type SystemClock struct{}

// Now returns the wall clock's time.
func (SystemClock) Now() time.Time { return time.Now() }

// Elapsed returns the time since origin.
func (SystemClock) Elapsed() time.Duration { return time.Since(origin) }

// Sleep is the function Sleep.
func (SystemClock) Sleep(ctx context.Context, d time.Duration) error { return Sleep(ctx, d) }

// Sleep waits for d, or until ctx is done, and then returns ctx.Err().
func Sleep(ctx context.Context, d time.Duration) error {
	if ctx.Done() == nil {
		time.Sleep(d) // allocates no timer
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

// inBubble reports whether the caller runs in a testing/synctest bubble. The clock of a bubble starts in the year 2000.
// Until its year 2157, and nowhere else, time.Now returns a time without a monotonic reading.
func inBubble() bool {
	now := time.Now()
	return now == now.Round(0) //nolint:staticcheck // Equal ignores the monotonic reading
}

// bubbleClock is the system clock of a generator that was created in a testing/synctest bubble.
type bubbleClock struct{ SystemClock }

// Elapsed returns a time before every epoch outside of bubbles, where the bubble's clock is decades off.
func (c bubbleClock) Elapsed() time.Duration {
	if !inBubble() {
		return math.MinInt64
	}
	return c.SystemClock.Elapsed()
}

// readBoth reads the wall clock and the elapsed time at one instant. It retries if the goroutine loses its processor
// between the two, because the pair would look like a step of the wall clock. The elapsed time is read last, so that
// the remaining error looks like a step back, which is not followed.
func readBoth(clock Clock) (wall time.Time, elapsed time.Duration) {
	for range 4 {
		before := clock.Elapsed()
		wall, elapsed = clock.Now(), clock.Elapsed()
		if elapsed-before < stepTolerance/10 {
			break
		}
	}

	return wall.Round(0), elapsed
}

// divider divides with a multiplication and a shift, several times faster than the DIV instruction. It is exact for
// every dividend below 1<<63 (Granlund and Montgomery, "Division by Invariant Integers using Multiplication", PLDI
// 1994).
type divider struct {
	magic uint64
	shift uint8
}

// newDivider returns the divider by d, which is at least 2.
func newDivider(d uint64) divider {
	width := bits.Len64(d - 1) // 1<<(width-1) < d <= 1<<width
	magic, _ := bits.Div64(1<<(width-1), 0, d)
	return divider{magic: magic + 1, shift: uint8(width - 1)}
}

func (d divider) div(n uint64) uint64 {
	hi, _ := bits.Mul64(n, d.magic)
	return hi >> (d.shift & 63)
}
