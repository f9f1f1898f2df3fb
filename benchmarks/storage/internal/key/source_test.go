package key

import "testing"

// The clock of a worker is behind those of 15 others at most, so most keys are below an earlier one.
func TestSkewedKeysAreDistinctAndLate(t *testing.T) {
	const n = 20_000
	draw := func(seed uint64) []any {
		source, err := skewed(Config{Seed: seed})
		if err != nil {
			t.Fatal(err)
		}
		keys := make([]any, n)
		if err := source(keys); err != nil {
			t.Fatal(err)
		}
		return keys
	}
	keys, late, highest, seen := draw(1), 0, int64(0), map[any]bool{}
	for _, k := range keys {
		if k.(int64) < highest {
			late++
		}
		highest = max(highest, k.(int64))
		seen[k] = true
	}
	if percent := 100 * late / n; percent < 85 || percent > 95 || len(seen) != n { // 15 of 16
		t.Errorf("%d %% of the keys are late, %d of %d are distinct", percent, len(seen), n)
	}
	if span := (keys[n-1].(int64) - keys[0].(int64)) >> 22; span < 1900 || span > 2100 {
		t.Errorf("%d keys span %d ms, want 2,000", n, span)
	}
	if again := draw(1); again[n-1] != keys[n-1] {
		t.Error("the same seed gave other keys")
	}
	if other := draw(2); other[n-1] == keys[n-1] {
		t.Error("another seed gave the same keys")
	}
}
