package sqltypes_test

import (
	"encoding/json"
	"testing"

	"github.com/sqlflake/sqlflake/snowflake"
	"github.com/sqlflake/sqlflake/sqltypes"
)

// wantAsID compares what a Null read with what an ID read from the same input.
func wantAsID(t *testing.T, what string, got sqltypes.Null, err error, id snowflake.ID, idErr error) {
	t.Helper()
	if (err == nil) != (idErr == nil) {
		t.Fatalf("%s: %v, but for an ID %v", what, err, idErr)
	}
	want := sqltypes.Null{}
	if err == nil {
		want = sqltypes.NullFrom(id)
	}
	if got != want {
		t.Fatalf("%s = %+v, %v, want %+v", what, got, err, want)
	}
}

// Null reads an ID as ID does; only NULL and the value after an error differ.
func FuzzNull(f *testing.F) {
	f.Fuzz(func(t *testing.T, text string, number int64) {
		n, id := sqltypes.NullFrom(42), snowflake.ID(42)
		err := n.Scan(text)
		wantAsID(t, "Scan", n, err, id, id.Scan(text))

		n = sqltypes.NullFrom(42)
		if err := n.UnmarshalText([]byte(text)); text == "" {
			if n != (sqltypes.Null{}) || err != nil {
				t.Fatalf("UnmarshalText of the empty text = %+v, %v", n, err)
			}
		} else {
			id = 42
			idErr := id.UnmarshalText([]byte(text))
			wantAsID(t, "UnmarshalText", n, err, id, idErr)
		}

		for _, n := range []sqltypes.Null{{}, sqltypes.NullFrom(snowflake.ID(number))} {
			encoded, err := json.Marshal(n)
			back := sqltypes.NullFrom(42)
			if err != nil || json.Unmarshal(encoded, &back) != nil || back != n {
				t.Fatalf("%+v is written as %s, %v, and read back as %+v", n, encoded, err, back)
			}
		}
	})
}

func FuzzNullJSON(f *testing.F) {
	f.Fuzz(func(t *testing.T, data []byte) {
		n := sqltypes.NullFrom(42)
		err := n.UnmarshalJSON(data)
		if string(data) == "null" {
			if n != (sqltypes.Null{}) || err != nil {
				t.Fatalf("UnmarshalJSON(null) = %+v, %v", n, err)
			}
			return
		}
		id := snowflake.ID(42)
		idErr := id.UnmarshalJSON(data)
		wantAsID(t, "UnmarshalJSON", n, err, id, idErr)
	})
}
