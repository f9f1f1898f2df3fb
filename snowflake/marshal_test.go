package snowflake_test

import (
	"encoding/binary"
	"encoding/json"
	"math"
	"strconv"
	"strings"
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

func TestAnEmptyParameterIsNoIDAndTheErrorNamesNull(t *testing.T) {
	id := snowflake.ID(42)
	err := id.UnmarshalParam("")
	wantError(t, "the empty parameter", err, snowflake.ErrSyntax)
	if id != 42 || !strings.Contains(err.Error(), "sqltypes.Null") {
		t.Errorf("the empty parameter is %d, %v", id, err)
	}
}

// The types are those of https://bsonspec.org/spec.html.
func TestBSONIntegersAreReadAndElseTheIDIsKept(t *testing.T) {
	little32, little64 := binary.LittleEndian.AppendUint32, binary.LittleEndian.AppendUint64
	read := func(typ byte, data []byte, want snowflake.ID) {
		id := snowflake.ID(42)
		if err := id.UnmarshalBSONValue(typ, data); id != want || err != nil {
			t.Errorf("%x of type %#x is %d, %v, want %d", data, typ, id, err, want)
		}
	}
	for _, id := range sampleIDs() {
		read(0x12, little64(nil, uint64(id)), id)
		read(0x10, little32(nil, uint32(id)), snowflake.ID(int32(id)))
	}
	read(0x0A, nil, 0)

	for _, other := range []struct {
		typ  byte
		data []byte
		says string
	}{
		{0x01, little64(nil, math.Float64bits(1582917533873852417)), "BSON of type 0x01 and 8 bytes is not an ID"},
		{0x01, little64(nil, math.Float64bits(5)), `NumberLong("...")`}, // also one that is exact, as in Scan
		{0x01, []byte{1}, "type 0x01 and 1 bytes"},
		{0x02, []byte("\x02\x00\x00\x005\x00"), "want a 64-bit integer, type 0x12"}, // the string "5"
		{0x08, []byte{1}, "type 0x08"},
		{0x12, nil, "0 bytes"},
		{0x12, make([]byte, 9), "9 bytes"},
		{0x10, make([]byte, 8), "type 0x10 and 8 bytes"},
		{0x13, make([]byte, 16), "type 0x13"},
	} {
		id := snowflake.ID(42)
		err := id.UnmarshalBSONValue(other.typ, other.data)
		wantError(t, other.says, err, snowflake.ErrType)
		if id != 42 || !strings.Contains(err.Error(), other.says) {
			t.Errorf("%x of type %#x is %d, %v, want %q", other.data, other.typ, id, err, other.says)
		}
	}
}
