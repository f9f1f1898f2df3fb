package sqltypes_test

import (
	"testing"

	"github.com/sqlflake/sqlflake/snowflake"
	"github.com/sqlflake/sqlflake/sqltypes"
)

// Scan reads exactly what Value writes; outside of the column a Text reads as an ID does.
func FuzzText(f *testing.F) {
	f.Fuzz(func(t *testing.T, column string, number int64) {
		fuzzColumn[sqltypes.Text](t, column, number)
		fuzzOutside[sqltypes.Text](t, column)
	})
}

// fuzzColumn checks that Scan and Value are exact inverses.
func fuzzColumn[T storedValue, P storedPointer[T]](t *testing.T, column string, number int64) {
	t.Helper()
	for _, src := range []any{column, []byte(column)} {
		v := T(42)
		if err := P(&v).Scan(src); err != nil {
			if v != 0 {
				t.Fatalf("Scan(%T %q) left %d after %v", src, src, v, err)
			}
			continue
		}
		if value, err := v.Value(); err != nil || toString(value) != column {
			t.Fatalf("Scan(%T %q) = %d, whose Value is %q, %v", src, src, v, value, err)
		}
	}
	value, err := T(number).Value()
	if err != nil {
		t.Fatalf("Value of %d: %v", number, err)
	}
	if v := T(42); P(&v).Scan(value) != nil || v != T(number) {
		t.Fatalf("%d was read back from %q as %d", number, value, v)
	}
}

// fuzzOutside compares the readers of text with those of an ID.
func fuzzOutside[T storedValue, P storedPointer[T]](t *testing.T, text string) {
	t.Helper()
	for name, read := range map[string]func(v P, id *snowflake.ID) (error, error){
		"UnmarshalText": func(v P, id *snowflake.ID) (error, error) {
			return v.UnmarshalText([]byte(text)), id.UnmarshalText([]byte(text))
		},
		"UnmarshalJSON": func(v P, id *snowflake.ID) (error, error) {
			return v.UnmarshalJSON([]byte(text)), id.UnmarshalJSON([]byte(text))
		},
		"UnmarshalParam": func(v P, id *snowflake.ID) (error, error) {
			return v.UnmarshalParam(text), id.UnmarshalParam(text)
		},
	} {
		v, id := T(42), snowflake.ID(42)
		err, want := read(&v, &id)
		if want != nil {
			id = 0
		}
		if (err == nil) != (want == nil) || v != T(id) {
			t.Fatalf("%s of %q = %d, %v, want %d, %v", name, text, v, err, id, want)
		}
	}
}
