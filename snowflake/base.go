package snowflake

import (
	"fmt"
	"math/bits"
	"slices"
)

// radixLen is the length of an ID in base 62: the least n with 62^n >= 2^64.
const radixLen = 11

// A text is split into five upper and six lower digits, so that two short chains of divisions or multiplications run in
// parallel instead of a long one.
const (
	radixHigh = 5
	radixLow  = radixLen - radixHigh
)

// noDigit is the value of a character that is not in an alphabet.
const noDigit = 0xff

// base58 has the alphabet of Bitcoin addresses (https://datatracker.ietf.org/doc/html/draft-msporny-base58): digits and
// letters without 0, O, I and l, which look alike.
var base58 = newRadix("base58", "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz")

// Base58 returns the ID in base 58, for URLs: always 11 characters, without those that look alike. Its texts sort like
// the IDs only in byte order (collation "C" or binary): ICU collations order upper and lower case differently, so use
// [ID.Base32] in a text column. Negative IDs, which no generator issues, are written as uint64(id) and sort after the
// others. [ParseBase58] is the exact inverse.
//
// The alphabet is Bitcoin's. The fixed width, with leading '1' as zeros, is not.
func (id ID) Base58() string {
	var buf [radixLen]byte
	return string(base58.append(buf[:0], id))
}

// ParseBase58 reads the text of [ID.Base58] and nothing else. It returns a [*ParseError]: [ErrSyntax] for another
// length or a character outside the alphabet, [ErrRange] for a number of more than 64 bits.
func ParseBase58(s string) (ID, error) { return base58.parse(s) }

// base62 has the digits and letters in ASCII order. There is no standard for base 62; other programs order the letters
// differently.
var base62 = newRadix("base62", "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz")

// Base62 returns the ID in base 62, for URLs: always 11 characters, digits and letters. Its texts sort like the IDs
// only in byte order (collation "C" or binary): ICU collations order upper and lower case differently, so use
// [ID.Base32] in a text column. Negative IDs, which no generator issues, are written as uint64(id) and sort after the
// others. [ParseBase62] is the exact inverse.
func (id ID) Base62() string {
	var buf [radixLen]byte
	return string(base62.append(buf[:0], id))
}

// ParseBase62 reads the text of [ID.Base62] and nothing else. It returns a [*ParseError]: [ErrSyntax] for another
// length or a character outside the alphabet, [ErrRange] for a number of more than 64 bits.
func ParseBase62(s string) (ID, error) { return base62.parse(s) }

// radix writes IDs as numbers of fixed width in base 58 or 62.
type radix struct {
	name       string
	alphabet   string // in ASCII order, so that texts sort as numbers do
	values     [256]byte
	base       uint64
	reciprocal uint64 // 2^64/base rounded up: x*reciprocal/2^64 is x/base for all x < 2^58
	split      uint64 // base^radixLow, below 2^36
}

func newRadix(name, alphabet string) radix {
	base := uint64(len(alphabet))
	split := uint64(1)
	for range radixLow {
		split *= base
	}
	return radix{
		name: name, alphabet: alphabet, values: digitValues(alphabet),
		base: base, reciprocal: ^uint64(0)/base + 1, split: split,
	}
}

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

// append appends the digits of uint64(id), with leading zeros.
func (r *radix) append(b []byte, id ID) []byte {
	base, reciprocal, alphabet := r.base, r.reciprocal, r.alphabet // for all that the compiler knows, out could be r
	high, low := uint64(id)/r.split, uint64(id)%r.split
	b = slices.Grow(b, radixLen)[:len(b)+radixLen]
	out := b[len(b)-radixLen:]
	for i := radixHigh - 1; i >= 0; i-- {
		quotient, _ := bits.Mul64(high, reciprocal)
		out[i] = alphabet[high-quotient*base]
		high = quotient
		quotient, _ = bits.Mul64(low, reciprocal)
		out[i+radixLow] = alphabet[low-quotient*base]
		low = quotient
	}
	out[radixHigh] = alphabet[low]
	return b
}

// parse is the inverse of append.
func (r *radix) parse(s string) (ID, error) {
	if len(s) != radixLen {
		return 0, lengthError(r.name, s, radixLen)
	}
	var high, low uint64
	var all byte // the union of the values: the top bit is that of noDigit
	for i := range radixHigh {
		upper, lower := r.values[s[i]], r.values[s[i+radixHigh]]
		all |= upper | lower
		high = high*r.base + uint64(upper)
		low = low*r.base + uint64(lower)
	}
	last := r.values[s[radixLen-1]]
	all |= last
	low = low*r.base + uint64(last)
	if all > 127 {
		return 0, alphabetError(r.name, s, &r.values)
	}
	overflow, product := bits.Mul64(high, r.split)
	u, carry := bits.Add64(product, low, 0)
	if overflow+carry > 0 {
		largest := string(r.append(nil, -1))
		return 0, newParseError(ErrRange, r.name, s, fmt.Sprintf("it is above %q, the largest number of 64 bits", largest))
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
	return newParseError(ErrSyntax, source, s, fmt.Sprintf("byte %d is %q, which is not in the alphabet", i, []byte{s[i]}))
}

// base32Len is the length of an ID in base 32: 64 bits in groups of five.
const base32Len = 13

// crockford is the alphabet of Douglas Crockford's Base 32 (https://www.crockford.com/base32.html): the digits and the
// upper-case letters without I, L, O and U. It is in ASCII order.
const crockford = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"

// crockfordValues has the value of each character of the alphabet and noDigit for all others.
var crockfordValues = digitValues(crockford)

// Base32 returns the ID in Crockford's Base 32, for text columns and file names: always 13 characters, digits and
// upper-case letters. Its texts sort like the IDs in byte order, in Unicode's root collation and in that of most
// languages. Some languages order two letters differently (Danish AA, Croatian NJ, Estonian Z; 84 of the 806 ICU
// collations of PostgreSQL 15): use the collation "C" there. Negative IDs, which no generator issues, are written as
// uint64(id) and sort after the others. [ParseBase32] is the exact inverse.
func (id ID) Base32() string {
	var buf [base32Len]byte
	return string(id.AppendBase32(buf[:0]))
}

// AppendBase32 appends the text of [ID.Base32] to b.
func (id ID) AppendBase32(b []byte) []byte {
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
	// As in radix.parse, two chains run side by side: the characters 0 to 5 and 6 to 11.
	var high, low uint64
	var all byte // the union of the values: the top bit is that of noDigit
	for i := range base32Len / 2 {
		upper, lower := crockfordValues[s[i]], crockfordValues[s[i+base32Len/2]]
		all |= upper | lower
		high = high<<5 | uint64(upper)
		low = low<<5 | uint64(lower)
	}
	last := crockfordValues[s[base32Len-1]]
	all |= last
	if all > 127 {
		return 0, alphabetError("base32", s, &crockfordValues)
	}
	if crockfordValues[s[0]] > 15 {
		return 0, newParseError(ErrRange, "base32", s, `it is above "FZZZZZZZZZZZZ", the largest number of 64 bits`)
	}
	return ID(high<<35 | low<<5 | uint64(last)), nil
}
