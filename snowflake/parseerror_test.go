package snowflake_test

import (
	"errors"
	"maps"
	"strings"
	"testing"

	"github.com/sqlflake/sqlflake/snowflake"
)

func TestParseErrorsReadAsOneSentence(t *testing.T) {
	var id snowflake.ID
	parse := func(s string) error { _, err := snowflake.Parse(s); return err }
	base62 := func(s string) error { _, err := snowflake.ParseBase62(s); return err }
	for want, err := range map[string]error{
		`snowflake: text "" is not an ID: it has no digits`:                                     parse(""),
		`snowflake: text "12x4" is not an ID: want decimal digits only, byte 2 is "x"`:          parse("12x4"),
		`snowflake: text "1\xd9" is not an ID: want decimal digits only, byte 1 is "\xd9"`:      parse("1\xd9"),
		`snowflake: text "007" is not an ID: a number starts without a zero, and 0 has no sign`: parse("007"),
		`snowflake: text "9223372036854775808" is not an ID: ` +
			`it is outside of [-9223372036854775808, 9223372036854775807]`: parse("9223372036854775808"),
		`snowflake: JSON "true" is not an ID: want a string or an integer`:                                                                 id.UnmarshalJSON([]byte("true")),
		`snowflake: NULL is not an ID: use sqltypes.Null for a column that may be NULL (some query builders panic at a nil *snowflake.ID)`: id.Scan(nil),
		`snowflake: base62 "1111111111-" is not an ID: byte 10 is "-", which is not in the alphabet`:                                       base62("1111111111-"),
		`snowflake: base62 "zzzzzzzzzzz" is not an ID: it is above "LygHa16AHYF", the largest number of 64 bits`:                           base62("zzzzzzzzzzz"),
	} {
		if err == nil || err.Error() != want {
			t.Errorf("got  %v\nwant %s", err, want)
		}
	}
}

func TestParseErrorsKeepFortyBytesOfInput(t *testing.T) {
	readers := maps.Clone(textReaders)
	readers["base32"] = func(_ *snowflake.ID, text string) error { _, err := snowflake.ParseBase32(text); return err }
	readers["base62"] = func(_ *snowflake.ID, text string) error { _, err := snowflake.ParseBase62(text); return err }
	readers["JSON"] = func(id *snowflake.ID, text string) error { return id.UnmarshalJSON([]byte(text)) }
	readers["JSON string"] = func(id *snowflake.ID, text string) error { return id.UnmarshalJSON([]byte(`"` + text + `"`)) }
	for name, read := range readers {
		for _, length := range []int{39, 40, 41, 100_000} {
			want := strings.Repeat("7", length)
			var parseError *snowflake.ParseError
			if err := read(new(snowflake.ID), want); !errors.As(err, &parseError) || len(err.Error()) > 250 {
				t.Fatalf("%s of %d bytes: error %.300v, want a short *ParseError", name, length, err)
			}
			if length > 40 {
				want = want[:37] + "..."
			}
			if parseError.Input != want {
				t.Errorf("%s of %d bytes: Input has %d bytes: %q", name, length, len(parseError.Input), parseError.Input)
			}
		}
	}
}
