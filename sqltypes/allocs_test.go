//go:build !race

package sqltypes_test

import (
	"encoding/json"
	"testing"

	"github.com/sqlflake/sqlflake/snowflake"
	"github.com/sqlflake/sqlflake/sqltypes"
	"github.com/sqlflake/sqlflake/sqltypes/uuidkey"
)

// keep holds results, so that the compiler does not drop the calls that are measured.
var keep struct {
	typed userID
	bytes []byte
	text  string
}

func TestColumnsAllocateOnlyForValue(t *testing.T) {
	t.Run("Text", testColumnAllocs[sqltypes.Text])
	t.Run("UUID", testColumnAllocs[uuidkey.ID])
}

func testColumnAllocs[T idValue, P idPointer[T]](t *testing.T) {
	want := T(int64(1234567890123456789))
	value, err := want.Value()
	if err != nil {
		t.Fatal(err)
	}
	for _, src := range []any{columnText(value), []byte(columnText(value))} {
		var got T
		if n := testing.AllocsPerRun(100, func() { err = P(&got).Scan(src) }); n != 0 || got != want || err != nil {
			t.Errorf("Scan of a %T: %v allocations, %d, %v", src, n, got, err)
		}
	}
	if n := testing.AllocsPerRun(100, func() { value, err = want.Value() }); n > 2 { // the bytes, and the interface
		t.Errorf("Value: %v allocations, want 2", n)
	}
}

func TestArrayOf1000IDsTakesFewAllocations(t *testing.T) {
	ids := make(idArray, 1000)
	for i := range ids {
		ids[i] = 1234567890123456789 + snowflake.ID(i)<<12
	}
	value, err := ids.Value()
	if err != nil {
		t.Fatal(err)
	}
	text := value.(string)
	bytes, image := any([]byte(text)), any(binaryImage(ids))
	var target idArray
	for name, test := range map[string]struct {
		limit float64
		run   func() error
	}{
		"Value":       {3, func() error { _, err := ids.Value(); return err }}, // buffer, string, interface
		"Scan text":   {1, func() error { return target.Scan(any(text)) }},
		"Scan bytes":  {2, func() error { return target.Scan(bytes) }}, // a copy as a string
		"Scan binary": {1, func() error { return target.Scan(image) }},
	} {
		got := testing.AllocsPerRun(10, func() {
			if err := test.run(); err != nil {
				t.Fatal(err)
			}
		})
		if got > test.limit {
			t.Errorf("%s: %v allocations, want at most %v", name, got, test.limit)
		}
	}
}

func TestTypedAllocatesOnlyWhatItReturns(t *testing.T) {
	const id = userID(1234567890123456789)
	text := id.String()
	raw, quoted, digits := []byte(text), []byte(`"`+text+`"`), id.SnowflakeID().String()
	var column, columnText, columnBytes any = int64(id), digits, []byte(digits)
	buf := make([]byte, 0, 40)
	var got userID
	for name, run := range map[string]func() error{ // with the number of allocations
		"0 AppendText":     func() (err error) { buf, err = id.AppendText(buf[:0]); return err },
		"1 MarshalText":    func() (err error) { keep.bytes, err = id.MarshalText(); return err },
		"1 String":         func() error { keep.text = id.String(); return nil },
		"0 ParseTyped":     func() (err error) { keep.typed, err = sqltypes.ParseTyped[userKind](text); return err },
		"0 UnmarshalText":  func() error { return got.UnmarshalText(raw) },
		"0 UnmarshalParam": func() error { return got.UnmarshalParam(text) },
		"0 UnmarshalJSON":  func() error { return got.UnmarshalJSON(quoted) },
		"0 Scan int64":     func() error { return got.Scan(column) },
		"0 Scan string":    func() error { return got.Scan(columnText) },
		"0 Scan []byte":    func() error { return got.Scan(columnBytes) },
	} {
		if err := run(); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if n := testing.AllocsPerRun(100, func() { _ = run() }); n != float64(name[0]-'0') {
			t.Errorf("%s: %v allocations", name, n)
		}
	}
	// encoding/json adds the same as for an ID, if it can append the text.
	typed, plain := id, id.SnowflakeID()
	want := testing.AllocsPerRun(100, func() { keep.bytes, _ = json.Marshal(&plain) })
	if n := testing.AllocsPerRun(100, func() { keep.bytes, _ = json.Marshal(&typed) }); n != want {
		t.Errorf("json.Marshal: %v allocations, an ID has %v", n, want)
	}
}
