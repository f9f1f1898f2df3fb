package snowflake_test

import (
	"cmp"
	"errors"
	"math"
	"math/big"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/sqlflake/sqlflake/snowflake"
)

// acceptedTexts are texts that String prints.
var acceptedTexts = map[string]snowflake.ID{
	"0":                    0,
	"7":                    7,
	"-5":                   -5,
	"10":                   10,
	"1234567":              1234567,
	"12345678":             12345678,
	"123456789":            123456789,
	"-123456789012345":     -123456789012345,
	"1000000000000000":     1000000000000000,
	"99999999999999999":    99999999999999999,
	"175928847299117063":   175928847299117063,
	"1234567890123456789":  1234567890123456789,
	"9223372036854775807":  math.MaxInt64,
	"-9223372036854775808": math.MinInt64,
}

// syntaxErrors and rangeErrors are texts that String does not print. Some are short and some long, since the parser has
// a branch for each length.
var (
	hundredZeros = strings.Repeat("0", 100)
	syntaxErrors = []string{
		"", "-", "+", "-0", "+5", "--5", "5-", "00", "007", "-07", " 5", "5 ", "5\n", "\t5", "5.0", "1e3", "1e18", "1_000", "1,000",
		"0x10", "ff", "null", "NaN", `"5"`, "5\x00", "\x005", "\u0663", "012345678", "-012345678", "0000000000000005",
		"0175928847299117063", "-0175928847299117063", "00000000000000000000", "+175928847299117063", " 175928847299117063",
		"175928847299117063 ", "17592884729911706.0", "1.75928847299117e17", "1234567890123456789O", "0" + hundredZeros,
		"1" + hundredZeros + "x",
	}
	rangeErrors = []string{
		"9223372036854775808", "9999999999999999999", "18446744073709551616", "-9223372036854775809", "-9999999999999999999",
		"-18446744073709551615", "1" + hundredZeros, "-1" + hundredZeros,
	}
)

// eachRefused calls test with the texts and the error that all readers of decimal text return for them.
func eachRefused(test func(text string, want error)) {
	for _, text := range syntaxErrors {
		test(text, snowflake.ErrSyntax)
	}
	for _, text := range rangeErrors {
		test(text, snowflake.ErrRange)
	}
}

// wantError checks that an error is of the kind that is wanted, and that it is a *ParseError.
func wantError(t *testing.T, what string, err, want error) {
	t.Helper()
	if !errors.Is(err, want) {
		t.Errorf("%s: error %v, want %v", what, err, want)
	}
	if parseError := (*snowflake.ParseError)(nil); !errors.As(err, &parseError) {
		t.Errorf("%s: error %T, want a *ParseError", what, err)
	}
}

// checkParse compares Parse with strconv.
func checkParse(t *testing.T, text string) {
	t.Helper()
	want, ok := canonical(text)
	id, err := snowflake.Parse(text)
	if (err == nil) != ok || ok && (id != want || id.String() != text) {
		t.Fatalf("Parse(%q) = %d, %v, want %d, ok %v", text, id, err, want, ok)
	}
}

// Each byte value at each place of a text of each length: the tests of eight characters at a time must not let one
// pass.
func TestParseRejectsEveryWrongByteAtEveryPlace(t *testing.T) {
	for length := 1; length <= 20; length++ {
		digits := "12345678901234567890"[:length]
		for at := range length {
			for c := range 256 {
				text := digits[:at] + string([]byte{byte(c)}) + digits[at+1:]
				checkParse(t, text)
			}
		}
	}
}

// Wrong bytes beside each other: a carry out of one may make the next look right.
func TestParseRejectsWrongBytesBesideEachOther(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	interesting := []byte{0x00, '/', '0', '9', ':', '?', 0x7f, 0x80, 0xb0, 0xb9, 0xba, 0xff}
	for range 200_000 {
		text := []byte("1234567890123456789")[:1+random.IntN(19)]
		for range 1 + random.IntN(4) {
			text[random.IntN(len(text))] = interesting[random.IntN(len(interesting))]
		}
		checkParse(t, string(text))
	}
}

// The digits are stored eight at a time, so what lies behind them must be seen to stay.
func TestIDsPrintWhatStrconvPrintsAndNothingBehindIt(t *testing.T) {
	for _, id := range sampleIDs() {
		want := strconv.FormatInt(int64(id), 10)
		marshaled, err := id.MarshalText()
		back, errParse := snowflake.Parse(want)
		if id.String() != want || string(marshaled) != want || err != nil || back != id || errParse != nil {
			t.Fatalf("%s: String %q, MarshalText %q, %v, Parse %d, %v", want, id.String(), marshaled, err, back, errParse)
		}

		buf := []byte("........................................")
		got, err := id.AppendText(buf[: 2 : 2+len(want)])
		if string(got) != ".."+want || err != nil || &got[0] != &buf[0] {
			t.Fatalf("AppendText of %s = %q, %v, in place: %v", want, got, err, &got[0] == &buf[0])
		}

		if behind := buf[len(got):]; strings.Trim(string(behind), ".") != "" {
			t.Fatalf("AppendText of %s wrote %q behind the text", want, behind)
		}
	}
}

