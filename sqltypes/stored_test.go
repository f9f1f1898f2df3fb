package sqltypes_test

import (
	"cmp"
	"database/sql"
	"database/sql/driver"
	"encoding"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sqlflake/sqlflake/gormplugin"
	"github.com/sqlflake/sqlflake/snowflake"
	"github.com/sqlflake/sqlflake/sqltypes"
)

// storedValue and storedPointer are the interfaces of Text, Binary and UUID.
type storedValue interface {
	~int64
	fmt.Stringer
	encoding.TextMarshaler
	driver.Valuer
	SnowflakeID() snowflake.ID
	GormDataType() string
}

type storedPointer[T any] interface {
	*T
	encoding.TextUnmarshaler
	json.Unmarshaler
	sql.Scanner
	gormplugin.Key
	UnmarshalParam(string) error // gin and echo
}

// storedIDs are the limits, IDs that differ in each bit, and random ones.
func storedIDs() []snowflake.ID {
	ids := []snowflake.ID{0, 1, -1, -5, 9007199254740993, 1234567890123456789, math.MaxInt64, math.MinInt64}
	for bit := range 64 {
		id := snowflake.ID(1) << bit
		ids = append(ids, id, id-1, ^id)
	}
	random := rand.New(rand.NewPCG(1, 2))
	for range 5000 {
		ids = append(ids, snowflake.ID(random.Uint64()>>random.IntN(64)))
	}
	return ids
}

func TestStoredTypesRoundTripEveryID(t *testing.T) {
	t.Run("Text", testRoundTrip[sqltypes.Text])
	t.Run("Binary", testRoundTrip[sqltypes.Binary])
	t.Run("UUID", testRoundTrip[sqltypes.UUID])
}

func testRoundTrip[T storedValue, P storedPointer[T]](t *testing.T) {
	for _, id := range storedIDs() {
		value, err := T(id).Value()
		if err != nil || !driver.IsValue(value) {
			t.Fatalf("Value of %d = %T %v, %v", id, value, value, err)
		}
		for _, src := range []any{value, toString(value), []byte(toString(value))} { // drivers pass either
			got := T(42)
			if err := P(&got).Scan(src); got != T(id) || err != nil {
				t.Fatalf("%d was read back from %T %q as %d, %v", id, src, src, got, err)
			}
		}
	}
}

// toString returns the bytes of a driver's value.
func toString(value driver.Value) string {
	if raw, ok := value.([]byte); ok {
		return string(raw)
	}
	return value.(string)
}

func TestStoredValuesSortAsIDs(t *testing.T) {
	t.Run("Text", testStoredOrder[sqltypes.Text])
	t.Run("Binary", testStoredOrder[sqltypes.Binary])
	t.Run("UUID", testStoredOrder[sqltypes.UUID])
}

func testStoredOrder[T storedValue](t *testing.T) {
	ids := storedIDs()
	slices.SortFunc(ids, func(a, b snowflake.ID) int { return cmp.Compare(uint64(a), uint64(b)) })
	ids = slices.Compact(ids)
	last := ""
	for _, id := range ids {
		value, err := T(id).Value()
		if err != nil {
			t.Fatal(err)
		}
		if column := toString(value); column <= last {
			t.Fatalf("%d is stored as %q, which is not above %q", id, column, last)
		} else {
			last = column
		}
	}
}

func TestStoredTypesAreDecimalOutsideOfTheColumn(t *testing.T) {
	t.Run("Text", testOutside[sqltypes.Text])
	t.Run("Binary", testOutside[sqltypes.Binary])
	t.Run("UUID", testOutside[sqltypes.UUID])
}

