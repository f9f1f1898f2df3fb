package sqltypes_test

import (
	"encoding/json"
	"errors"
	"math"
	"testing"

	"github.com/sqlflake/sqlflake/snowflake"
	"github.com/sqlflake/sqlflake/sqltypes"
)

func TestStrict(t *testing.T) {
	test := ofID[sqltypes.Strict]("sqltypes.Strict", "bigint")
	test.strict = true
	test.badText[snowflake.ErrSyntax] = append(test.badText[snowflake.ErrSyntax], "7.0", " 7")
	test.badJSON = map[error][]string{
		snowflake.ErrType:   {`true`, `{}`, `[5]`, `5`, `0`, `1.5`, `1e400`, `9223372036854775808`},
		snowflake.ErrSyntax: {``, `"`, `nul`},
	}
	test.scans = []scanTest[sqltypes.Strict]{
		{src: nil, err: snowflake.ErrNull, message: "NULL is not an ID: use *sqltypes.Strict or sql.Null[sqltypes.Strict]"},
		{src: uint64(math.MaxUint64), err: snowflake.ErrRange},
	}
	testColumn(t, test)
}

func TestStrictReadsNoJSONNumberAndSaysWhy(t *testing.T) {
	const want = "want a string with the digits: numbers above 2^53 are rounded by JavaScript and other readers of JSON"
	for _, text := range []string{
		"true", "{}", "[5]", "0", "-7", "5.0", "1e3", "9007199254740992", "9007199254740993", "-9007199254740993",
		"175928847299117063", "1e18", "-1e400", "99999999999999999999",
	} {
		in := struct{ ID sqltypes.Strict }{42}
		err := json.Unmarshal([]byte(`{"ID":`+text+`}`), &in)
		var parse *snowflake.ParseError
		if !errors.Is(err, snowflake.ErrType) || !errors.As(err, &parse) || parse.Reason != want || parse.Input != text || in.ID != 0 {
			t.Errorf("%s is read as %d, %v, want %s", text, in.ID, err, want)
		}
	}
	in := struct {
		ID sqltypes.Strict `json:",string"` // structs of older programs have it
	}{}
	if err := json.Unmarshal([]byte(`{"ID":7}`), &in); err == nil || in.ID != 0 {
		t.Errorf("with the option string, 7 is read as %d, %v", in.ID, err)
	}
	// Version 1 of encoding/json removes the quotes, and the ID is an error.
	if err := json.Unmarshal([]byte(`{"ID":"7"}`), &in); (err == nil) != (in.ID == 7) || err != nil && in.ID != 0 {
		t.Errorf(`with the option string, "7" is read as %d, %v`, in.ID, err)
	}
}
