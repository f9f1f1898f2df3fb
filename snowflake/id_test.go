package snowflake_test

import (
	"encoding"
	"fmt"
	"log/slog"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/sqlflake/sqlflake/snowflake"
)

var _ encoding.TextAppender = snowflake.ID(0)

// sampleIDs returns IDs of every length and sign: the limits of int64, all powers of two and of ten with their
// neighbours, and random ones of each number of bits.
func sampleIDs() []snowflake.ID {
	ids := []snowflake.ID{0, math.MaxInt64, math.MaxInt64 - 1, math.MinInt64, math.MinInt64 + 1, 1234567890123456789}
	around := func(v int64) {
		for d := int64(-2); d <= 2; d++ {
			ids = append(ids, snowflake.ID(v+d), snowflake.ID(-v-d))
		}
	}
	for bit := range 63 {
		around(1 << bit)
	}
	for power := int64(1e18); power > 0; power /= 10 {
		around(power)
	}
	for head := range int64(923) { // all that are before the last 16 digits
		ids = append(ids, snowflake.ID(head*1e16+1))
	}
	random := rand.New(rand.NewPCG(1, 2))
	for shift := range 64 {
		for range 200 {
			id := snowflake.ID(random.Uint64() >> shift)
			ids = append(ids, id, -id)
		}
	}
	return ids
}

func TestIDPrintsAsDigits(t *testing.T) {
	for format, want := range map[string]string{
		"%d": "255", "%v": "255", "%s": "255", "%q": `"255"`, "%08d": "00000255", "%x": "323535", // documented: ID is a Stringer
	} {
		if got := fmt.Sprintf(format, snowflake.ID(255)); got != want {
			t.Errorf("Sprintf(%q) = %q, want %q", format, got, want)
		}
	}
	if id := snowflake.ID(5); id.GormDataType() != "bigint" || !id.LogValue().Equal(slog.StringValue("5")) || id.IsZero() {
		t.Errorf("%q, %v, %v", id.GormDataType(), id.LogValue(), id.IsZero())
	}
}
