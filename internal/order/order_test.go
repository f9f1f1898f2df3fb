package order_test

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/sqlflake/sqlflake/internal/order"
)

func at(seconds int64) time.Time { return time.Unix(seconds, 0) }

func free(worker, horizon, since int64) order.Row {
	return order.Row{Worker: worker, Epoch: 1, Horizon: horizon, Free: true, FreeFrom: at(since)}
}

func held(worker, until int64) order.Row {
	return order.Row{Worker: worker, Epoch: 1, FreeFrom: at(until), Token: "a"}
}

// rest takes all candidates that are left, in order.
func rest(c *order.Candidates) (workers []int64) {
	for {
		row, ok := c.Take(0)
		if !ok {
			return workers
		}
		workers = append(workers, row.Worker)
	}
}

func TestTheNextWorkerIs(t *testing.T) {
	const top = math.MaxInt64
	for name, test := range map[string]struct {
		first, last, tick int64
		rows              []order.Row
		want              []int64
	}{
		"the lowest if none was taken":        {first: 3, last: 5, want: []int64{3, 4, 5}},
		"the one that was free longest":       {0, 1, 9, []order.Row{free(0, 1, 8), free(1, 9, 7)}, []int64{1, 0}},
		"the lowest of those free as long":    {0, 1, 9, []order.Row{free(1, 1, 7), free(0, 9, 7)}, []int64{0, 1}},
		"unused rather than above the tick":   {0, 2, 9, []order.Row{free(0, 10, 1), free(2, 9, 8)}, []int64{2, 1, 0}},
		"the lowest horizon above the tick":   {0, 1, 9, []order.Row{free(0, 11, 1), free(1, 10, 8)}, []int64{1, 0}},
		"the longest free of one horizon":     {0, 1, 9, []order.Row{free(0, 11, 8), free(1, 11, 7)}, []int64{1, 0}},
		"unused if the clock is before ticks": {0, 1, -1, []order.Row{free(0, 0, 1)}, []int64{1, 0}},
		"not a held one":                      {0, 2, 9, []order.Row{held(0, 50), held(2, 60)}, []int64{1}},
		"not one out of the range":            {2, 3, 9, []order.Row{free(1, 0, 1), free(4, 0, 1), free(3, 0, 1)}, []int64{3, 2}},
		"the greatest that there is":          {top - 1, top, 9, []order.Row{held(top-1, 50)}, []int64{top}},
		"the greatest horizon that there is":  {0, 0, top, []order.Row{free(0, top, 1)}, []int64{0}},
		"none if all are held":                {0, 1, 9, []order.Row{held(0, 50), held(1, 60)}, nil},
		"the same for rows in any order":      {0, 3, 9, []order.Row{held(3, 50), free(2, 10, 1), free(1, 9, 1)}, []int64{1, 0, 2}},
	} {
		t.Run(name, func(t *testing.T) {
			got := rest(order.All(order.Request{First: test.first, Last: test.last, Tick: test.tick}, test.rows))
			if !slices.Equal(got, test.want) {
				t.Errorf("got %v, want %v", got, test.want)
			}
		})
	}
}

// random returns a request, the rows of a namespace, and all workers of the range in the documented order with their
// ranks, as a sort of all of them by the words of leasestore.Store makes it.
func random(seed uint64) (r order.Request, rows []order.Row, want []int64, rank map[int64]int) {
	rng := rand.New(rand.NewPCG(seed, 0))
	r = order.Request{First: rng.Int64N(4), Tick: rng.Int64N(6) - 1}
	r.Last = r.First + rng.Int64N(40)
	rank = map[int64]int{}
	byWorker := map[int64]order.Row{}
	for worker := range r.Last + 4 {
		row := free(worker, rng.Int64N(6), rng.Int64N(4))
		kind := rng.IntN(4) // 0: never taken, 1: held
		row.Free = kind > 1
		if kind > 0 {
			rows = append(rows, row)
			byWorker[worker] = row
		}

		if kind == 1 || worker < r.First || worker > r.Last {
			continue
		}

		want = append(want, worker)
		rank[worker] = 1
		if kind == 0 {
			rank[worker] = 2
		} else if row.Horizon > r.Tick {
			rank[worker] = 3
		}
	}

	rng.Shuffle(len(rows), func(i, j int) { rows[i], rows[j] = rows[j], rows[i] })
	slices.SortFunc(want, func(x, y int64) int {
		a, b := byWorker[x], byWorker[y]
		byHorizon := 0
		if rank[x] == 3 {
			byHorizon = cmp.Compare(a.Horizon, b.Horizon)
		}
		return cmp.Or(cmp.Compare(rank[x], rank[y]), byHorizon, a.FreeFrom.Compare(b.FreeFrom), cmp.Compare(x, y))
	})

	return r, rows, want, rank
}

