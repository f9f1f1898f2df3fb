package snowflake_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/sqlflake/sqlflake/snowflake"
)

// stopped is a clock that stands still.
type stopped struct{ at time.Time }

func (c stopped) Now() time.Time                           { return c.at }
func (stopped) Elapsed() time.Duration                     { return 0 }
func (stopped) Sleep(context.Context, time.Duration) error { return nil }

func newBackfill(tb testing.TB, worker int64, opts ...snowflake.Option) *snowflake.Backfill {
	tb.Helper()
	b, err := snowflake.NewBackfill(worker, opts...)
	if err != nil {
		tb.Fatal(err)
	}
	return b
}

// naiveBackfill is the rule of a Backfill, one ID at a time.
type naiveBackfill struct {
	layout snowflake.Layout
	worker int64
	now    time.Time
	last   snowflake.Parts // of the last ID, with the number of IDs of its tick before it as the sequence
	before time.Time       // the tick of the last row
}

func (n *naiveBackfill) next(t time.Time) (snowflake.ID, error) {
	switch {
	case t.Before(n.layout.Epoch()):
		return 0, snowflake.ErrBeforeEpoch
	case !t.Before(n.layout.End()):
		return 0, snowflake.ErrTimeExhausted
	}
	own, err := n.layout.Compose(snowflake.Parts{Time: t})
	if err != nil {
		return 0, err
	}
	tick := n.layout.Time(own)
	if tick.Before(n.before) {
		return 0, snowflake.ErrUnsorted
	}
	for at := tick; ; at = at.Add(n.layout.Tick()) {
		for sequence := range n.layout.MaxSequence() + 1 {
			if at.Before(n.last.Time) || at.Equal(n.last.Time) && sequence <= n.last.Sequence {
				continue
			}
			switch {
			case at.Add(n.layout.Tick()).After(n.now.Add(-10 * time.Second)):
				return 0, snowflake.ErrNotPast
			case at.Sub(tick) > time.Hour:
				return 0, snowflake.ErrCrowded
			}
			n.before, n.last = tick, snowflake.Parts{Time: at, Worker: n.worker, Sequence: sequence}
			parts := n.last
			parts.Sequence = (sequence + n.layout.FirstSequence(at, n.worker)) % (n.layout.MaxSequence() + 1)
			return n.layout.Compose(parts)
		}
	}
}