func TestParseErrorsReadAsOneSentence(t *testing.T) {
	var id snowflake.ID
	parse := func(s string) error { return errOf(snowflake.Parse(s)) }
	base62 := func(s string) error { return errOf(snowflake.ParseBase62(s)) }
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
	var id snowflake.ID
	for name, read := range map[string]func(text string) error{
		"text":        func(text string) error { return errOf(snowflake.Parse(text)) },
		"bytes":       func(text string) error { return id.Scan([]byte(text)) },
		"base32":      func(text string) error { return errOf(snowflake.ParseBase32(text)) },
		"base62":      func(text string) error { return errOf(snowflake.ParseBase62(text)) },
		"JSON":        func(text string) error { return id.UnmarshalJSON([]byte(text)) },
		"JSON string": func(text string) error { return id.UnmarshalJSON([]byte(`"` + text + `"`)) },
	} {
		for _, length := range []int{39, 40, 41, 100_000} {
			want := strings.Repeat("7", length)
			var parseError *snowflake.ParseError
			if err := read(want); !errors.As(err, &parseError) || len(err.Error()) > 250 {
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

// textForm is an encoding of IDs as text of fixed width.
type textForm struct {
	name     string
	alphabet string
	length   int
	format   func(snowflake.ID) string
	parse    func(string) (snowflake.ID, error)
}

var encodings = []textForm{
	{"base32", "0123456789ABCDEFGHJKMNPQRSTVWXYZ", 13, snowflake.ID.Base32, snowflake.ParseBase32},
	{"base62", "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz", 11, snowflake.ID.Base62, snowflake.ParseBase62},
}

// digits writes a number in the encoding's base and width, the slow way.
func (e textForm) digits(number *big.Int) string {
	text := make([]byte, e.length)
	base, digit := big.NewInt(int64(len(e.alphabet))), new(big.Int)
	rest := new(big.Int).Set(number)
	for i := range text {
		rest.DivMod(rest, base, digit)
		text[e.length-1-i] = e.alphabet[digit.Int64()]
	}
	return string(text)
}

// Negative IDs sort last, as documented.
func TestEncodingsAreExactInversePairsOverAllOfInt64AndSortAsTheIDsDo(t *testing.T) {
	ids := sampleIDs()
	slices.SortFunc(ids, func(a, b snowflake.ID) int { return cmp.Compare(uint64(a), uint64(b)) })
	for _, e := range encodings {
		last := ""
		for _, id := range ids {
			text := e.format(id)
			if want := e.digits(new(big.Int).SetUint64(uint64(id))); text != want || text < last {
				t.Fatalf("%s: %d is written as %q, want %q, not below %q", e.name, id, text, want, last)
			}
			if got, err := e.parse(text); got != id || err != nil {
				t.Fatalf("%s: %q is read as %d, %v, want %d", e.name, text, got, err, id)
			}
			last = text
		}
	}
}

func TestEncodingsRejectOtherTextAndMoreThan64Bits(t *testing.T) {
	limit := new(big.Int).Lsh(big.NewInt(1), 64)
	largest := new(big.Int).Sub(limit, big.NewInt(1))
	for _, e := range encodings {
		rejected := map[string]error{}
		text, zero := e.format(175928847299117063), e.alphabet[:1]
		for _, in := range []string{"", zero, text[1:], text[:len(text)-1], zero + text, text + zero, text + text, text + "\n"} {
			rejected[in] = snowflake.ErrSyntax
		}

		text = e.format(1)
		for at := range text {
			for c := range 256 {
				if strings.IndexByte(e.alphabet, byte(c)) < 0 {
					rejected[text[:at]+string([]byte{byte(c)})+text[at+1:]] = snowflake.ErrSyntax
				}
			}
		}

		if id, err := e.parse(e.digits(largest)); id != -1 || err != nil {
			t.Errorf("%s: 2^64-1 is read as %d, %v, want -1", e.name, id, err)
		}

		rejected[e.digits(limit)] = snowflake.ErrRange
		rejected[e.digits(new(big.Int).Add(limit, big.NewInt(12345)))] = snowflake.ErrRange
		// All first characters that are too large, before the smallest digits and before the largest.
		first := strings.IndexByte(e.alphabet, e.digits(largest)[0])
		for _, c := range e.alphabet[first+1:] {
			for _, digit := range []string{zero, e.alphabet[len(e.alphabet)-1:]} {
				rejected[string(c)+strings.Repeat(digit, e.length-1)] = snowflake.ErrRange
			}
		}

		for in, want := range rejected {
			id, err := e.parse(in)
			wantError(t, e.name+" of "+strconv.Quote(in), err, want)
			if id != 0 {
				t.Errorf("%s: %q is read as %d with an error, want 0", e.name, in, id)
			}
		}
	}
}
