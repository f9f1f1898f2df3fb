package snowflake_test

import (
	"cmp"
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