// Who has lost none gets the first in the order, which is that of a sort of all.
func TestWhoLostRacesGetsOneOfTheNextOfTheSameRank(t *testing.T) {
	drawn := map[int]bool{} // places in the order
	for seed := range uint64(3000) {
		r, rows, want, rank := random(seed)
		lost := int(seed % 4)
		c := order.All(r, rows)
		for len(want) > 0 {
			same := 0
			for same < len(want) && rank[want[same]] == rank[want[0]] {
				same++
			}

			got, _ := c.Take(lost)
			i := slices.Index(want, got.Worker)
			isLastWorker := got.Worker == r.Last && rank[got.Worker] == 2 && same > 1
			if i < 0 || i >= min(same, 1<<lost) || isLastWorker {
				t.Fatalf("seed %d: %+v of %+v: after %d races worker %d, want one of %v", seed, r, rows, lost, got.Worker, want)
			}

			want = slices.Delete(want, i, i+1)
			drawn[i] = true
		}

		if got, ok := c.Take(lost); ok {
			t.Fatalf("seed %d: worker %d once more", seed, got.Worker)
		}
	}

	if len(drawn) != 8 {
		t.Errorf("of the next 8, those at %v were drawn", drawn)
	}
}

func TestAStoreThatKnowsTheLowestUnusedWorkerOnly(t *testing.T) {
	r := order.Request{First: 2, Last: 9, Tick: 5}
	some := func() *order.Candidates { return order.Some(r, []order.Row{free(2, 7, 1)}) }
	if c := some(); c.HasPassed() || !slices.Equal(rest(c), []int64{2}) {
		t.Error("a store that does not know the workers that were never taken was given one, or a passed horizon")
	}

	c := some()
	c.AddUnused(4)
	if got := rest(c); !slices.Equal(got, []int64{4, 2}) {
		t.Errorf("got %v, want the unused one, 4, before the horizon above the tick, 2", got)
	}

	near := map[int64]int{}
	for range 2000 {
		c = some()
		c.AddUnused(4)
		row, _ := c.Take(3)
		near[row.Worker]++
	}
	if len(near) != 5 || near[8] == 0 || near[4] < 500 {
		t.Errorf("after 3 races %v, want 4 to 8, mostly 4, and not the last", near)
	}

	c = some()
	c.AddUnused(9)
	if row, _ := c.Take(3); row.Worker != 9 {
		t.Errorf("worker %d, want the last, 9, as there is no other", row.Worker)
	}
	if c = order.Some(r, []order.Row{free(2, 5, 1)}); !c.HasPassed() {
		t.Error("a horizon that is not above the tick counts as above it")
	}
}

func TestARowIsPutWhereItsHorizonBelongs(t *testing.T) {
	c := order.All(order.Request{Last: 4, Tick: 5}, []order.Row{free(0, 0, 1), free(1, 0, 2), free(2, 0, 3), held(3, 50)})
	for _, horizon := range []int64{6, 7} {
		row, _ := c.Take(0)
		row.Horizon = horizon
		c.Put(row)
	}
	c.Put(free(3, 5, 4)) // after 2
	if got := rest(c); !slices.Equal(got, []int64{2, 3, 4, 0, 1}) {
		t.Errorf("got %v", got)
	}
}

func TestOwnIsTheHeldRowWithTheToken(t *testing.T) {
	released := free(1, 0, 1)
	released.Token = "a"
	other := held(2, 50)
	other.Token = "b"
	if row, ok := order.Own([]order.Row{released, other}, "a"); ok {
		t.Errorf("got %+v, which is free or another's", row)
	}
	if row, ok := order.Own([]order.Row{released, held(4, 50), held(3, 60), other}, "a"); !ok || row.Worker != 3 {
		t.Errorf("got %+v, %t, want the lowest worker, 3", row, ok)
	}
}

func TestWaitIsUntilTheFirstOfTheRangeBecomesFree(t *testing.T) {
	rows := []order.Row{held(0, 20), held(1, 50), held(2, 40), free(3, 0, 1), held(4, 30)}
	for _, test := range []struct{ first, last, now, want int64 }{
		{1, 2, 35, 5}, {1, 3, 35, 5}, {1, 2, 40, 0}, {1, 2, 45, 0}, {1, 1, 35, 15}, {3, 3, 35, 0},
	} {
		c := order.All(order.Request{First: test.first, Last: test.last}, rows)
		if got := c.Wait(at(test.now)); got != time.Duration(test.want)*time.Second {
			t.Errorf("workers %d to %d at %d: %v, want %d s", test.first, test.last, test.now, got, test.want)
		}
	}
	if got := order.All(order.Request{}, []order.Row{{Worker: 0}}).Wait(at(35)); got != 0 {
		t.Errorf("an unknown time: %v, want 0", got)
	}
}
