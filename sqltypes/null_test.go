package sqltypes_test

import (
	"database/sql/driver"
	"encoding/json"
	"errors"
	"math"
	"testing"

	"github.com/sqlflake/sqlflake/snowflake"
	"github.com/sqlflake/sqlflake/sqltypes"
)

var someNulls = []sqltypes.Null{
	{},
	sqltypes.NullFrom(0),
	sqltypes.NullFrom(5),
	sqltypes.NullFrom(-5),
	sqltypes.NullFrom(1234567890123456789),
	sqltypes.NullFrom(math.MaxInt64),
	sqltypes.NullFrom(math.MinInt64),
}

func TestZeroValueOfNullIsNULL(t *testing.T) {
	var n sqltypes.Null
	if n.Valid || !n.IsZero() || n.String() != "" {
		t.Errorf("the zero value is %+v, IsZero %v, String %q", n, n.IsZero(), n)
	}
	if n == sqltypes.NullFrom(0) || sqltypes.NullFrom(0).IsZero() {
		t.Error("the ID 0 is NULL")
	}
	if got := n.GormDataType(); got != "bigint" {
		t.Errorf("GormDataType() = %q, want bigint", got)
	}
}

// nullReaders are all methods that read into a Null.
var nullReaders = map[string]func(n *sqltypes.Null, text string) error{
	"Scan string":           func(n *sqltypes.Null, text string) error { return n.Scan(text) },
	"Scan []byte":           func(n *sqltypes.Null, text string) error { return n.Scan([]byte(text)) },
	"UnmarshalText":         func(n *sqltypes.Null, text string) error { return n.UnmarshalText([]byte(text)) },
	"UnmarshalParam":        func(n *sqltypes.Null, text string) error { return n.UnmarshalParam(text) },
	"json.Unmarshal string": func(n *sqltypes.Null, text string) error { return json.Unmarshal([]byte(`"`+text+`"`), n) },
	"json.Unmarshal number": func(n *sqltypes.Null, text string) error { return json.Unmarshal([]byte(text), n) },
}

func TestNullReadsWhatAnIDPrintsAndIsResetOnErrors(t *testing.T) {
	for name, read := range nullReaders {
		for _, want := range someNulls[1:] {
			n := sqltypes.NullFrom(42)
			if err := read(&n, want.String()); n != want || err != nil {
				t.Errorf("%s of %s = %+v, %v", name, want, n, err)
			}
		}
		for text, want := range map[string]error{
			"-0": snowflake.ErrSyntax, "1.5": snowflake.ErrSyntax, "1e3": snowflake.ErrSyntax,
			"9223372036854775808": snowflake.ErrRange,
		} {
			n := sqltypes.NullFrom(42)
			if err := read(&n, text); !errors.Is(err, want) || n != (sqltypes.Null{}) {
				t.Errorf("%s of %q = %+v, %v, want NULL and %v", name, text, n, err, want)
			}
		}
	}
}

func TestNullIsNilAndEmptyAndNullForNULL(t *testing.T) {
	for _, want := range someNulls {
		var value driver.Value
		text, object := "", "null"
		if want.Valid {
			value, text, object = int64(want.ID), want.ID.String(), `"`+want.ID.String()+`"`
		}
		if got, err := want.Value(); got != value || err != nil {
			t.Errorf("Value of %+v = %T %v, %v, want %v", want, got, got, err, value)
		}
		if got, err := want.MarshalText(); string(got) != text || got == nil || want.String() != text || err != nil {
			t.Errorf("MarshalText of %+v = %q, %v, String %q, want %q", want, got, err, want, text)
		}
		if got, err := json.Marshal(want); string(got) != object || err != nil {
			t.Errorf("Marshal of %+v = %s, %v, want %s", want, got, err, object)
		}
		a, b, c := sqltypes.NullFrom(42), sqltypes.NullFrom(42), sqltypes.NullFrom(42)
		err := errors.Join(a.UnmarshalText([]byte(text)), b.UnmarshalParam(text), c.UnmarshalJSON([]byte(object)))
		if a != want || b != want || c != want || err != nil {
			t.Errorf("%s is read as %+v, %+v, %+v, %v, want %+v", object, a, b, c, err, want)
		}
	}
}

func TestNullScan(t *testing.T) {
	id := snowflake.ID(7)
	for _, test := range []struct {
		src  any
		want sqltypes.Null
		err  error
	}{
		{nil, sqltypes.Null{}, nil},
		{int64(7), sqltypes.NullFrom(7), nil},
		{int64(0), sqltypes.NullFrom(0), nil},
		{id, sqltypes.NullFrom(7), nil},
		{&id, sqltypes.NullFrom(7), nil},
		{(*snowflake.ID)(nil), sqltypes.Null{}, nil},
		{sqltypes.NullFrom(7), sqltypes.NullFrom(7), nil},
		{sqltypes.Null{ID: 7}, sqltypes.Null{}, nil},
		{&sqltypes.Null{ID: 7}, sqltypes.Null{}, nil},
		{&sqltypes.Null{ID: 7, Valid: true}, sqltypes.NullFrom(7), nil},
		{(*sqltypes.Null)(nil), sqltypes.Null{}, nil},
		{"", sqltypes.Null{}, snowflake.ErrSyntax}, // a text column with '' is not NULL
		{[]byte{}, sqltypes.Null{}, snowflake.ErrSyntax},
		{7.0, sqltypes.Null{}, snowflake.ErrType},
		{uint64(math.MaxUint64), sqltypes.Null{}, snowflake.ErrRange},
	} {
		n := sqltypes.NullFrom(42)
		if err := n.Scan(test.src); n != test.want || !errors.Is(err, test.err) {
			t.Errorf("Scan(%T %v) = %+v, %v, want %+v, %v", test.src, test.src, n, err, test.want, test.err)
		}
	}
}

func TestNullInJSON(t *testing.T) {
	for want, texts := range map[error][]string{
		snowflake.ErrSyntax: {`""`, `"null"`, `" 5"`, `"007"`}, snowflake.ErrType: {`true`, `[]`, `{"ID":"5","Valid":true}`},
	} {
		for _, text := range texts {
			n := sqltypes.NullFrom(42)
			if err := json.Unmarshal([]byte(text), &n); !errors.Is(err, want) || n != (sqltypes.Null{}) {
				t.Errorf("Unmarshal(%s) = %+v, %v, want NULL and %v", text, n, err, want)
			}
		}
	}
	type node struct {
		Parent sqltypes.Null `json:"parent"`
		Hidden sqltypes.Null `json:"hidden,omitzero"`
		Quoted sqltypes.Null `json:"quoted,string"` //nolint:staticcheck // without effect, and harmless where it is written
	}
	for want, in := range map[string]node{
		`{"parent":null,"quoted":null}`:            {},
		`{"parent":"0","hidden":"0","quoted":"5"}`: {sqltypes.NullFrom(0), sqltypes.NullFrom(0), sqltypes.NullFrom(5)},
	} {
		text, err := json.Marshal(in)
		out := node{Parent: sqltypes.NullFrom(42), Quoted: sqltypes.NullFrom(42)}
		if string(text) != want || err != nil || json.Unmarshal(text, &out) != nil || out != in {
			t.Errorf("Marshal = %s, %v, want %s; read back as %+v", text, err, want, out)
		}
	}
}
