package turns

import (
	"slices"
	"testing"
	"time"
)

func TestDisturbedTurnsAreLeftOut(t *testing.T) {
	const ms = time.Millisecond
	quiet, queued := turn{wall: 2 * ms}, turn{wall: 9 * ms, queued: ms / 2}
	for _, tt := range []struct {
		name      string
		taken     []turn
		busy      bool
		kept      []float64
		disturbed int
	}{
		{"waited for a core", []turn{quiet, queued, quiet}, false, []float64{2, 2}, 1},
		{"busy machine", []turn{quiet, quiet}, true, nil, 2},
		{"all waited", []turn{queued, queued}, false, nil, 2},
	} {
		var r Result
		r.add(tt.taken, int(ms), tt.busy)
		if !slices.Equal(r.Kept, tt.kept) || r.Disturbed != tt.disturbed {
			t.Errorf("%s: kept %v, left out %d; want %v, %d", tt.name, r.Kept, r.Disturbed, tt.kept, tt.disturbed)
		}
	}
}

func TestMedian(t *testing.T) {
	if m := (Result{Kept: []float64{9, 1, 2}}).Median(); m != 2 {
		t.Errorf("median %v", m)
	}
	if m := (Result{Kept: []float64{9, 1, 2, 4}}).Median(); m != 3 {
		t.Errorf("median %v", m)
	}
}

func TestSubjectsTakeTurns(t *testing.T) {
	var order []string
	subject := func(name string, batch int) Subject {
		return Subject{
			Name: name, Batch: batch, Before: func() { order = append(order, name) },
			Run: func(n int) {
				if time.Sleep(50 * time.Microsecond); n == 0 || n%max(batch, 1) != 0 {
					t.Errorf("%d operations, not a multiple of %d", n, batch)
				}
			},
		}
	}
	results, err := Take(t.Context(), []Subject{subject("a", 0), subject("b", 1000)}, Settings{1, 2, 50 * time.Microsecond}, func() {})
	if err != nil || results[0].Name != "a" || len(results[1].Kept)+results[1].Disturbed < 2 {
		t.Errorf("%+v, %v", results, err)
	}
	first := len(order) - len(results[0].Kept) - results[0].Disturbed - len(results[1].Kept) - results[1].Disturbed
	if got, want := order[first:first+4], []string{"b", "a", "a", "b"}; !slices.Equal(got, want) {
		t.Errorf("order %v, want %v", got, want)
	}
}
