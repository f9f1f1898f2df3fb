package sqltypes_test

import (
	"encoding/json"
	"errors"
	"math"
	"testing"

	"github.com/sqlflake/sqlflake/snowflake"
	"github.com/sqlflake/sqlflake/sqltypes"
)

func TestNull(t *testing.T) {
	null := sqltypes.Null{}
	testColumn(t, columnTest[sqltypes.Null]{
		of: sqltypes.NullFrom, text: snowflake.ID.String, gorm: "bigint",
		badText: map[error][]string{snowflake.ErrSyntax: {"-0", "1.5", "1e3", "null"}, snowflake.ErrRange: {"9223372036854775808"}},
		badJSON: map[error][]string{
			snowflake.ErrSyntax: {`""`, `" 5"`, `"007"`, `1.5`, `1e3`}, snowflake.ErrType: {`true`, `[]`, `{"ID":"5","Valid":true}`},
			snowflake.ErrRange: {`9223372036854775808`},
		},
		scans: []scanTest[sqltypes.Null]{
			{src: sqltypes.Null{ID: 7}, want: null},
			{src: &sqltypes.Null{ID: 7}, want: null},
			{src: null, want: null},
			{src: uint64(math.MaxUint64), err: snowflake.ErrRange},
		},
	})
	if null == sqltypes.NullFrom(0) || sqltypes.NullFrom(0).IsZero() || !null.IsZero() || null.String() != "" {
		t.Errorf("NULL is %+v, the ID 0 is %+v", null, sqltypes.NullFrom(0))
	}
	value, err := null.Value()
	text, textErr := null.MarshalText()
	if value != nil || text == nil || len(text) > 0 || err != nil || textErr != nil {
		t.Errorf("NULL is written as %v, %v and %q, %v", value, err, text, textErr)
	}
	a, b := sqltypes.NullFrom(42), sqltypes.NullFrom(42)
	if err := errors.Join(a.UnmarshalText(nil), b.UnmarshalParam("")); a != null || b != null || err != nil {
		t.Errorf("the empty text is read as %+v, %+v, %v", a, b, err)
	}
}

func TestNullInJSON(t *testing.T) {
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
