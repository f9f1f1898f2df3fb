package snowflake

import (
	"fmt"
	"math"
	"math/bits"
)

// noDigit is the value of a character that is not in an alphabet.
const noDigit = 0xff

// digitValues returns the value of each character of an alphabet and noDigit for all others.
func digitValues(alphabet string) (values [256]byte) {
	for i := range values {
		values[i] = noDigit
	}
	for i := range len(alphabet) {
		values[alphabet[i]] = byte(i)
	}
	return values
}

// base32Len is the length of an ID in base 32: 64 bits in groups of five.
const base32Len = 13

// crockford is the alphabet of Douglas Crockford's Base 32 (https://www.crockford.com/base32.html): the digits and the
// upper-case letters without I, L, O and U. It is in ASCII order.
const crockford = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"

// crockfordValues has the value of each character of the alphabet and noDigit for all others.
var crockfordValues = digitValues(crockford)

// Base32 returns the ID in Crockford's Base 32, for text columns and file names: always 13 characters, digits and
// upper-case letters. Its texts sort like the IDs in byte order, in Unicode's root collation and in the collations of
// most languages; use the collation "C" for the others, such as Danish, Croatian and Estonian. Negative IDs, which no
// generator issues, are written as uint64(id) and sort after the others. [ParseBase32] is the exact inverse.
func (id ID) Base32() string {
	var buf [base32Len]byte
	return string(appendBase32(buf[:0], id))
}

// appendBase32 is apart so that Base32 is inlined, and the caller's append(b, id.Base32()...) does not allocate.
func appendBase32(b []byte, id ID) []byte {
	u := uint64(id)
	return append(b,
		crockford[u>>60], crockford[u>>55&31], crockford[u>>50&31], crockford[u>>45&31], crockford[u>>40&31],
		crockford[u>>35&31], crockford[u>>30&31], crockford[u>>25&31], crockford[u>>20&31], crockford[u>>15&31],
		crockford[u>>10&31], crockford[u>>5&31], crockford[u&31])
}

// ParseBase32 reads the text of [ID.Base32] and nothing else, so one ID has one text. It returns a [*ParseError]:
// [ErrSyntax] for another length, lower-case letters, hyphens and the letters that Crockford's decoder reads as digits
// (I, L and O), and [ErrRange] for a first character above 'F', which would need more than 64 bits.
func ParseBase32(s string) (ID, error) {
	if len(s) != base32Len {
		return 0, lengthError("base32", s, base32Len)
	}

	// As in ParseBase62, two chains run side by side: the characters 0 to 5 and 6 to 11.
	var high, low uint64
	var all byte // the union of the values: its top bit is set if a value is noDigit
	for i := range base32Len / 2 {
		upper, lower := crockfordValues[s[i]], crockfordValues[s[i+base32Len/2]]
		all |= upper | lower
		high = high<<5 | uint64(upper)
		low = low<<5 | uint64(lower)
	}

	last := crockfordValues[s[base32Len-1]]
	all |= last

	if all > 127 {
		return 0, newParseError(ErrSyntax, "base32", s, "want digits and capitals without I, L, O and U")
	}
	if crockfordValues[s[0]] > 15 {
		return 0, newParseError(ErrRange, "base32", s, `it is above "FZZZZZZZZZZZZ", the largest number of 64 bits`)
	}

	return ID(high<<35 | low<<5 | uint64(last)), nil
}

// base62Len is the length of an ID in base 62: the least n with 62^n >= 2^64.
const base62Len = 11

// A text is split into five upper and six lower digits, so that two short chains of divisions or multiplications run in
// parallel instead of a long one.
const (
	base62High  = 5
	base62Low   = base62Len - base62High
	base62Split = 62 * 62 * 62 * 62 * 62 * 62

	base62Inverse = math.MaxUint64/62 + 1 // x*base62Inverse/2^64 is x/62 for all x < 2^58
)

// base62 has the digits and letters in ASCII order. There is no standard for base 62; other programs order the letters
// differently.
const base62 = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"

var base62Values = digitValues(base62)

// Base62 returns the ID in base 62, for URLs: always 11 characters, digits and letters. Its texts sort like the IDs
// only in byte order (collation "C" or binary): ICU collations order upper and lower case differently, so use
// [ID.Base32] in a text column. Negative IDs, which no generator issues, are written as uint64(id) and sort after the
// others. [ParseBase62] is the exact inverse.
func (id ID) Base62() string {
	text := base62Text(id)
	return string(text[:])
}

// base62Text is not inlined, so that Base62 is, and the caller's append(b, id.Base62()...) does not allocate.
//
//go:noinline
func base62Text(id ID) (out [base62Len]byte) {
	high, low := uint64(id)/base62Split, uint64(id)%base62Split
	for i := base62High - 1; i >= 0; i-- {
		quotient, _ := bits.Mul64(high, base62Inverse)
		out[i] = base62[high-quotient*62]
		high = quotient
		quotient, _ = bits.Mul64(low, base62Inverse)
		out[i+base62Low] = base62[low-quotient*62]
		low = quotient
	}

	out[base62High] = base62[low]
	return out
}

// ParseBase62 reads the text of [ID.Base62] and nothing else. It returns a [*ParseError]: [ErrSyntax] for another
// length or a character outside the alphabet, [ErrRange] for a number of more than 64 bits.
func ParseBase62(s string) (ID, error) {
	if len(s) != base62Len {
		return 0, lengthError("base62", s, base62Len)
	}

	var high, low uint64
	var all byte // the union of the values: its top bit is set if a value is noDigit
	for i := range base62High {
		upper, lower := base62Values[s[i]], base62Values[s[i+base62High]]
		all |= upper | lower
		high = high*62 + uint64(upper)
		low = low*62 + uint64(lower)
	}

	last := base62Values[s[base62Len-1]]
	all |= last
	low = low*62 + uint64(last)

	if all > 127 {
		return 0, alphabetError("base62", s, &base62Values)
	}

	overflow, product := bits.Mul64(high, base62Split)
	u, carry := bits.Add64(product, low, 0)
	if overflow+carry > 0 {
		return 0, newParseError(ErrRange, "base62", s, `it is above "LygHa16AHYF", the largest number of 64 bits`)
	}

	return ID(u), nil
}

func lengthError(source, s string, want int) *ParseError {
	return newParseError(ErrSyntax, source, s, fmt.Sprintf("want %d characters, got %d", want, len(s)))
}

// alphabetError names the first character of s that is not a digit.
func alphabetError(source, s string, values *[256]byte) *ParseError {
	i := 0
	for values[s[i]] != noDigit {
		i++
	}
	return newParseError(ErrSyntax, source, s,
		fmt.Sprintf("byte %d is %q, which is not in the alphabet", i, []byte{s[i]}))
}
