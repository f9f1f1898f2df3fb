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
	noError(t, err)
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
	noError(t, err)
	text := value.(string)
	bytes, image := any([]byte(text)), any(binaryImage(ids))
	var target idArray
	for name, test := range map[string]struct {
		limit float64
		run   func()
	}{
		"Value":       {3, func() { _, err = ids.Value() }}, // buffer, string, interface
		"Scan text":   {1, func() { err = target.Scan(any(text)) }},
		"Scan bytes":  {2, func() { err = target.Scan(bytes) }}, // a copy as a string
		"Scan binary": {1, func() { err = target.Scan(image) }},
	} {
		if got := testing.AllocsPerRun(10, test.run); got > test.limit || err != nil {
			t.Errorf("%s: %v allocations, want at most %v; error %v", name, got, test.limit, err)
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
	var err error
	for name, run := range map[string]func(){ // with the number of allocations
		"0 AppendText":     func() { buf, err = id.AppendText(buf[:0]) },
		"1 MarshalText":    func() { keep.bytes, err = id.MarshalText() },
		"1 String":         func() { keep.text = id.String() },
		"0 ParseTyped":     func() { keep.typed, err = sqltypes.ParseTyped[userKind](text) },
		"0 UnmarshalText":  func() { err = got.UnmarshalText(raw) },
		"0 UnmarshalParam": func() { err = got.UnmarshalParam(text) },
		"0 UnmarshalJSON":  func() { err = got.UnmarshalJSON(quoted) },
		"0 Scan int64":     func() { err = got.Scan(column) },
		"0 Scan string":    func() { err = got.Scan(columnText) },
		"0 Scan []byte":    func() { err = got.Scan(columnBytes) },
	} {
		if n := testing.AllocsPerRun(100, run); n != float64(name[0]-'0') || err != nil {
			t.Errorf("%s: %v allocations, error %v", name, n, err)
		}
	}

	// encoding/json adds the same as for an ID, if it can append the text.
	typed, plain := id, id.SnowflakeID()
	want := testing.AllocsPerRun(100, func() { keep.bytes, _ = json.Marshal(&plain) })
	if n := testing.AllocsPerRun(100, func() { keep.bytes, _ = json.Marshal(&typed) }); n != want {
		t.Errorf("json.Marshal: %v allocations, an ID has %v", n, want)
	}
}