// TestABackfillIsTheNaiveRuleWhereverItIsResumed has layouts with all orders of the bits, and so few IDs that every limit
// is met.
func TestABackfillIsTheNaiveRuleWhereverItIsResumed(t *testing.T) {
	t.Parallel()
	var ids, unsorted, young, crowded, exhausted int
	for i, small := range allSmallLayouts() {
		tick := []time.Duration{7 * time.Minute, 20 * time.Minute, 25 * time.Minute, time.Hour, 90 * time.Minute}[i%5]
		layout := snowflake.MustLayout(small.Epoch(), tick, small.Fields()...)
		random := rand.New(rand.NewPCG(uint64(i), 25))
		span := layout.End().Sub(layout.Epoch())
		now := layout.Epoch().Add(10*time.Second + rand.N(span-10*time.Second)).Add(time.Duration(random.Int64N(2)) * span / 8)
		if !now.Before(layout.End()) {
			now = layout.End().Add(-time.Nanosecond)
		}
		worker := random.Int64N(layout.MaxWorker() + 1)
		start := func() *snowflake.Backfill {
			return newBackfill(t, worker, snowflake.WithLayout(layout), snowflake.WithClock(stopped{now}))
		}
		whole := start()
		naive := &naiveBackfill{layout: layout, worker: worker, now: now, last: snowflake.Parts{Time: layout.Epoch()}, before: layout.Epoch()}
		at := layout.Epoch()
		resumed := whole // made again after each ID
		for range 60 {
			step := []time.Duration{0, 0, 0, time.Millisecond, tick / 3, tick, 3 * tick, -tick}[random.IntN(8)]
			at = at.Add(step)
			id, err := naive.next(at)
			got, gotErr := whole.Next(at.In(time.FixedZone("", random.IntN(13)*3600)))
			again, againErr := resumed, error(nil)
			if again != whole {
				var gotAgain snowflake.ID
				gotAgain, againErr = again.Next(at)
				if gotAgain != got || (againErr == nil) != (gotErr == nil) {
					t.Fatalf("%v, worker %d, now %v, row of %v: a resumed Backfill made %d (%v), not %d (%v)", layout, worker, now, at,
						gotAgain, againErr, got, gotErr)
				}
			}
			if got != id || !errors.Is(gotErr, err) {
				t.Fatalf("%v, worker %d, now %v, row of %v: %d (%v), want %d (%v)", layout, worker, now, at, got, gotErr, id, err)
			}
			switch {
			case err == nil:
				ids++
				resumed = start()
				if err := resumed.Resume(got, at); err != nil {
					t.Fatalf("%v, worker %d, now %v: Resume(%d, %v): %v", layout, worker, now, got, at, err)
				}
				if got == 0 {
					t.Fatalf("%v: a row has the ID 0", layout)
				}
			case errors.Is(err, snowflake.ErrUnsorted):
				unsorted++
				at = at.Add(tick)
			case errors.Is(err, snowflake.ErrNotPast):
				young++
			case errors.Is(err, snowflake.ErrCrowded):
				crowded++
			default: // before the epoch or after the end
				exhausted++
				at = layout.Epoch()
			}
		}
	}
	t.Logf("%d IDs, %d unsorted, %d too young, %d crowded, %d outside", ids, unsorted, young, crowded, exhausted)
	if min(ids, unsorted, young, crowded, exhausted) < 100 {
		t.Error("too few of one kind")
	}
}

// TestABackfillOfManyRowsIsSortedUniqueAndWithinTheHour has 10 million rows with SNOWFLAKE_TEST_LONG=1, 100,000 of them in
// one millisecond.
func TestABackfillOfManyRowsIsSortedUniqueAndWithinTheHour(t *testing.T) {
	rows := 1_000_000
	if os.Getenv("SNOWFLAKE_TEST_LONG") != "" {
		rows = 10_000_000
	}
	const crowd = 100_000
	b, random, at := newBackfill(t, 1023), rand.New(rand.NewPCG(1, 2)), epoch2025
	var last snowflake.ID
	var greatest time.Duration
	for i := range rows {
		if i < rows/2 || i >= rows/2+crowd {
			at = at.Add(time.Duration(random.Int64N(2000)) * time.Microsecond)
		}
		id, err := b.Next(at)
		delay := snowflake.Default().Time(id).Sub(at.Truncate(time.Millisecond))
		if err != nil || id <= last || delay < 0 {
			t.Fatalf("row %d of %v got %d, %v later, after %d: %v", i, at, id, delay, last, err)
		}
		last, greatest = id, max(greatest, delay)
	}
	if want := (crowd - 1) / 4096 * time.Millisecond; greatest < want || greatest > want+2*time.Millisecond {
		t.Errorf("the greatest delay is %v, want about %v", greatest, want)
	}
}

