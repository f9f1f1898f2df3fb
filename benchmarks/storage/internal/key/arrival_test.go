package key

import (
	"testing"
	"time"

	"github.com/sqlflake/sqlflake/snowflake"
)

func keys(t *testing.T, o order, n int) []snowflake.ID {
	t.Helper()
	s, list := newStream(o), make([]snowflake.ID, n)
	for i := range list {
		var err error
		if list[i], err = s.next(); err != nil {
			t.Fatal(err)
		}
	}

	return list
}

// late returns how many keys are smaller than one that arrived before, and how many differ.
func late(list []snowflake.ID) (n, distinct int) {
	var highest snowflake.ID
	seen := map[snowflake.ID]bool{}
	for _, id := range list {
		if id < highest {
			n++
		}
		highest = max(highest, id)
		seen[id] = true
	}

	return n, len(seen)
}

func TestOrderOfArrival(t *testing.T) {
	const n = 20_000
	one := order{Layout: snowflake.Default(), Workers: 1, Rate: 10_000, Seed: 1}
	for _, test := range []struct {
		name     string
		change   func(o *order)
		low, top int // percent of keys that arrive late
	}{
		{"one worker", func(*order) {}, 0, 0},
		{"one worker, faster than its sequence", func(o *order) { o.Rate = 5_000_000 }, 0, 0},
		{"one worker, batches", func(o *order) { o.Batch = 100 }, 0, 0},
		{"equal clocks", func(o *order) { o.Workers = 16 }, 60, 80}, // within a millisecond of ten rows
		{"equal clocks, coarse ticks", func(o *order) {
			o.Workers, o.Layout = 16, snowflake.MustLayout(time.Unix(0, 0), time.Second,
				snowflake.Default().Fields()...)
		}, 85, 95},
		{"clocks that differ", func(o *order) { o.Workers, o.Skew = 16, 20*time.Millisecond }, 85, 95}, // 15 of 16
		{"written late", func(o *order) { o.Lag = 20 * time.Millisecond }, 90, 100},
		{"batches that overlap", func(o *order) { o.Workers, o.Batch = 4, 1000 }, 60, 80},
	} {
		o := one
		test.change(&o)
		list := keys(t, o, n)
		got, distinct := late(list)
		if percent := 100 * got / n; percent < test.low || percent > test.top {
			t.Errorf("%s: %d %% of the keys arrive late, want %d to %d", test.name, percent, test.low, test.top)
		}
		if distinct != n {
			t.Errorf("%s: %d of %d keys are distinct", test.name, distinct, n)
		}

		if again := keys(t, o, n); again[n-1] != list[n-1] {
			t.Errorf("%s: the same order gave other keys", test.name)
		}

		took := o.Layout.Time(list[n-1]).Sub(o.Layout.Time(list[0])).Seconds()
		if want := n / o.Rate; took < want/2-1 || took > want*2+1 {
			t.Errorf("%s: the keys span %.2f s, want about %.2f", test.name, took, want)
		}
	}
}
