package scenario

import (
	"slices"
	"time"

	"github.com/sqlflake/sqlflake/benchmarks/storage/internal/key"
	"github.com/sqlflake/sqlflake/snowflake"
)

// inTimeOrder reports whether the keys rise with time, so that a range of keys is a range of time. Keys of the same
// time may be in any order, as with several workers.
func (b *Bench) inTimeOrder() (bool, error) {
	source, err := b.Kind.New(key.Config{Seed: b.Options.Seed, Clients: 1})
	if source == nil || err != nil {
		return err == nil, err // made by the database
	}
	var highest any
	for i := range 3 {
		if i > 0 {
			time.Sleep(2 * snowflake.DefaultLead) // a generator may lead the clock, and begins so
		}
		batch := make([]any, 100)
		if err := source.Draw(batch); err != nil {
			return false, err
		}
		slices.SortFunc(batch, compareKeys)
		if highest != nil && compareKeys(batch[0], highest) <= 0 {
			return false, nil
		}
		highest = batch[len(batch)-1]
	}
	return true, nil
}

// compareKeys compares values of one Source in the database's order.
func compareKeys(a, b any) int {
	switch a := a.(type) {
	case int64:
		return int(min(max(a-b.(int64), -1), 1)) // both are positive
	case [16]byte:
		b := b.([16]byte)
		return slices.Compare(a[:], b[:])
	default:
		return slices.Compare([]byte(a.(string)), []byte(b.(string)))
	}
}
