package publicid_test

import (
	"errors"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/sqlflake/sqlflake/snowflake"
)

func TestValueIsTheNumber(t *testing.T) {
	for _, want := range []int64{0, 5, -5, number, math.MaxInt64, math.MinInt64} {
		id := userID(snowflake.ID(want))
		if got, err := id.Value(); got != want || err != nil {
			t.Errorf("Value of %d = %T %v, %v", want, got, got, err)
		}
		back := userID(42)
		if err := back.Scan(want); back != id || err != nil {
			t.Errorf("Scan of %d = %d, %v", want, back.SnowflakeID(), err)
		}
	}
	if got, err := noID(5).Value(); got != int64(5) || err != nil { // the column needs no key
		t.Errorf("Value without a codec = %v, %v", got, err)
	}
}

func TestScan(t *testing.T) {
	seven, raw := userID(7), snowflake.ID(7)
	for _, test := range []struct {
		src  any
		want snowflake.ID
		err  error
	}{
		{int64(7), 7, nil},
		{"7", 7, nil},
		{[]byte("7"), 7, nil},
		{uint64(7), 7, nil},
		{seven, 7, nil},
		{&seven, 7, nil},
		{raw, 7, nil},
		{&raw, 7, nil},
		{nil, 0, snowflake.ErrNull},
		{(*UserID)(nil), 0, snowflake.ErrNull},
		{(*snowflake.ID)(nil), 0, snowflake.ErrNull},
		{"", 0, snowflake.ErrSyntax},
		{"007", 0, snowflake.ErrSyntax},
		{seven.String(), 0, snowflake.ErrSyntax}, // no column holds tokens
		{"9223372036854775808", 0, snowflake.ErrRange},
		{uint64(math.MaxUint64), 0, snowflake.ErrRange},
		{7.0, 0, snowflake.ErrType},
		{true, 0, snowflake.ErrType},
		{time.Time{}, 0, snowflake.ErrType},
		{orderID(7), 0, snowflake.ErrType},
	} {
		id := userID(42)
		if err := id.Scan(test.src); id.SnowflakeID() != test.want || !errors.Is(err, test.err) {
			t.Errorf("Scan(%T %v) = %d, %v, want %d, %v", test.src, test.src, id.SnowflakeID(), err, test.want, test.err)
		}
		if errors.Is(test.err, snowflake.ErrNull) {
			if err := id.Scan(test.src); !strings.Contains(err.Error(), "*publicid.ID") {
				t.Errorf("Scan(%T nil): %v does not name the remedy", test.src, err)
			}
		}
	}
}
