package snowflake_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/sqlflake/sqlflake/snowflake"
)

// allSmallLayouts returns layouts of at most 10 bits: every order of a time of one or two parts, a worker and a sequence,
// with several widths, epochs and ticks.
func allSmallLayouts() []snowflake.Layout {
	epoch := time.Date(2025, 1, 1, 0, 0, 0, 0, time.UTC)
	var all []snowflake.Layout
	add := func(fields ...snowflake.Field) {
		for _, begin := range []time.Duration{0, 3 * time.Millisecond, 7500 * time.Microsecond} {
			for _, tick := range []time.Duration{time.Millisecond, 3 * time.Millisecond} {
				if l, err := snowflake.NewLayout(epoch.Add(begin), tick, fields...); err == nil {
					all = append(all, l)
				}
			}
		}
	}
	const clock, seq, worker = snowflake.FieldTime, snowflake.FieldSequence, "worker"
	for total := 3; total <= 10; total++ {
		for t := 1; t <= total-2; t++ {
			s := (total - t + 1) / 2
			w := total - t - s
			if w == 0 {
				continue
			}
			for _, order := range [][3]snowflake.Field{
				{{clock, t}, {worker, w}, {seq, s}},
				{{clock, t}, {seq, s}, {worker, w}},
				{{worker, w}, {clock, t}, {seq, s}},
				{{worker, w}, {seq, s}, {clock, t}},
				{{seq, s}, {clock, t}, {worker, w}},
				{{seq, s}, {worker, w}, {clock, t}},
			} {
				add(order[:]...)
			}
			if t > 1 {
				add(snowflake.Field{Name: clock, Bits: t / 2}, snowflake.Field{Name: worker, Bits: w},
					snowflake.Field{Name: clock, Bits: t - t/2}, snowflake.Field{Name: seq, Bits: s})
			}
		}
	}
	return all
}

// follows is Follows by trying each ID.
func follows(l, old snowflake.Layout, until time.Time) (from time.Time, ok bool) {
	greatest := snowflake.ID(-1)
	for id := range snowflake.ID(1) << old.Bits() {
		if old.Time(id).Before(until) {
			greatest = id
		}
	}
	from = until
	for id := range snowflake.ID(1) << l.Bits() {
		if t := l.Time(id); id <= greatest && !t.Before(from) {
			from = t.Add(l.Tick())
		}
	}
	var first time.Time
	for id := range snowflake.ID(1) << l.Bits() {
		if t := l.Time(id); !t.Before(from) && (first.IsZero() || t.Before(first)) {
			first = t
		}
	}
	return first, !first.IsZero()
}

func TestFollowsIsTheFirstMomentWithoutAnEqualOrSmallerID(t *testing.T) {
	layouts := allSmallLayouts()
	random := rand.New(rand.NewPCG(25, 1))
	pairs, never := 0, 0
	for i, l := range layouts {
		for range 3 {
			old := layouts[random.IntN(len(layouts))]
			if pairs%17 == 0 {
				old = layouts[i]
			}
			for _, until := range []time.Time{
				old.Epoch().Add(-time.Second), old.Epoch(), old.Epoch().Add(time.Nanosecond),
				old.Start(random.Int64N(1 << old.Bits())).Add(time.Duration(random.IntN(2)) * time.Microsecond), old.End(),
				old.End().Add(time.Millisecond),
			} {
				pairs++
				got, err := l.Follows(old, until)
				want, ok := follows(l, old, until)
				if !ok {
					never++
				}
				if (err == nil) != ok || !got.Equal(want) || err != nil && !errors.Is(err, snowflake.ErrTimeExhausted) {
					t.Fatalf("%v\nfollows %v\nfrom before %s: got %s, error %v, want %s, %v", l, old, until, got, err, want, ok)
				}
			}
		}
	}
	if never == 0 || never == pairs {
		t.Errorf("%d of %d pairs never follow", never, pairs)
	}
}

// Baidu's uid-generator has 28 bits of seconds, which ended in 2024. Two more bits of time, taken from the sequence, look like
// a remedy (https://github.com/baidu/uid-generator/issues/100). But they make all IDs smaller: those of the year 2025 are
// equal to IDs of 2018.
func ExampleLayout_Follows() {
	old := snowflake.MustPreset("baidu")
	longer, err := snowflake.ParseLayout("epoch=2016-05-20T00:00:00+08:00 tick=1s time:30 worker:22 sequence:11")
	if err != nil {
		fmt.Println(err)
		return
	}
	_, err = longer.Follows(old, old.End())
	fmt.Println("longer after baidu:", errors.Is(err, snowflake.ErrTimeExhausted))

	end := time.Date(2026, 11, 1, 0, 0, 0, 0, time.UTC)
	from, err := snowflake.Default().Follows(snowflake.MustPreset("wide"), end)
	fmt.Println("default after wide:", from.Format(time.DateTime), err)
	from, err = snowflake.Clustered().Follows(snowflake.Default(), end)
	fmt.Println("clustered after default:", from.Format(time.DateTime), err)
	from, err = snowflake.Default().Follows(snowflake.MustPreset("twitter"), end)
	fmt.Println("default after twitter:", from.Format(time.DateTime), err)
	// Output:
	// longer after baidu: true
	// default after wide: 2026-11-01 00:00:00 <nil>
	// clustered after default: 2026-11-01 00:01:43 <nil>
	// default after twitter: 2040-12-28 22:17:05 <nil>
}