func testOutside[T storedValue, P storedPointer[T]](t *testing.T) {
	for _, id := range databaseIDs {
		v, text := T(id), id.String()
		for what, got := range map[string]string{
			"String": v.String(), "%v": fmt.Sprintf("%v", v), "%d": fmt.Sprintf("%d", v), "%s": fmt.Sprintf("%s", v),
		} {
			if got != text {
				t.Errorf("%s of %s = %s", what, text, got)
			}
		}
		marshaled, err := v.MarshalText()
		if string(marshaled) != text || err != nil {
			t.Errorf("MarshalText of %s = %s, %v", text, marshaled, err)
		}
		object, err := json.Marshal(map[T]T{v: v})
		if want := `{"` + text + `":"` + text + `"}`; string(object) != want || err != nil {
			t.Errorf("Marshal = %s, %v, want %s", object, err, want)
		}
		back := map[T]T{}
		if err := json.Unmarshal(object, &back); err != nil || len(back) != 1 || back[v] != v {
			t.Errorf("Unmarshal(%s) = %v, %v", object, back, err)
		}
		for name, read := range storedReaders[T, P]() {
			got := T(42)
			if err := read(&got, text); got != v || err != nil {
				t.Errorf("%s of %s = %d, %v", name, text, got, err)
			}
		}
		if v.SnowflakeID() != id {
			t.Errorf("SnowflakeID of %d = %d", id, v.SnowflakeID())
		}
		P(&v).SetSnowflakeID(7)
		if v != 7 {
			t.Errorf("SetSnowflakeID(7) made %d", v)
		}
	}
}

// storedReaders are the methods that read text, JSON and parameters.
func storedReaders[T storedValue, P storedPointer[T]]() map[string]func(v *T, text string) error {
	return map[string]func(v *T, text string) error{
		"UnmarshalText":         func(v *T, text string) error { return P(v).UnmarshalText([]byte(text)) },
		"UnmarshalParam":        func(v *T, text string) error { return P(v).UnmarshalParam(text) },
		"json.Unmarshal string": func(v *T, text string) error { return json.Unmarshal([]byte(`"`+text+`"`), v) },
		"json.Unmarshal number": func(v *T, text string) error { return json.Unmarshal([]byte(text), v) },
	}
}

func TestStoredTypesAreZeroAfterEveryError(t *testing.T) {
	t.Run("Text", testZeroAfterErrors[sqltypes.Text])
	t.Run("Binary", testZeroAfterErrors[sqltypes.Binary])
	t.Run("UUID", testZeroAfterErrors[sqltypes.UUID])
}

func testZeroAfterErrors[T storedValue, P storedPointer[T]](t *testing.T) {
	for name, read := range storedReaders[T, P]() {
		for text, want := range map[string]error{
			"-0": snowflake.ErrSyntax, "1.5": snowflake.ErrSyntax, "9223372036854775808": snowflake.ErrRange,
		} {
			v := T(42)
			if err := read(&v, text); !errors.Is(err, want) || v != 0 {
				t.Errorf("%s of %q = %d, %v, want 0 and %v", name, text, v, err, want)
			}
		}
	}
	for _, text := range []string{"true", `""`, "{}", `"0270F12E45678"`} {
		v := T(42)
		if err := json.Unmarshal([]byte(text), &v); err == nil || v != 0 {
			t.Errorf("Unmarshal(%s) = %d, %v, want 0 and an error", text, v, err)
		}
	}
	v := T(42)
	if err := json.Unmarshal([]byte("null"), &v); v != 42 || err != nil {
		t.Errorf("Unmarshal(null) = %d, %v, want it unchanged", v, err)
	}
	name := reflect.TypeFor[T]().String()
	for _, test := range []struct {
		src  any
		want error
		text string // part of the message
	}{
		{nil, snowflake.ErrNull, "snowflake: NULL is not an ID: use *" + name + " or sql.Null[" + name + "]"},
		{(*T)(nil), snowflake.ErrNull, "nil *" + name},
		{(*snowflake.ID)(nil), snowflake.ErrNull, "nil *snowflake.ID"},
		{"", snowflake.ErrSyntax, `string ""`},
		{[]byte{}, snowflake.ErrSyntax, `""`},
		{int64(5), snowflake.ErrType, `int64 "5" is not an ID: ` + name + " is for a column of type "},
		{1e18, snowflake.ErrType, `float64 "1e+18" is not an ID: ` + name + " is for a column of type "},
		{true, snowflake.ErrType, "bool is not an ID"},
		{time.Now(), snowflake.ErrType, "time.Time is not an ID"},
		{[]int64{5}, snowflake.ErrType, "[]int64 is not an ID"},
		{strings.Repeat("7", 1000), snowflake.ErrSyntax, ` "` + strings.Repeat("7", 37) + `..." is not an ID`},
	} {
		v := T(42)
		err := P(&v).Scan(test.src)
		var parse *snowflake.ParseError
		if !errors.Is(err, test.want) || !errors.As(err, &parse) || v != 0 {
			t.Errorf("Scan(%T) = %d, %v, want 0 and %v", test.src, v, err, test.want)
			continue
		}
		if message := strings.Replace(err.Error(), "base32 ", "string ", 1); !strings.Contains(message, test.text) {
			t.Errorf("Scan(%T): %v, want a message with %s", test.src, err, test.text)
		}
	}
}

