package sqltypes_test

import (
	"encoding/json"
	"testing"

	"github.com/sqlflake/sqlflake/sqltypes"
)

// wantAsNull compares what a ZeroNull read with what a Null read from the same input.
func wantAsNull(t *testing.T, what string, got sqltypes.ZeroNull, err error, null sqltypes.Null, nullErr error) {
	t.Helper()
	if (err == nil) != (nullErr == nil) || got != sqltypes.ZeroNull(null.ID) {
		t.Fatalf("%s = %d, %v, a Null %+v, %v", what, int64(got), err, null, nullErr)
	}
}

// ZeroNull reads as Null does, with 0 for NULL, and its own texts are read back.
func FuzzZeroNull(f *testing.F) {
	f.Fuzz(func(t *testing.T, text string, number int64) {
		var null sqltypes.Null
		n := sqltypes.ZeroNull(42)
		err := n.Scan(text)
		wantAsNull(t, "Scan", n, err, null, null.Scan(text))
		n = 42
		err = n.UnmarshalText([]byte(text))
		nullErr := null.UnmarshalText([]byte(text))
		wantAsNull(t, "UnmarshalText", n, err, null, nullErr)
		n = 42
		err = n.UnmarshalParam(text)
		nullErr = null.UnmarshalParam(text)
		wantAsNull(t, "UnmarshalParam", n, err, null, nullErr)
		n = 42
		err = n.UnmarshalJSON([]byte(text))
		nullErr = null.UnmarshalJSON([]byte(text))
		wantAsNull(t, "UnmarshalJSON", n, err, null, nullErr)

		want := sqltypes.ZeroNull(number)
		encoded, err := json.Marshal(want)
		back := sqltypes.ZeroNull(42)
		if err != nil || json.Unmarshal(encoded, &back) != nil || back != want || (string(encoded) == "null") != (want == 0) {
			t.Fatalf("%d is written as %s, %v, and read back as %d", number, encoded, err, int64(back))
		}
		value, err := want.Value()
		back = 42
		if err != nil || back.Scan(value) != nil || back != want || (value == nil) != (want == 0) {
			t.Fatalf("%d is stored as %v, %v, and read back as %d", number, value, err, int64(back))
		}
	})
}
