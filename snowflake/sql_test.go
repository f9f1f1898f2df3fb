package snowflake_test

import (
	"math"
	"strings"
	"testing"
	"time"

	"github.com/sqlflake/sqlflake/snowflake"
)

func TestValueIsAnInt64AndScanTakesIntegersTextAndIDs(t *testing.T) {
	pointee := snowflake.ID(77)
	for _, test := range []struct {
		src  any
		want snowflake.ID
	}{
		{int64(77), 77},
		{int64(math.MaxInt64), math.MaxInt64},
		{int64(math.MinInt64), math.MinInt64},
		{int(77), 77},
		{int32(math.MinInt32), math.MinInt32},
		{uint64(math.MaxInt64), math.MaxInt64},
		{"1234567890123456789", 1234567890123456789},
		{[]byte("1234567890123456789"), 1234567890123456789},
		{snowflake.ID(0), 0},
		{&pointee, 77},
	} {
		id := snowflake.ID(42)
		if err := id.Scan(test.src); id != test.want || err != nil {
			t.Errorf("Scan(%T %v) = %d, %v, want %d", test.src, test.src, id, err, test.want)
		}
		if value, err := id.Value(); value != any(int64(test.want)) || err != nil {
			t.Errorf("Value of %d = %T %v, %v, want the int64", id, value, value, err)
		}
	}
}

func TestScanRejectsOtherTypesNamesThemAndKeepsTheID(t *testing.T) {
	for _, test := range []struct {
		src      any
		want     error
		mentions []string // what the message has to say
	}{
		{nil, snowflake.ErrNull, []string{"NULL", "sqltypes.Null"}},
		{(*snowflake.ID)(nil), snowflake.ErrNull, []string{"nil *snowflake.ID", "sqltypes.Null"}},
		{float64(77), snowflake.ErrType, []string{"float64", `"77"`, "DOUBLE", "BIGINT"}},
		{math.NaN(), snowflake.ErrType, []string{"float64", "NaN"}},
		{float32(77), snowflake.ErrType, []string{"float32", `"77"`, "FLOAT", "BIGINT"}},
		{true, snowflake.ErrType, []string{"bool", "true", "BOOLEAN", "BIGINT"}},
		{time.Unix(0, 0).UTC(), snowflake.ErrType, []string{"time.Time", "1970-01-01T00:00:00Z", "DATETIME", "BIGINT"}},
		{uint64(math.MaxInt64 + 1), snowflake.ErrRange, []string{"uint64", "9223372036854775808", "9223372036854775807"}},
		{struct{}{}, snowflake.ErrType, []string{"struct {}"}},
		{"", snowflake.ErrSyntax, []string{"string", `""`}},
		{"77  ", snowflake.ErrSyntax, []string{"string", `"77  "`}}, // char(4) pads
		{"77.00", snowflake.ErrSyntax, []string{"string", `"77.00"`}},
		{[]byte("9223372036854775808"), snowflake.ErrRange, []string{"[]byte", `"9223372036854775808"`}},
	} {
		id := snowflake.ID(42)
		err := id.Scan(test.src)
		if err == nil {
			t.Errorf("Scan(%T %v) = %d without an error", test.src, test.src, id)
			continue
		}
		wantError(t, err.Error(), err, test.want)
		if id != 42 {
			t.Errorf("Scan(%T %v) changed the ID to %d on an error", test.src, test.src, id)
		}
		for _, word := range test.mentions {
			if !strings.Contains(err.Error(), word) {
				t.Errorf("Scan(%T %v): error %q does not mention %q", test.src, test.src, err, word)
			}
		}
	}
}

// A driver may use the bytes for the next row.
func TestScanKeepsNoReferenceToItsSource(t *testing.T) {
	src := []byte("12x")
	var id snowflake.ID
	err := id.Scan(src)
	copy(src, "zzz")
	if err == nil || !strings.Contains(err.Error(), `"12x"`) {
		t.Errorf("the error reads %q after the driver's buffer changed", err)
	}
}