func TestStoredTypesScanIDsAndTheirOwnType(t *testing.T) {
	t.Run("Text", testScanOwn[sqltypes.Text])
	t.Run("Binary", testScanOwn[sqltypes.Binary])
	t.Run("UUID", testScanOwn[sqltypes.UUID])
}

func testScanOwn[T storedValue, P storedPointer[T]](t *testing.T) {
	id, own := snowflake.ID(7), T(7)
	for _, src := range []any{id, &id, own, &own} {
		v := T(42)
		if err := P(&v).Scan(src); v != 7 || err != nil {
			t.Errorf("Scan(%T) = %d, %v, want 7", src, v, err)
		}
	}
	if err := P(&own).Scan(&own); own != 7 || err != nil {
		t.Errorf("Scan of itself = %d, %v, want 7", own, err)
	}
}

func TestStoredTypesAllocateOnlyWhatTheyReturn(t *testing.T) {
	if raceEnabled {
		t.Skip("the race detector allocates on its own")
	}
	t.Run("Text", testStoredAllocs[sqltypes.Text])
	t.Run("Binary", testStoredAllocs[sqltypes.Binary])
	t.Run("UUID", testStoredAllocs[sqltypes.UUID])
}

func testStoredAllocs[T storedValue, P storedPointer[T]](t *testing.T) {
	want := T(int64(1234567890123456789))
	value, err := want.Value()
	if err != nil {
		t.Fatal(err)
	}
	var text, raw any = toString(value), []byte(toString(value))
	var got T
	if n := testing.AllocsPerRun(100, func() { err = P(&got).Scan(text) }); n != 0 || got != want || err != nil {
		t.Errorf("Scan of a string: %v allocations, %d, %v", n, got, err)
	}
	got = 0
	if n := testing.AllocsPerRun(100, func() { err = P(&got).Scan(raw) }); n != 0 || got != want || err != nil {
		t.Errorf("Scan of a []byte: %v allocations, %d, %v", n, got, err)
	}
	if n := testing.AllocsPerRun(100, func() { value, err = want.Value() }); n > 2 { // the bytes, and the interface
		t.Errorf("Value: %v allocations, want 2", n)
	}
}

// The package comment warns: after an error a sql.Null has Valid true and the ID 0.
func TestSQLNullOfStoredTypes(t *testing.T) {
	t.Run("Text", testSQLNull[sqltypes.Text])
	t.Run("Binary", testSQLNull[sqltypes.Binary])
	t.Run("UUID", testSQLNull[sqltypes.UUID])
}

func testSQLNull[T storedValue, P storedPointer[T]](t *testing.T) {
	value, err := T(7).Value()
	if err != nil {
		t.Fatal(err)
	}
	n := sql.Null[T]{V: 42, Valid: true}
	if err := n.Scan(value); err != nil || n != (sql.Null[T]{V: 7, Valid: true}) {
		t.Errorf("Scan of a value: %+v, %v", n, err)
	}
	if back, err := n.Value(); err != nil || toString(back) != toString(value) {
		t.Errorf("Value = %v, %v, want %v", back, err, value)
	}
	if err := n.Scan("bad"); !errors.Is(err, snowflake.ErrSyntax) || n != (sql.Null[T]{V: 0, Valid: true}) {
		t.Errorf("after an error: %+v, %v", n, err)
	}
	if err := n.Scan(nil); err != nil || n != (sql.Null[T]{}) {
		t.Errorf("Scan of NULL: %+v, %v", n, err)
	}
	if back, err := n.Value(); err != nil || back != nil {
		t.Errorf("Value of NULL = %v, %v", back, err)
	}
}
