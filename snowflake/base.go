package snowflake

import "fmt"

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
		return 0, newParseError(ErrSyntax, "base32", s, fmt.Sprintf("want %d characters, got %d", base32Len, len(s)))
	}

	// Two short chains run side by side, the characters 0 to 5 and 6 to 11, instead of a long one.
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
