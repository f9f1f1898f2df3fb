package snowflake_test

import (
	"encoding/json"
	"strconv"
	"testing"

	"github.com/sqlflake/sqlflake/snowflake"
)

func TestJSONIsAStringAndIntegersAreReadToo(t *testing.T) {
	read := func(in string, want snowflake.ID) {
		id := snowflake.ID(42)
		if err := json.Unmarshal([]byte(in), &id); id != want || err != nil {
			t.Errorf("Unmarshal(%s) = %d, %v, want %d", in, id, err, want)
		}
	}
	for text, id := range acceptedTexts {
		out, err := json.Marshal(id)
		if string(out) != `"`+text+`"` || err != nil {
			t.Errorf("Marshal(%d) = %s, %v", id, out, err)
		}
		read(string(out), id)
		read(" "+text+"\n", id)
	}
	read("null", 42)
	read(`"1\u0032\u0033"`, 123)
	read(`"\u002d5"`, -5)
	read(`"175928847299117\u00306\u0033"`, 175928847299117063)
}

func TestJSONOfOtherKindsIsRejectedAndKeepsTheID(t *testing.T) {
	for want, inputs := range map[error][]string{
		snowflake.ErrSyntax: {
			`""`, `" "`, `1.5`, `5.0`, `1e3`, `1E+18`, `-0`, `"-0"`, `"+5"`, `"007"`, `" 5"`, `"5\n"`, `"\u0035\u0020"`, `"\"5\""`,
			`"null"`, `"\u006eull"`, `"\ud800"`,
			// Not JSON, which callers other than encoding/json may pass.
			``, `"`, `"5`, `5"`, `15"`, `"15`, `'15"`, `'5'`, ` 5`, `"5" `, `007`, `+5`, `nul`, `nulll`, `NULL`, `"\u003"`, `"\5"`, `"1\"`,
		},
		snowflake.ErrRange: {`9223372036854775808`, `-9223372036854775809`, `"9223372036854775808"`, `"922337203685477580\u0038"`},
		snowflake.ErrType:  {`true`, `false`, `[]`, `[1]`, `{}`, `{"id":"1"}`},
	} {
		for _, in := range inputs {
			id := snowflake.ID(42)
			wantError(t, in, id.UnmarshalJSON([]byte(in)), want)
			if id != 42 {
				t.Errorf("UnmarshalJSON(%s) changed the ID to %d on an error", in, id)
			}
		}
	}
}

// textReaders are the methods that read the text of an ID into an ID.
var textReaders = map[string]func(id *snowflake.ID, text string) error{
	"Parse": func(id *snowflake.ID, text string) error {
		parsed, err := snowflake.Parse(text)
		if err == nil || parsed != 0 {
			*id = parsed
		}
		return err
	},
	"UnmarshalText":  func(id *snowflake.ID, text string) error { return id.UnmarshalText([]byte(text)) },
	"UnmarshalParam": func(id *snowflake.ID, text string) error { return id.UnmarshalParam(text) },
	"Scan string":    func(id *snowflake.ID, text string) error { return id.Scan(text) },
	"Scan []byte":    func(id *snowflake.ID, text string) error { return id.Scan([]byte(text)) },
}

func TestTextReadersTakeWhatStringPrintsAndElseKeepTheID(t *testing.T) {
	for name, read := range textReaders {
		for text, want := range acceptedTexts {
			id := snowflake.ID(42)
			if err := read(&id, text); id != want || err != nil {
				t.Errorf("%s(%q) = %d, %v, want %d", name, text, id, err, want)
			}
		}
		eachRefused(func(text string, want error) {
			id := snowflake.ID(42)
			err := read(&id, text)
			wantError(t, name+" of "+strconv.Quote(text), err, want)
			if id != 42 {
				t.Errorf("%s(%q) changed the ID to %d on an error", name, text, id)
			}
		})
	}
}
