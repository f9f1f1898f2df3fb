package sqltypes_test

import (
	"cmp"
	"database/sql"
	"database/sql/driver"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/sqlflake/sqlflake/snowflake"
	"github.com/sqlflake/sqlflake/sqltypes"
	"github.com/sqlflake/sqlflake/sqltypes/uuidkey"
)

// columnTests are the tests that Text, Binary and uuidkey.ID pass.
func columnTests[T idValue, P idPointer[T]](t *testing.T, name string) {
	t.Run("round trip and order of every ID", testRoundTrip[T, P])
	t.Run("decimal outside of the column", testOutside[T, P])
	t.Run("0 after errors of text", testErrorsOfText[T, P])
	t.Run("0 after errors of Scan", func(t *testing.T) { testErrorsOfScan[T, P](t, name) })
	t.Run("Scan of an ID and of its own type", testScanOwn[T, P])
	t.Run("sql.Null", testSQLNull[T, P])
}

func TestText(t *testing.T)   { columnTests[sqltypes.Text](t, "sqltypes.Text") }
func TestBinary(t *testing.T) { columnTests[sqltypes.Binary](t, "sqltypes.Binary") }
func TestUUID(t *testing.T)   { columnTests[uuidkey.ID](t, "uuidkey.ID") }

// everyID has the limits, IDs that differ in each bit, and random ones.
func everyID() []snowflake.ID {
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

// columnText returns the bytes of a driver's value.
func columnText(value driver.Value) string {
	if raw, ok := value.([]byte); ok {
		return string(raw)
	}
	return value.(string)
}

func testRoundTrip[T idValue, P idPointer[T]](t *testing.T) {
	ids := everyID()
	slices.SortFunc(ids, func(a, b snowflake.ID) int { return cmp.Compare(uint64(a), uint64(b)) })
	last := ""
	for _, id := range slices.Compact(ids) {
		value, err := T(id).Value()
		if err != nil || !driver.IsValue(value) {
			t.Fatalf("Value of %d = %T %v, %v", id, value, value, err)
		}
		text := columnText(value)
		if text <= last {
			t.Fatalf("%d is stored as %q, which is not above %q", id, text, last)
		}
		last = text
		for _, src := range []any{value, text, []byte(text)} { // drivers pass either
			got := T(42)
			if err := P(&got).Scan(src); got != T(id) || err != nil {
				t.Fatalf("%d was read back from %T %q as %d, %v", id, src, src, got, err)
			}
		}
	}
}

func testOutside[T idValue, P idPointer[T]](t *testing.T) {
	for _, id := range databaseIDs {
		v, text := T(id), id.String()
		marshaled, err := v.MarshalText()
		if got := fmt.Sprintf("%s %v %d %s", v.String(), v, v, marshaled); got != strings.Repeat(text+" ", 3)+text || err != nil {
			t.Errorf("%d is printed as %s, %v", id, got, err)
		}
		object, err := json.Marshal(map[T]T{v: v})
		back := map[T]T{}
		readErr := json.Unmarshal(object, &back)
		if want := `{"` + text + `":"` + text + `"}`; string(object) != want || errors.Join(err, readErr) != nil || back[v] != v {
			t.Errorf("Marshal = %s, %v, want %s, read back as %v", object, err, want, back)
		}
		for name, read := range columnReaders[T, P]() {
			got := T(42)
			if err := read(&got, text); got != v || err != nil {
				t.Errorf("%s of %s = %d, %v", name, text, got, err)
			}
		}
		if P(&v).SetSnowflakeID(7); T(id).SnowflakeID() != id || v != 7 {
			t.Errorf("SnowflakeID of %d = %d, SetSnowflakeID(7) made %d", id, T(id).SnowflakeID(), v)
		}
	}
}

// columnReaders are the methods that read text, JSON and parameters.
func columnReaders[T idValue, P idPointer[T]]() map[string]func(v *T, text string) error {
	return map[string]func(v *T, text string) error{
		"UnmarshalText":         func(v *T, text string) error { return P(v).UnmarshalText([]byte(text)) },
		"UnmarshalParam":        func(v *T, text string) error { return P(v).UnmarshalParam(text) },
		"json.Unmarshal string": func(v *T, text string) error { return json.Unmarshal([]byte(`"`+text+`"`), v) },
		"json.Unmarshal number": func(v *T, text string) error { return json.Unmarshal([]byte(text), v) },
	}
}

func testErrorsOfText[T idValue, P idPointer[T]](t *testing.T) {
	for name, read := range columnReaders[T, P]() {
		for text, want := range map[string]error{
			"-0": snowflake.ErrSyntax, "1.5": snowflake.ErrSyntax, "9223372036854775808": snowflake.ErrRange,
		} {
			v := T(42)
			if err := read(&v, text); !errors.Is(err, want) || v != 0 {
				t.Errorf("%s of %q = %d, %v, want 0 and %v", name, text, v, err, want)
			}
		}
	}
	for text, want := range map[string]T{"true": 0, `""`: 0, "{}": 0, `"0270F12E45678"`: 0, "null": 42} {
		v := T(42)
		if err := json.Unmarshal([]byte(text), &v); v != want || (err == nil) != (want == 42) {
			t.Errorf("Unmarshal(%s) = %d, %v, want %d", text, v, err, want)
		}
	}
}

func testErrorsOfScan[T idValue, P idPointer[T]](t *testing.T, name string) {
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
		{int64(15), snowflake.ErrType, `int64 "15" is not an ID: ` + name + " is for a column of type "},
		{int64(5), snowflake.ErrType, ", use snowflake.ID for one of integers"},
		{1e18, snowflake.ErrType, `float64 "1e+18" is not an ID: ` + name + " is for a column of type "},
		{true, snowflake.ErrType, "bool is not an ID"},
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

func testScanOwn[T idValue, P idPointer[T]](t *testing.T) {
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

// The package comment warns: after an error a sql.Null has Valid true and the ID 0.
func testSQLNull[T idValue, P idPointer[T]](t *testing.T) {
	value, err := T(7).Value()
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		src  any
		want sql.Null[T]
		err  error
	}{
		{value, sql.Null[T]{V: 7, Valid: true}, nil},
		{"bad", sql.Null[T]{V: 0, Valid: true}, snowflake.ErrSyntax},
		{nil, sql.Null[T]{}, nil},
	} {
		n := sql.Null[T]{V: 42, Valid: true}
		if err := n.Scan(test.src); !errors.Is(err, test.err) || n != test.want {
			t.Errorf("Scan of %v: %+v, %v, want %+v", test.src, n, err, test.want)
		}
	}
}

func TestTextIsBase32InTheColumn(t *testing.T) {
	for id, want := range map[sqltypes.Text]string{
		1: "0000000000001", 31: "000000000000Z", 32: "0000000000010", math.MinInt64: "8000000000000", -1: "FZZZZZZZZZZZZ",
	} {
		if got, err := id.Value(); got != want || err != nil {
			t.Errorf("Value of %d = %v, %v, want %s", id, got, err, want)
		}
	}
	wantScanErrors[sqltypes.Text](t, map[error][]string{
		snowflake.ErrSyntax: {
			"175928847299117063", "000000000000z", "0000000000001  ", "00000000000\xc3\xa9",
			"00000000000O0", // Crockford's decoder takes this O for a 0
		},
		snowflake.ErrRange: {"G000000000000"},
	})
	// The comment of Text warns of it.
	decimal := snowflake.ID(1234567890123)
	var text sqltypes.Text
	if err := text.Scan(decimal.String()); err != nil || text == sqltypes.Text(decimal) {
		t.Errorf("Scan(%s) = %d, %v, want another ID", decimal, text, err)
	}
}

func wantScanErrors[T idValue, P idPointer[T]](t *testing.T, errs map[error][]string) {
	t.Helper()
	for want, texts := range errs {
		for _, text := range texts {
			for _, src := range []any{text, []byte(text)} {
				v := T(42)
				if err := P(&v).Scan(src); !errors.Is(err, want) || v != 0 {
					t.Errorf("Scan(%T %q) = %d, %v, want 0 and %v", src, src, v, err, want)
				}
			}
		}
	}
}

// Drivers reuse the slice that they pass to Scan, and may keep the slice of Value.
func TestBinaryIsBigEndianInTheColumnAndSharesNoMemory(t *testing.T) {
	raw := []byte("\x01\x23\x45\x67\x89\xAB\xCD\xEF")
	var id sqltypes.Binary
	if err := id.Scan(raw); err != nil || id != 0x0123456789ABCDEF {
		t.Errorf("Scan = %#x, %v", int64(id), err)
	}
	clear(raw)
	for range 2 {
		value, err := id.Value()
		if got, ok := value.([]byte); !ok || string(got) != "\x01\x23\x45\x67\x89\xAB\xCD\xEF" || err != nil {
			t.Errorf("Value of %#x = %T %x, %v", int64(id), value, value, err)
		} else {
			clear(got)
		}
	}
	wantScanErrors[sqltypes.Binary](t, map[error][]string{
		snowflake.ErrSyntax: {"", "1234567", "123456789", `\x0123456789abcdef`, "0123456789abcdef"},
	})
	want := `snowflake: []byte "\x00\x01" is not an ID: want 8 bytes, got 2`
	if err := id.Scan([]byte{0, 1}); err == nil || err.Error() != want {
		t.Errorf("error %v, want %s", err, want)
	}
}
