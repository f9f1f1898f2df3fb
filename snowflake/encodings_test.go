package snowflake_test

import (
	"cmp"
	"math"
	"math/big"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/sqlflake/sqlflake/snowflake"
)

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

func eachEncoding(t *testing.T, test func(t *testing.T, e textForm)) {
	t.Helper()
	for _, e := range encodings {
		t.Run(e.name, func(t *testing.T) { test(t, e) })
	}
}

func TestEncodingsOfKnownIDs(t *testing.T) {
	for _, test := range []struct {
		id             snowflake.ID
		base32, base62 string
	}{
		{0, "0000000000000", "00000000000"},
		{1, "0000000000001", "00000000001"},
		{175928847299117063, "04W86BB0G4007", "0Czks0tP37X"},
		{math.MaxInt64, "7ZZZZZZZZZZZZ", "AzL8n0Y58m7"},
		{math.MinInt64, "8000000000000", "AzL8n0Y58m8"},
		{-1, "FZZZZZZZZZZZZ", "LygHa16AHYF"},
	} {
		if test.id.Base32() != test.base32 || test.id.Base62() != test.base62 {
			t.Errorf("%d is %s and %s, want %+v", test.id, test.id.Base32(), test.id.Base62(), test)
		}
	}
}

func TestEncodingsAreExactInversePairsOverAllOfInt64(t *testing.T) {
	eachEncoding(t, func(t *testing.T, e textForm) {
		for _, id := range sampleIDs() {
			text := e.format(id)
			if want := e.digits(new(big.Int).SetUint64(uint64(id))); text != want {
				t.Fatalf("%d is written as %q, want %q", id, text, want)
			}
			if got, err := e.parse(text); got != id || err != nil {
				t.Fatalf("%q is read as %d, %v, want %d", text, got, err, id)
			}
		}
	})
}

func TestEncodingsSortAsTheIDsDo(t *testing.T) {
	eachEncoding(t, func(t *testing.T, e textForm) {
		ids := sampleIDs()
		slices.SortFunc(ids, func(a, b snowflake.ID) int { return strings.Compare(e.format(a), e.format(b)) })
		// Negative IDs come last, as documented.
		if !slices.IsSortedFunc(ids, func(a, b snowflake.ID) int { return cmp.Compare(uint64(a), uint64(b)) }) {
			t.Error("the texts sort otherwise than the IDs")
		}
	})
}

func TestEncodingsRejectOtherLengthsAndCharacters(t *testing.T) {
	eachEncoding(t, func(t *testing.T, e textForm) {
		text, zero := e.format(175928847299117063), e.alphabet[:1]
		rejected := []string{"", zero, text[1:], text[:len(text)-1], zero + text, text + zero, text + text, text + "\n"}
		text = e.format(1)
		for at := range text {
			for c := range 256 {
				if strings.IndexByte(e.alphabet, byte(c)) < 0 {
					rejected = append(rejected, text[:at]+string([]byte{byte(c)})+text[at+1:])
				}
			}
		}
		for _, in := range rejected {
			id, err := e.parse(in)
			wantError(t, strconv.Quote(in), err, snowflake.ErrSyntax)
			if id != 0 {
				t.Errorf("%q is read as %d with an error, want 0", in, id)
			}
		}
	})
}

func TestEncodingsRejectMoreThan64Bits(t *testing.T) {
	eachEncoding(t, func(t *testing.T, e textForm) {
		limit := new(big.Int).Lsh(big.NewInt(1), 64)
		last := new(big.Int).Sub(limit, big.NewInt(1))
		if id, err := e.parse(e.digits(last)); id != -1 || err != nil {
			t.Errorf("2^64-1, %q, is read as %d, %v, want -1", e.digits(last), id, err)
		}
		top := strings.Repeat(e.alphabet[len(e.alphabet)-1:], e.length)
		beyond := []string{e.digits(limit), e.digits(new(big.Int).Add(limit, big.NewInt(12345))), top}
		// All first characters that are too large, before the smallest digits and before the largest.
		first := strings.IndexByte(e.alphabet, e.digits(last)[0])
		for _, c := range e.alphabet[first+1:] {
			beyond = append(beyond, string(c)+strings.Repeat(e.alphabet[:1], e.length-1), string(c)+top[1:])
		}
		for _, in := range beyond {
			id, err := e.parse(in)
			wantError(t, in, err, snowflake.ErrRange)
			if id != 0 {
				t.Errorf("%q is read as %d with an error, want 0", in, id)
			}
		}
	})
}
