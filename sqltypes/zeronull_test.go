package sqltypes_test

import (
	"database/sql"
	"database/sql/driver"
	"encoding"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/sqlflake/sqlflake/snowflake"
	"github.com/sqlflake/sqlflake/sqltypes"
)

// The interfaces of ZeroNull.
var (
	_ fmt.Stringer                              = sqltypes.ZeroNull(0)
	_ encoding.TextMarshaler                    = sqltypes.ZeroNull(0)
	_ encoding.TextUnmarshaler                  = (*sqltypes.ZeroNull)(nil)
	_ json.Marshaler                            = sqltypes.ZeroNull(0)
	_ json.Unmarshaler                          = (*sqltypes.ZeroNull)(nil)
	_ driver.Valuer                             = sqltypes.ZeroNull(0)
	_ sql.Scanner                               = (*sqltypes.ZeroNull)(nil)
	_ interface{ UnmarshalParam(string) error } = (*sqltypes.ZeroNull)(nil) // gin and echo
	_ interface{ GormDataType() string }        = sqltypes.ZeroNull(0)      // GORM
)

var someZeroNulls = []sqltypes.ZeroNull{0, 5, -5, 9007199254740993, 1234567890123456789, math.MaxInt64, math.MinInt64}

func TestZeroNullIsABigintForGORM(t *testing.T) {
	if got := sqltypes.ZeroNull(0).GormDataType(); got != "bigint" {
		t.Errorf("GormDataType() = %q, want bigint", got)
	}
}

// A NULL primary key would get a key from the database, so the plugin must not fill a ZeroNull.
func TestZeroNullIsNotAKeyForThePlugin(t *testing.T) {
	if _, ok := any(new(sqltypes.ZeroNull)).(interface{ SetSnowflakeID(snowflake.ID) }); ok {
		t.Error("a ZeroNull can be filled as a key")
	}
}

func TestZeroNullValueIsNilForZeroOnly(t *testing.T) {
	for _, n := range someZeroNulls {
		var want driver.Value
		if n != 0 {
			want = int64(n)
		}
		if got, err := n.Value(); got != want || err != nil {
			t.Errorf("Value of %d = %T %v, %v, want %v", int64(n), got, got, err, want)
		}
	}
}

func TestZeroNullScan(t *testing.T) {
	id, null := snowflake.ID(7), sqltypes.ZeroNull(7)
	for _, test := range []struct {
		src  any
		want sqltypes.ZeroNull
		err  error
	}{
		{nil, 0, nil},
		{int64(7), 7, nil},
		{int64(0), 0, nil},
		{int64(math.MinInt64), math.MinInt64, nil},
		{uint64(7), 7, nil},
		{"7", 7, nil},
		{"0", 0, nil},
		{[]byte("-7"), -7, nil},
		{id, 7, nil},
		{&id, 7, nil},
		{(*snowflake.ID)(nil), 0, nil},
		{null, 7, nil},
		{sqltypes.ZeroNull(0), 0, nil},
		{&null, 7, nil},
		{(*sqltypes.ZeroNull)(nil), 0, nil},
		{sqltypes.NullFrom(7), 7, nil},
		{sqltypes.Null{}, 0, nil},
		{sqltypes.Null{ID: 5}, 0, nil}, // NULL, although the program has set an ID
		{&sqltypes.Null{ID: 5}, 0, nil},
		{(*sqltypes.Null)(nil), 0, nil},
		{"", 0, snowflake.ErrSyntax}, // empty text is not NULL
		{[]byte{}, 0, snowflake.ErrSyntax},
		{"007", 0, snowflake.ErrSyntax},
		{"9223372036854775808", 0, snowflake.ErrRange},
		{7.0, 0, snowflake.ErrType},
		{true, 0, snowflake.ErrType},
		{uint64(math.MaxUint64), 0, snowflake.ErrRange},
	} {
		n := sqltypes.ZeroNull(42)
		if err := n.Scan(test.src); n != test.want || !errors.Is(err, test.err) {
			t.Errorf("Scan(%T %v) = %d, %v, want %d, %v", test.src, test.src, int64(n), err, int64(test.want), test.err)
		}
	}
}

func TestZeroNullTextIsEmptyForZero(t *testing.T) {
	for _, want := range someZeroNulls {
		wantText := ""
		if want != 0 {
			wantText = snowflake.ID(want).String()
		}
		text, err := want.MarshalText()
		if string(text) != wantText || text == nil || err != nil || want.String() != wantText {
			t.Errorf("MarshalText of %d = %q, %v, String %q, want %q", int64(want), text, err, want, wantText)
		}
		n := sqltypes.ZeroNull(42)
		if err := n.UnmarshalText(text); n != want || err != nil {
			t.Errorf("UnmarshalText(%q) = %d, %v", text, int64(n), err)
		}
		n = 42
		if err := n.UnmarshalParam(wantText); n != want || err != nil {
			t.Errorf("UnmarshalParam(%q) = %d, %v", wantText, int64(n), err)
		}
	}
}

