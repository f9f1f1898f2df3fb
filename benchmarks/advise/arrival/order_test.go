package arrival

import (
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
)

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func simulate(t *testing.T, o Order) []Row {
	t.Helper()
	rows, err := o.Simulate()
	must(t, err)
	if len(rows) != o.Rows {
		t.Fatalf("%d rows, want %d", len(rows), o.Rows)
	}
	return rows
}

func ranks(t *testing.T, o Order, layout string) []int32 {
	t.Helper()
	l, err := FindLayout(layout)
	must(t, err)
	list, err := l.Ranks(simulate(t, o))
	must(t, err)
	return list
}

// disordered combines all kinds of disorder.
var disordered = Order{Rows: 5000, Rate: 10_000, Workers: 4, Skew: 20 * time.Millisecond, Lag: 5 * time.Millisecond, Seed: 1}

func TestSameSeedGivesTheSameKeys(t *testing.T) {
	batches := disordered
	batches.Batch = 100
	for _, o := range []Order{disordered, batches} {
		for _, l := range Layouts() {
			first, err := l.Keys(simulate(t, o))
			must(t, err)
			again, _ := l.Keys(simulate(t, o))
			if !reflect.DeepEqual(first, again) {
				t.Errorf("%s, batch %d: the same seed gave other keys", l.Name, o.Batch)
			}
			other := o
			other.Seed = 2
			differ, _ := l.Keys(simulate(t, other))
			if reflect.DeepEqual(first, differ) {
				t.Errorf("%s, batch %d: another seed gave the same keys", l.Name, o.Batch)
			}
		}
	}
}

// TestKeysAreUnique also at rates that exhaust the sequence of a millisecond.
func TestKeysAreUnique(t *testing.T) {
	fast := Order{Rows: 50_000, Rate: 4_000_000, Workers: 1, Seed: 1}
	bulk := Order{Rows: 50_000, Rate: 10_000, Workers: 3, Batch: 10_000, Seed: 1}
	for _, o := range []Order{disordered, fast, bulk} {
		for _, l := range Layouts() {
			keys, err := l.Keys(simulate(t, o))
			must(t, err)
			seen := map[any]bool{}
			for _, k := range keys {
				seen[k] = true
			}
			if len(seen) != o.Rows {
				t.Errorf("%s: %d keys of %d differ", l.Name, len(seen), o.Rows)
			}
		}
	}
}

func TestOneWorkerWithoutLagIsInOrder(t *testing.T) {
	for _, l := range Layouts() {
		for _, batch := range []int{1, 10} {
			// Skew is between clocks, and here is only one.
			list := ranks(t, Order{Rows: 3000, Rate: 100_000, Workers: 1, Batch: batch, Skew: time.Second, Seed: 1}, l.Name)
			if !slices.IsSorted(list) {
				t.Errorf("%s, batch %d: keys are not in order", l.Name, batch)
			}
		}
	}
}

func TestLayoutsDecideTheOrder(t *testing.T) {
	// Hundreds of rows a millisecond, and workers that take turns at random.
	o := Order{Rows: 10_000, Rate: 300_000, Workers: 16, Seed: 1}
	worker, sequence := late(ranks(t, o, "time/worker/sequence")), late(ranks(t, o, "time/sequence/worker"))
	if worker < 2*sequence {
		t.Errorf("rows are %.0f places late with the worker before the sequence, %.0f behind it; want more than twice as "+
			"many", worker, sequence)
	}
	if first := late(ranks(t, o, "worker/time/sequence")); first < 1000 {
		t.Errorf("rows are %.0f places late with the worker first, want thousands", first)
	}
}

// late returns the mean number of greater keys that arrived before a key.
func late(list []int32) float64 {
	var sum float64
	for i, rank := range list {
		sum += math.Abs(float64(int(rank) - i))
	}
	return sum / float64(len(list))
}

func TestSkewIsTheSpanOfTheClocks(t *testing.T) {
	o := Order{Rows: 20_000, Rate: 10_000, Workers: 5, Skew: 40 * time.Millisecond, Seed: 1}
	least, most := map[int64]int64{}, map[int64]int64{}
	for _, r := range simulate(t, o) {
		ahead := r.tick - r.at/int64(time.Millisecond)
		if _, ok := least[r.worker]; !ok {
			least[r.worker] = math.MaxInt64
		}
		least[r.worker], most[r.worker] = min(least[r.worker], ahead), max(most[r.worker], ahead)
	}
	for worker := range int64(5) {
		if want := worker * 10; least[worker+1] != want || most[worker+1] != want {
			t.Errorf("worker %d is ahead by %d to %d ms, want %d", worker+1, least[worker+1], most[worker+1], want)
		}
	}
}

