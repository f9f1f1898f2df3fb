package snowflake_test

import (
	"bytes"
	"encoding"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"log/slog"
	"math"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/sqlflake/sqlflake/snowflake"
)

var _ encoding.TextAppender = snowflake.ID(0)

// sampleIDs returns IDs of every length and sign: the limits of int64, all powers of two and of ten with their
// neighbours, and random ones of each number of bits.
func sampleIDs() []snowflake.ID {
	ids := []snowflake.ID{0, math.MaxInt64, math.MaxInt64 - 1, math.MinInt64, math.MinInt64 + 1, 1234567890123456789}
	around := func(v int64) {
		for d := int64(-2); d <= 2; d++ {
			ids = append(ids, snowflake.ID(v+d), snowflake.ID(-v-d))
		}
	}

	for bit := range 63 {
		around(1 << bit)
	}

	for power := int64(1e18); power > 0; power /= 10 {
		around(power)
	}

	for head := range int64(923) { // all that are before the last 16 digits
		ids = append(ids, snowflake.ID(head*1e16+1))
	}

	random := rand.New(rand.NewPCG(1, 2))
	for shift := range 64 {
		for range 200 {
			id := snowflake.ID(random.Uint64() >> shift)
			ids = append(ids, id, -id)
		}
	}

	return ids
}

func TestIDPrintsAsDigits(t *testing.T) {
	for format, want := range map[string]string{
		"%d": "255", "%v": "255", "%s": "255", "%q": `"255"`, "%08d": "00000255", "%x": "323535", // documented: ID is a Stringer
	} {
		if got := fmt.Sprintf(format, snowflake.ID(255)); got != want {
			t.Errorf("Sprintf(%q) = %q, want %q", format, got, want)
		}
	}
	if id := snowflake.ID(5); id.GormDataType() != "bigint" || !id.LogValue().Equal(slog.StringValue("5")) || id.IsZero() {
		t.Errorf("%q, %v, %v", id.GormDataType(), id.LogValue(), id.IsZero())
	}
}

// canonical is the rule for decimal text in terms of strconv: it is what the number prints.
func canonical(text string) (snowflake.ID, bool) {
	number, err := strconv.ParseInt(text, 10, 64)
	return snowflake.ID(number), err == nil && strconv.FormatInt(number, 10) == text
}

// addTexts adds one seed for each branch of a reader of decimal text.
func addTexts(add func(text string)) {
	for text := range strings.FieldsSeq("- 0 -0 5 -5 +5 007 1234567 12345678 175928847299117063 9223372036854775807 " +
		"-9223372036854775808 9223372036854775808 12345678/0123456789 1e18 77.00") {
		add(text)
	}
}

func FuzzParse(f *testing.F) {
	addTexts(func(text string) { f.Add(text) })
	f.Fuzz(func(t *testing.T, text string) { checkParse(t, text) })
}

// The oracle reads the JSON value as what it is, a string or a number, and applies the rule for text to it.
func FuzzIDJSON(f *testing.F) {
	addTexts(func(text string) {
		f.Add([]byte(text))
		f.Add([]byte(`"` + text + `"`))
	})

	for _, text := range []string{
		"null", "true", "[1]", `{"id":"1"}`, `"\u0031\u00320"`, `"\u003"`, `"`, ` "5" `, "1 2", " 5\n", `"\u002d5"`,
		`"175928847299117\u00306\u0033"`,
	} {
		f.Add([]byte(text))
	}

	f.Fuzz(func(t *testing.T, data []byte) {
		const before = 42
		want, ok := snowflake.ID(before), false
		var value any
		decoder := json.NewDecoder(bytes.NewReader(data))
		decoder.UseNumber()
		if json.Valid(data) && decoder.Decode(&value) == nil {
			switch value := value.(type) {
			case nil:
				ok = true
			case string:
				want, ok = canonical(value)
			case json.Number:
				want, ok = canonical(value.String())
			}
		}

		id := snowflake.ID(before)
		err := json.Unmarshal(data, &id)
		if (err == nil) != ok {
			t.Fatalf("Unmarshal(%q) = %d, %v, want success: %v", data, id, err, ok)
		}

		if !ok {
			want = before
		}

		if id != want {
			t.Fatalf("Unmarshal(%q) = %d, %v, want %d", data, id, err, want)
		}

		if text, err := json.Marshal(id); string(text) != strconv.Quote(id.String()) || err != nil {
			t.Fatalf("%d is written as %s, %v", id, text, err)
		}

		_ = id.UnmarshalJSON(data) // must not panic on what is not JSON
	})
}