func TestABackfillRefusesWhatCouldRepeatAnID(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)
	clock := snowflake.WithClock(stopped{now})
	for _, c := range []struct {
		name   string
		worker int64
		opts   []snowflake.Option
		want   error
		text   string
	}{
		{"worker out of range", 1024, nil, snowflake.ErrFieldRange, "worker 1024 out of range [0, 1023]"},
		{"negative worker", -1, nil, snowflake.ErrFieldRange, "-1"},
		{"no field for the worker", 0, layouts("mastodon"), snowflake.ErrOption, `for which "epoch=1970-01-01T00:00:00Z tick=1ms time:47 sequence:16" has no field`},
		{"zero layout", 0, []snowflake.Option{snowflake.WithLayout(snowflake.Layout{})}, snowflake.ErrLayout, ""},
		{"random start", 0, []snowflake.Option{snowflake.WithRandomStart()}, snowflake.ErrOption, "WithRandomStart"},
		{"nil option", 0, []snowflake.Option{nil}, snowflake.ErrOption, "nil Option"},
		{"unknown field", 0, []snowflake.Option{snowflake.WithField("zone", 1)}, snowflake.ErrUnknownField, `"zone"`},
		{"clock after the end", 0, layouts("baidu"), snowflake.ErrTimeExhausted, "2024-11-20T13:24:16Z"},
		{"clock at the epoch", 0, []snowflake.Option{snowflake.WithClock(stopped{snowflake.Default().Epoch()})}, snowflake.ErrBeforeEpoch, ""},
	} {
		if b, err := snowflake.NewBackfill(c.worker, append([]snowflake.Option{clock}, c.opts...)...); b != nil ||
			!errors.Is(err, c.want) || !strings.Contains(err.Error(), c.text) {
			t.Errorf("%s: error %v, want %v with %q", c.name, err, c.want, c.text)
		}
	}

	for _, name := range []string{"default", "clustered", "sonyflake", "wide"} {
		layout := snowflake.MustPreset(name)
		b := newBackfill(t, 3, clock, snowflake.WithLayout(layout))
		row := now.Add(-time.Hour)
		id, err := b.Next(row)
		if err != nil {
			t.Fatal(err)
		}
		limit := now.Add(-snowflake.MaxLead)
		for _, c := range []struct {
			name string
			at   time.Time
			want error
			text string
		}{
			{"zero time", time.Time{}, snowflake.ErrBeforeEpoch, "0001-01-01T00:00:00Z is before"},
			{"just before the epoch", layout.Epoch().Add(-1), snowflake.ErrBeforeEpoch, layout.Epoch().Format(time.RFC3339)},
			{"year 10000", time.Date(10000, 1, 1, 0, 0, 0, 0, time.UTC), snowflake.ErrTimeExhausted, "10000-01-01T00:00:00Z is not before"},
			{"the end", layout.End(), snowflake.ErrTimeExhausted, ""},
			{"a tick before the last", row.Add(-layout.Tick()), snowflake.ErrUnsorted, row.Format(time.RFC3339)},
			{"now minus the lead", limit, snowflake.ErrNotPast, "want one before " + limit.Format(time.RFC3339)},
			{"now", now, snowflake.ErrNotPast, ""},
			{"next year", now.AddDate(1, 0, 0), snowflake.ErrNotPast, "2027-05-01"},
		} {
			if _, err := b.Next(c.at.In(time.FixedZone("", 3600))); !errors.Is(err, c.want) || !strings.Contains(err.Error(), c.text) {
				t.Errorf("%s: %s: error %v, want %v with %q", name, c.name, err, c.want, c.text)
			}
		}
		if got, err := b.Next(row); got != next(t, layout, id) || err != nil {
			t.Errorf("%s: after errors: %d, %v, want the ID after %d", name, got, err, id)
		}
		if _, err := b.Next(limit.Add(-layout.Tick())); err != nil {
			t.Errorf("%s: the last tick: %v", name, err)
		}
	}
	zero := new(snowflake.Backfill)
	if _, err := zero.Next(now); err == nil || zero.Resume(1, now) == nil {
		t.Errorf("zero Backfill: %v", err)
	}
}

// next returns the ID with the next sequence.
func next(t *testing.T, l snowflake.Layout, id snowflake.ID) snowflake.ID {
	t.Helper()
	p := l.Decompose(id)
	p.Sequence++
	id, err := l.Compose(p)
	if err != nil {
		t.Fatal(err)
	}
	return id
}

func layouts(preset string) []snowflake.Option {
	return []snowflake.Option{snowflake.WithLayout(snowflake.MustPreset(preset))}
}

