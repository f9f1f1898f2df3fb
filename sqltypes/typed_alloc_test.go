package sqltypes_test

import (
	"encoding/json"
	"testing"

	"github.com/sqlflake/sqlflake/snowflake"
	"github.com/sqlflake/sqlflake/sqltypes"
)

// operations are what ID and Typed have in common, with an input of each.
func operations[T interface {
	snowflake.ID | userID
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
	var got T
	return map[string]func() error{
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
	if raceEnabled {
		t.Skip("the race detector allocates on its own")
	}
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
	if n := testing.AllocsPerRun(100, func() {
		if v, err := userID(id).Value(); v != int64(id) || err != nil {
			t.Fatal(v, err)
		}
	}); n != 0 {
		t.Errorf("Value: %v allocations, want 0", n)
	}
}