func TestValueIsAnInt64AndScanTakesIntegersTextAndIDs(t *testing.T) {
	pointee := snowflake.ID(77)
	for _, test := range []struct {
		src  any
		want snowflake.ID
	}{
		{int64(77), 77},
		{int64(math.MaxInt64), math.MaxInt64},
		{int64(math.MinInt64), math.MinInt64},
		{int(77), 77},
		{int32(math.MinInt32), math.MinInt32},
		{uint64(math.MaxInt64), math.MaxInt64},
		{"1234567890123456789", 1234567890123456789},
		{[]byte("1234567890123456789"), 1234567890123456789},
		{snowflake.ID(0), 0},
		{&pointee, 77},
	} {
		id := snowflake.ID(42)
		if err := id.Scan(test.src); id != test.want || err != nil {
			t.Errorf("Scan(%T %v) = %d, %v, want %d", test.src, test.src, id, err, test.want)
		}
		if value, err := id.Value(); value != any(int64(test.want)) || err != nil {
			t.Errorf("Value of %d = %T %v, %v, want the int64", id, value, value, err)
		}
	}
}

func TestScanRejectsOtherTypesNamesThemAndKeepsTheID(t *testing.T) {
	for _, test := range []struct {
		src      any
		want     error
		mentions []string // what the message has to say
	}{
		{nil, snowflake.ErrNull, []string{"NULL", "sqltypes.Null"}},
		{(*snowflake.ID)(nil), snowflake.ErrNull, []string{"nil *snowflake.ID", "sqltypes.Null"}},
		{float64(77), snowflake.ErrType, []string{"float64", `"77"`, "DOUBLE", "BIGINT"}},
		{math.NaN(), snowflake.ErrType, []string{"float64", "NaN"}},
		{float32(77), snowflake.ErrType, []string{"float32", `"77"`, "FLOAT", "BIGINT"}},
		{true, snowflake.ErrType, []string{"bool", "true", "BOOLEAN", "BIGINT"}},
		{time.Unix(0, 0).UTC(), snowflake.ErrType, []string{"time.Time", "1970-01-01T00:00:00Z", "DATETIME", "BIGINT"}},
		{uint64(math.MaxInt64 + 1), snowflake.ErrRange, []string{"uint64", "9223372036854775808", "9223372036854775807"}},
		{struct{}{}, snowflake.ErrType, []string{"struct {}"}},
		{"", snowflake.ErrSyntax, []string{"string", `""`}},
		{"77  ", snowflake.ErrSyntax, []string{"string", `"77  "`}}, // char(4) pads
		{"77.00", snowflake.ErrSyntax, []string{"string", `"77.00"`}},
		{[]byte("9223372036854775808"), snowflake.ErrRange, []string{"[]byte", `"9223372036854775808"`}},
	} {
		id := snowflake.ID(42)
		err := id.Scan(test.src)
		if err == nil {
			t.Errorf("Scan(%T %v) = %d without an error", test.src, test.src, id)
			continue
		}

		wantError(t, err.Error(), err, test.want)
		if id != 42 {
			t.Errorf("Scan(%T %v) changed the ID to %d on an error", test.src, test.src, id)
		}

		for _, word := range test.mentions {
			if !strings.Contains(err.Error(), word) {
				t.Errorf("Scan(%T %v): error %q does not mention %q", test.src, test.src, err, word)
			}
		}
	}
}

// A driver may use the bytes for the next row.
func TestScanKeepsNoReferenceToItsSource(t *testing.T) {
	src := []byte("12x")
	var id snowflake.ID
	err := id.Scan(src)
	copy(src, "zzz")
	if err == nil || !strings.Contains(err.Error(), `"12x"`) {
		t.Errorf("the error reads %q after the driver's buffer changed", err)
	}
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
