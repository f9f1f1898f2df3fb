//go:build !race

package sqltypes_test

import (
	"database/sql"
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
	err   error
}

func BenchmarkScan(b *testing.B) {
	const id = 1234567890123456789
	for name, test := range map[string]struct {
		to  sql.Scanner
		src any
	}{
		"Text":   {new(sqltypes.Text), snowflake.ID(id).Base32()},
		"Binary": {new(sqltypes.Binary), []byte("12345678")},
		"UUID":   {new(uuidkey.ID), uuidkey.UUID(id).String()},
		"Typed":  {new(userID), int64(id)},
		"Array":  {new(idArray), "{1234567890123456789,1234567890123456790}"},
	} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				keep.err = test.to.Scan(test.src)
			}
		})
	}
}

func TestColumnsAllocateOnlyForValue(t *testing.T) {
	t.Run("Text", testColumnAllocs[sqltypes.Text])
	t.Run("Binary", testColumnAllocs[sqltypes.Binary])
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

// operations are what ID and Typed have in common, with an input of each.
func operations[T interface {
	snowflake.ID | userID
	AppendText([]byte) ([]byte, error)
	MarshalText() ([]byte, error)
	String() string
}, P interface {
	*T
	Scan(any) error
	UnmarshalText([]byte) error
	UnmarshalParam(string) error
	UnmarshalJSON([]byte) error
}](id T) map[string]func() error {
	text := id.String()
	raw, quoted := []byte(text), []byte(`"`+text+`"`)
	column := int64(id)
	columnText := snowflake.ID(id).String()
	columnBytes := []byte(columnText)
	buf := make([]byte, 0, 40)
	var got T
	return map[string]func() error{
		"AppendText":     func() (err error) { buf, err = id.AppendText(buf[:0]); return err },
		"MarshalText":    func() (err error) { keep.bytes, err = id.MarshalText(); return err },
		"String":         func() error { keep.text = id.String(); return nil },
		"UnmarshalText":  func() error { return P(&got).UnmarshalText(raw) },
		"UnmarshalParam": func() error { return P(&got).UnmarshalParam(text) },
		"UnmarshalJSON":  func() error { return P(&got).UnmarshalJSON(quoted) },
		"Scan int64":     func() error { return P(&got).Scan(column) },
		"Scan string":    func() error { return P(&got).Scan(columnText) },
		"Scan []byte":    func() error { return P(&got).Scan(columnBytes) },
		"json.Marshal":   func() (err error) { keep.bytes, err = json.Marshal(&id); return err },
		"json.Unmarshal": func() error { return json.Unmarshal(quoted, &got) },
	}
}

func TestTypedAllocatesAsIDDoes(t *testing.T) {
	const id snowflake.ID = 1234567890123456789
	ofID, ofTyped := operations(id), operations(userID(id))
	for name, run := range ofTyped {
		if err := run(); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		got := testing.AllocsPerRun(100, func() { _ = run() })
		want := testing.AllocsPerRun(100, func() { _ = ofID[name]() })
		if got != want {
			t.Errorf("%s: %v allocations, an ID has %v", name, got, want)
		}
	}
	if n := testing.AllocsPerRun(100, func() { keep.typed, _ = sqltypes.ParseTyped[userKind]("user_128GGYHYYK08N") }); n != 0 {
		t.Errorf("ParseTyped: %v allocations, want 0", n)
	}
}
