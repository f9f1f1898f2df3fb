package speed

import (
	"testing"
	"time"
)

// A kind without a result would be measured again and again by a run that is resumed.
func TestEachKindHasAResult(t *testing.T) {
	e := Effort{Turns: 1, Length: 100 * time.Microsecond}
	for _, c := range append(Cases(e), Curves(e)...) {
		found, err := c.Run(t.Context(), 1, func(time.Duration) {})
		if err != nil {
			t.Fatalf("%s: %v", c.Title, err)
		}
		for _, kind := range c.Kinds {
			if len(found[kind].Values) == 0 && found[kind].Note == "" {
				t.Errorf("%s: no result of %s", c.Title, kind)
			}
		}
		if len(found) != len(c.Kinds) {
			t.Errorf("%s: %d results of %d kinds", c.Title, len(found), len(c.Kinds))
		}
	}
}

func TestQuantilesOfAHistogram(t *testing.T) {
	var h, other histogram
	for i := range 100_000 {
		h.add(time.Duration(i) * 100)
		other.add(time.Duration(i) * 100)
	}
	h.merge(&other)
	for part, want := range map[float64]float64{0.5: 5e6, 0.999: 9.99e6, 0.9999: 9.999e6} {
		if got := float64(h.quantile(part)); got < 0.98*want || got > 1.02*want {
			t.Errorf("quantile %v is %v, want %v", part, got, want)
		}
	}
	if h.longest != 9_999_900 {
		t.Errorf("longest %v", h.longest)
	}
	for d := range time.Duration(5000) { // each time is at its place or after its beginning
		if p := place(d); value(p) > d || value(p+1) <= d {
			t.Fatalf("%d is at %d, which is [%d, %d)", d, p, value(p), value(p+1))
		}
	}
}