func TestResumeRefusesWhatNoEqualBackfillHasMade(t *testing.T) {
	t.Parallel()
	layout := snowflake.MustPreset("datacenter")
	opts := []snowflake.Option{snowflake.WithLayout(layout), snowflake.WithField("datacenter", 3)}
	compose := func(at time.Time, worker, sequence, datacenter int64) snowflake.ID {
		id, err := layout.Compose(snowflake.Parts{
			Time: at, Worker: worker, Sequence: sequence,
			Fields: map[string]int64{"datacenter": datacenter},
		})
		if err != nil {
			t.Fatal(err)
		}
		return id
	}
	row := time.Date(2025, 1, 1, 0, 0, 0, 0, time.UTC)
	good := compose(row.Add(time.Second), 7, 4095, 3)
	b := newBackfill(t, 7, opts...)
	for name, c := range map[string]struct {
		id   snowflake.ID
		want error
	}{
		"0":                   {0, snowflake.ErrInvalidID},
		"negative":            {-good, snowflake.ErrInvalidID},
		"another worker":      {compose(row, 8, 0, 3), snowflake.ErrInvalidID},
		"another datacenter":  {compose(row, 7, 0, 4), snowflake.ErrInvalidID},
		"older than its row":  {compose(row.Add(-time.Millisecond), 7, 0, 3), snowflake.ErrInvalidID},
		"more than an hour":   {compose(row.Add(time.Hour+time.Millisecond), 7, 0, 3), snowflake.ErrCrowded},
		"of a live generator": {compose(time.Now(), 7, 0, 3), snowflake.ErrNotPast},
	} {
		if err := b.Resume(c.id, row); !errors.Is(err, c.want) {
			t.Errorf("%s: error %v, want %v", name, err, c.want)
		}
	}
	for worker := range int64(2) { // no run makes the first slot of all, which would be the ID 0 of worker 0
		id := snowflake.ID(worker) << 12
		first := newBackfill(t, worker, opts[0])
		if err := first.Resume(id, layout.Epoch()); !errors.Is(err, snowflake.ErrInvalidID) {
			t.Errorf("the ID %d of the epoch: error %v, want ErrInvalidID", id, err)
		}
		if err := first.Resume(id+1, layout.Epoch()); err != nil {
			t.Errorf("the ID %d of the epoch: %v", id+1, err)
		}
	}
	if err := b.Resume(good, time.Time{}); !errors.Is(err, snowflake.ErrBeforeEpoch) {
		t.Errorf("a row without a time: %v", err)
	}
	if err := b.Resume(good, row); err != nil {
		t.Fatal(err)
	}
	if id, err := b.Next(row); id != compose(row.Add(1001*time.Millisecond), 7, 0, 3) || err != nil {
		t.Errorf("after %v: %v, %v", layout.Decompose(good), layout.Decompose(id), err)
	}
	if _, err := b.Next(row.Add(-time.Millisecond)); !errors.Is(err, snowflake.ErrUnsorted) {
		t.Errorf("a row before the resumed one: %v", err)
	}
	if err := b.Resume(good, row); !errors.Is(err, snowflake.ErrUnsorted) { // the next ID would be one that it has made
		t.Errorf("back to the resumed row: %v", err)
	}
}

// Orders that had numbers get IDs of their time. In a program with leases, lease.Lease.Reserve keeps the worker free.
func ExampleBackfill() {
	type order struct {
		number  int64
		created time.Time
	}
	begin := time.Date(2025, 7, 1, 12, 0, 0, 0, time.UTC)
	orders := []order{ // SELECT number, created FROM orders ORDER BY created, number
		{1, begin}, {2, begin}, {3, begin.Add(90 * time.Minute)},
	}
	b, err := snowflake.NewBackfill(1023)
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, o := range orders {
		id, err := b.Next(o.created)
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println(o.number, "is now", id, snowflake.Default().Time(id))
	}
	// Output:
	// 1 is now 65773397610590208 2025-07-01 12:00:00 +0000 UTC
	// 2 is now 65773397610590209 2025-07-01 12:00:00 +0000 UTC
	// 3 is now 65796046852190208 2025-07-01 13:30:00 +0000 UTC
}