func TestLagIsTheMeanDelay(t *testing.T) {
	o := Order{Rows: 50_000, Rate: 10_000, Workers: 1, Lag: 20 * time.Millisecond, Seed: 1}
	var sum float64
	for _, r := range simulate(t, o) {
		sum += float64(r.at)/1e6 - float64(r.fine)/4096
	}
	if mean := sum / float64(o.Rows); math.Abs(mean-20) > 0.5 {
		t.Errorf("rows come %.2f ms after their keys were drawn, want 20 on average", mean)
	}
}

// TestBatchesAreDrawnAtOnceAndInterleave: the keys of a batch are consecutive, and rows of several batches arrive in
// turn.
func TestBatchesAreDrawnAtOnceAndInterleave(t *testing.T) {
	o := Order{Rows: 4000, Rate: 10_000, Workers: 4, Batch: 100, Seed: 1}
	byWorker := map[int64][]Row{}
	turns, last := 0, int64(0)
	for _, r := range simulate(t, o) {
		byWorker[r.worker] = append(byWorker[r.worker], r)
		if r.worker != last {
			turns++
		}
		last = r.worker
	}
	for worker, rows := range byWorker {
		for batch := range slices.Chunk(rows, o.Batch) {
			if first, end := batch[0], batch[len(batch)-1]; end.tick != first.tick ||
				end.sequence != first.sequence+int64(len(batch))-1 {
				t.Fatalf("worker %d: a batch has the keys %d.%d to %d.%d", worker, first.tick, first.sequence, end.tick, end.sequence)
			}
		}
	}
	if turns < o.Rows/2 {
		t.Errorf("workers took turns %d times in %d rows", turns, o.Rows)
	}
}

func TestUUIDsAreOfVersion7AndNumbersHaveTheirFullLength(t *testing.T) {
	for _, l := range Layouts() {
		keys, err := l.Keys(simulate(t, disordered))
		must(t, err)
		for _, k := range keys {
			switch k := k.(type) {
			case [16]byte:
				if id := uuid.UUID(k); id.Version() != 7 || id.Variant() != uuid.RFC4122 {
					t.Fatalf("%s has version %d, variant %s", id, id.Version(), id.Variant())
				}
			case int64: // SQLite stores small numbers in fewer bytes
				if l.Name == Layouts()[0].Name && k < 1<<56 {
					t.Fatalf("key %d is below 2^56", k)
				}
			}
		}
	}
}

func TestOrderNamesWhatIsWrong(t *testing.T) {
	good := Order{Rows: 1, Rate: 1, Workers: 1}
	must(t, good.Check())
	for want, change := range map[string]func(*Order){
		"rows: 0":       func(o *Order) { o.Rows = 0 },
		"rate: -1":      func(o *Order) { o.Rate = -1 },
		"rate: 0":       func(o *Order) { o.Rate = 0 },
		"rate: NaN":     func(o *Order) { o.Rate = math.NaN() },
		"rate: +Inf":    func(o *Order) { o.Rate = math.Inf(1) },
		"rate: 4096001": func(o *Order) { o.Rate = 4_096_001 },
		"workers: 0":    func(o *Order) { o.Workers = 0 },
		"workers: 1001": func(o *Order) { o.Workers = 1001 },
		"skew: -1ns":    func(o *Order) { o.Skew = -1 },
		"lag: 25h":      func(o *Order) { o.Lag = 25 * time.Hour },
		"batch: -1":     func(o *Order) { o.Batch = -1 },
	} {
		o := good
		change(&o)
		if _, err := o.Simulate(); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("error %v, want one that begins with %q", err, want)
		}
	}
	if _, err := FindLayout("worker"); err == nil {
		t.Error("an unknown layout was found")
	}
}

func ExampleOrder_SkewRows() {
	o := Order{Rows: 1000, Rate: 10_000, Workers: 16, Skew: 20 * time.Millisecond, Lag: 5 * time.Millisecond}
	fmt.Println(o.SkewRows(), o.LagRows())
	// Output: 200 50
}

// TestStatementsOverlapWhenTheServerIsBusy: at a low rate a statement has the server for itself, at full speed as many
// run at the same time as there are cores.
func TestStatementsOverlapWhenTheServerIsBusy(t *testing.T) {
	for _, c := range []struct {
		rate        float64
		cores       int
		least, most int // turns of workers in 100 rows
	}{{1000, 2, 0, 2}, {1_000_000, 1, 1, 5}, {1_000_000, 2, 20, 90}} {
		o := Order{Rows: 20_000, Rate: c.rate, Workers: 4, Batch: 100, Cores: c.cores, Seed: 1}
		turns, last := 0, int64(0)
		for _, r := range simulate(t, o) {
			if r.worker != last {
				turns++
			}
			last = r.worker
		}
		if turns = turns * 100 / o.Rows; turns < c.least || turns > c.most {
			t.Errorf("%.0f rows/s, %d cores: %d turns in 100 rows, want %d to %d", c.rate, c.cores, turns, c.least, c.most)
		}
	}
}
