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

const base32Digits = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"

// base32 writes a number in base 32, the slow way.
func base32(number *big.Int) string {
	text := make([]byte, 13)
	digit, rest := new(big.Int), new(big.Int).Set(number)
	for i := range text {
		rest.DivMod(rest, big.NewInt(32), digit)
		text[len(text)-1-i] = base32Digits[digit.Int64()]
	}
	return string(text)
}

// Negative IDs sort last, as documented.
func TestBase32IsAnExactInversePairOverAllOfInt64AndSortsAsTheIDsDo(t *testing.T) {
	ids := sampleIDs()
	slices.SortFunc(ids, func(a, b snowflake.ID) int { return cmp.Compare(uint64(a), uint64(b)) })
	last := ""
	for _, id := range ids {
		text := id.Base32()
		if want := base32(new(big.Int).SetUint64(uint64(id))); text != want || text < last {
			t.Fatalf("%d is written as %q, want %q, not below %q", id, text, want, last)
		}
		if got, err := snowflake.ParseBase32(text); got != id || err != nil {
			t.Fatalf("%q is read as %d, %v, want %d", text, got, err, id)
		}
		last = text
	}
}

func TestBase32RejectsOtherTextAndMoreThan64Bits(t *testing.T) {
	limit := new(big.Int).Lsh(big.NewInt(1), 64)
	rejected := map[string]error{base32(limit): snowflake.ErrRange}
	text := snowflake.ID(175928847299117063).Base32()
	for _, in := range []string{"", "0", text[1:], text[:len(text)-1], "0" + text, text + "0", text + text, text + "\n"} {
		rejected[in] = snowflake.ErrSyntax
	}
	text = snowflake.ID(1).Base32()
	for at := range text {
		for c := range 256 {
			if strings.IndexByte(base32Digits, byte(c)) < 0 {
				rejected[text[:at]+string([]byte{byte(c)})+text[at+1:]] = snowflake.ErrSyntax
			}
		}
	}
	for _, c := range base32Digits[16:] { // all first characters that are too large
		rejected[string(c)+strings.Repeat("0", 12)] = snowflake.ErrRange
		rejected[string(c)+strings.Repeat("Z", 12)] = snowflake.ErrRange
	}
	for in, want := range rejected {
		id, err := snowflake.ParseBase32(in)
		wantError(t, strconv.Quote(in), err, want)
		if id != 0 {
			t.Errorf("%q is read as %d with an error, want 0", in, id)
		}
	}
}
