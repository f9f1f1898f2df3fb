package snowflake_test

import (
	"errors"
	"math"
	"math/rand/v2"
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

// refusedTexts are texts that String does not print, with the error that all readers of decimal text return. Some are
// short and some long, since the parser takes different ways.
var refusedTexts = map[string]error{
	"":    snowflake.ErrSyntax,
	"-":   snowflake.ErrSyntax,
	"+":   snowflake.ErrSyntax,
	"-0":  snowflake.ErrSyntax,
	"+5":  snowflake.ErrSyntax,
	"--5": snowflake.ErrSyntax,
	"5-":  snowflake.ErrSyntax,
	"00":  snowflake.ErrSyntax,
	"007": snowflake.ErrSyntax,
	"-07": snowflake.ErrSyntax,
	" 5":  snowflake.ErrSyntax,
	"5 ":  snowflake.ErrSyntax,
	"5\n": snowflake.ErrSyntax,
	"\t5": snowflake.ErrSyntax,
	"5.0": snowflake.ErrSyntax,
	"1e3": snowflake.ErrSyntax, "1e18": snowflake.ErrSyntax, "1_000": snowflake.ErrSyntax, "1,000": snowflake.ErrSyntax,
	"0x10": snowflake.ErrSyntax, "ff": snowflake.ErrSyntax, "null": snowflake.ErrSyntax, "NaN": snowflake.ErrSyntax,
	`"5"`: snowflake.ErrSyntax, "5\x00": snowflake.ErrSyntax, "\x005": snowflake.ErrSyntax, "٣": snowflake.ErrSyntax,
	"012345678":              snowflake.ErrSyntax,
	"-012345678":             snowflake.ErrSyntax,
	"0000000000000005":       snowflake.ErrSyntax,
	"0175928847299117063":    snowflake.ErrSyntax,
	"-0175928847299117063":   snowflake.ErrSyntax,
	"00000000000000000000":   snowflake.ErrSyntax,
	"+175928847299117063":    snowflake.ErrSyntax,
	" 175928847299117063":    snowflake.ErrSyntax,
	"175928847299117063 ":    snowflake.ErrSyntax,
	"17592884729911706.0":    snowflake.ErrSyntax,
	"1.75928847299117e17":    snowflake.ErrSyntax,
	"1234567890123456789O":   snowflake.ErrSyntax,
	"9223372036854775808":    snowflake.ErrRange,
	"9999999999999999999":    snowflake.ErrRange,
	"18446744073709551616":   snowflake.ErrRange,
	"-9223372036854775809":   snowflake.ErrRange,
	"-9999999999999999999":   snowflake.ErrRange,
	"-18446744073709551615":  snowflake.ErrRange,
	"1" + hundredZeros:       snowflake.ErrRange,
	"-1" + hundredZeros:      snowflake.ErrRange,
	"0" + hundredZeros:       snowflake.ErrSyntax,
	"1" + hundredZeros + "x": snowflake.ErrSyntax,
}

var hundredZeros = strings.Repeat("0", 100)

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

func TestParseTakesWhatStringPrints(t *testing.T) {
	for text, want := range acceptedTexts {
		if id, err := snowflake.Parse(text); id != want || err != nil {
			t.Errorf("Parse(%q) = %d, %v, want %d", text, id, err, want)
		}
	}
	for _, id := range sampleIDs() {
		if got, err := snowflake.Parse(id.String()); got != id || err != nil {
			t.Fatalf("Parse(%q) = %d, %v", id.String(), got, err)
		}
	}
}

func TestParseRefusesWhatStringDoesNotPrint(t *testing.T) {
	for text, want := range refusedTexts {
		id, err := snowflake.Parse(text)
		wantError(t, strconv.Quote(text), err, want)
		if id != 0 {
			t.Errorf("Parse(%q) = %d with an error, want 0", text, id)
		}
	}
}

// Each byte value at each place of a text of each length: the tests of eight characters at a time must not let one pass.
func TestParseRefusesEveryWrongByteAtEveryPlace(t *testing.T) {
	for length := 1; length <= 20; length++ {
		digits := "12345678901234567890"[:length]
		for at := range length {
			for c := range 256 {
				text := digits[:at] + string([]byte{byte(c)}) + digits[at+1:]
				want, wantErr := strconv.ParseInt(text, 10, 64)
				ok := wantErr == nil && strconv.FormatInt(want, 10) == text
				id, err := snowflake.Parse(text)
				if (err == nil) != ok || ok && id.Int64() != want {
					t.Fatalf("Parse(%q) = %d, %v, want %d, ok %v", text, id, err, want, ok)
				}
			}
		}
	}
}

// Wrong bytes beside each other: a carry out of one may make the next look right.
func TestParseRefusesWrongBytesBesideEachOther(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	interesting := []byte{0x00, '/', '0', '9', ':', '?', 0x7f, 0x80, 0xb0, 0xb9, 0xba, 0xff}
	for range 200_000 {
		text := []byte("1234567890123456789")[:1+random.IntN(19)]
		for range 1 + random.IntN(4) {
			text[random.IntN(len(text))] = interesting[random.IntN(len(interesting))]
		}
		want, wantErr := strconv.ParseInt(string(text), 10, 64)
		ok := wantErr == nil && strconv.FormatInt(want, 10) == string(text)
		id, err := snowflake.Parse(string(text))
		if (err == nil) != ok || ok && id.Int64() != want {
			t.Fatalf("Parse(%q) = %d, %v, want %d, ok %v", text, id, err, want, ok)
		}
	}
}

func TestMustParseReturnsTheIDOrPanics(t *testing.T) {
	if id := snowflake.MustParse("175928847299117063"); id != 175928847299117063 {
		t.Errorf("MustParse = %d", id)
	}
	defer func() {
		err, ok := recover().(error)
		if !ok {
			t.Fatal("MustParse of 007 did not panic with an error")
		}
		wantError(t, "MustParse of 007", err, snowflake.ErrSyntax)
	}()
	snowflake.MustParse("007")
}