func TestZeroNullJSONIsNullForZero(t *testing.T) {
	for _, want := range someZeroNulls {
		wantText := "null"
		if want != 0 {
			wantText = `"` + snowflake.ID(want).String() + `"`
		}
		text, err := json.Marshal(want)
		if string(text) != wantText || err != nil {
			t.Errorf("Marshal of %d = %s, %v, want %s", int64(want), text, err, wantText)
		}
		n := sqltypes.ZeroNull(42)
		if err := json.Unmarshal(text, &n); n != want || err != nil {
			t.Errorf("Unmarshal(%s) = %d, %v", text, int64(n), err)
		}
	}
	// The number 0 is not NULL in JSON, but is read as 0 too.
	for _, text := range []string{`0`, `"0"`} {
		n := sqltypes.ZeroNull(42)
		if err := json.Unmarshal([]byte(text), &n); n != 0 || err != nil {
			t.Errorf("Unmarshal(%s) = %d, %v, want 0", text, int64(n), err)
		}
	}
}

func TestZeroNullInAJSONObject(t *testing.T) {
	type node struct {
		Parent sqltypes.ZeroNull            `json:"parent"`
		Hidden sqltypes.ZeroNull            `json:"hidden,omitzero"`
		Names  map[sqltypes.ZeroNull]string `json:"names,omitempty"`
	}
	for _, test := range []struct {
		in   node
		want string
	}{
		{node{}, `{"parent":null}`},
		{node{5, 6, map[sqltypes.ZeroNull]string{7: "seven"}}, `{"parent":"5","hidden":"6","names":{"7":"seven"}}`},
	} {
		text, err := json.Marshal(test.in)
		if string(text) != test.want || err != nil {
			t.Errorf("Marshal = %s, %v, want %s", text, err, test.want)
		}
		out := node{Parent: 42}
		if err := json.Unmarshal(text, &out); err != nil || out.Parent != test.in.Parent || out.Hidden != test.in.Hidden ||
			len(out.Names) != len(test.in.Names) || out.Names[7] != test.in.Names[7] {
			t.Errorf("Unmarshal(%s) = %+v, %v", text, out, err)
		}
	}
}

// Version 1 of encoding/json reads keys as JSON strings and rejects the empty one, version 2 reads them as text.
func TestZeroNullReadsAnEmptyJSONKeyAsZeroOrNotAtAll(t *testing.T) {
	var names map[sqltypes.ZeroNull]string
	err := json.Unmarshal([]byte(`{"":"none"}`), &names)
	refused := len(names) == 0 && errors.Is(err, snowflake.ErrSyntax)
	read := len(names) == 1 && names[0] == "none" && err == nil
	if !refused && !read {
		t.Errorf("read %v, %v, want %v, or the key 0", names, err, snowflake.ErrSyntax)
	}
}

// zeroNullReaders are all methods that read text into a ZeroNull.
var zeroNullReaders = map[string]func(n *sqltypes.ZeroNull, text string) error{
	"Scan string":    func(n *sqltypes.ZeroNull, text string) error { return n.Scan(text) },
	"Scan []byte":    func(n *sqltypes.ZeroNull, text string) error { return n.Scan([]byte(text)) },
	"UnmarshalText":  func(n *sqltypes.ZeroNull, text string) error { return n.UnmarshalText([]byte(text)) },
	"UnmarshalParam": func(n *sqltypes.ZeroNull, text string) error { return n.UnmarshalParam(text) },
	"JSON string":    func(n *sqltypes.ZeroNull, text string) error { return json.Unmarshal([]byte(`"`+text+`"`), n) },
	"JSON number":    func(n *sqltypes.ZeroNull, text string) error { return n.UnmarshalJSON([]byte(text)) },
}

func TestZeroNullIsResetOnEveryError(t *testing.T) {
	for name, read := range zeroNullReaders {
		for text, want := range map[string]error{
			"-0": snowflake.ErrSyntax, "1.5": snowflake.ErrSyntax, "+5": snowflake.ErrSyntax, "007": snowflake.ErrSyntax,
			"9223372036854775808": snowflake.ErrRange,
		} {
			n := sqltypes.ZeroNull(42)
			err := read(&n, text)
			if n != 0 || !errors.Is(err, want) || strings.Contains(err.Error(), "sqltypes.Null") {
				t.Errorf("%s of %q left %d, %v, want 0 and %v", name, text, int64(n), err, want)
			}
		}
	}
	for text, want := range map[string]error{
		`""`: snowflake.ErrSyntax, `"null"`: snowflake.ErrSyntax,
		`true`: snowflake.ErrType, `[]`: snowflake.ErrType, `{}`: snowflake.ErrType,
	} {
		n := sqltypes.ZeroNull(42)
		if err := json.Unmarshal([]byte(text), &n); n != 0 || !errors.Is(err, want) {
			t.Errorf("Unmarshal(%s) = %d, %v, want 0 and %v", text, int64(n), err, want)
		}
	}
}
