package snowflake

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/bits"
	"slices"
	"strings"
)

// maxDecimalLen is the length of the longest decimal text of an ID, "-9223372036854775808".
const maxDecimalLen = 20

// asciiZeros is the text "00000000" in a word; adding it turns eight digits into eight characters.
const asciiZeros = 0x3030303030303030

// String returns the ID in decimal digits, with a minus sign if it is negative. [Parse] accepts this text and no other.
func (id ID) String() string {
	var buf [maxDecimalLen]byte
	return string(appendDecimal(buf[:0], id))
}

// Parse reads the decimal text of an ID: exactly what [ID.String] returns, over the whole range of int64, so that one
// ID has one text and one row has one URL. It returns a [*ParseError]: [ErrSyntax] for other text, such as a plus sign,
// leading zeros, spaces, "-0", an exponent or the empty string, and [ErrRange] for a number beyond int64.
func Parse(s string) (ID, error) {
	id, ok := parseDecimal(s)
	if !ok {
		return 0, decimalError("text", s)
	}
	return id, nil
}

// readDecimal is Parse of a source. On an error the ID is unchanged.
func readDecimal[T ~string | ~[]byte](id *ID, source string, text T) error {
	parsed, ok := parseDecimal(text)
	if !ok {
		return decimalError(source, text)
	}
	*id = parsed
	return nil
}

// appendDecimal is strconv.AppendInt(b, int64(id), 10) in steps of eight digits instead of two.
func appendDecimal(b []byte, id ID) []byte {
	u := uint64(id)
	if id < 0 {
		b = append(b, '-')
		u = -u
	}

	if u < 1e8 {
		head, n := headDigits(u)
		var buf [8]byte
		binary.LittleEndian.PutUint64(buf[:], head)
		return append(b, buf[:n]...)
	}

	// The head is appended as eight bytes. n of them count; the digits that follow overwrite the others.
	if u < 1e16 {
		head, n := headDigits(u / 1e8)
		b = slices.Grow(b, n+8)
		b = binary.LittleEndian.AppendUint64(b, head)[:len(b)+n]
		return binary.LittleEndian.AppendUint64(b, eightDigits(u%1e8)+asciiZeros)
	}

	head, n := threeDigits(u / 1e16)
	u %= 1e16
	b = slices.Grow(b, n+16)
	b = binary.LittleEndian.AppendUint64(b, head)[:len(b)+n]
	b = binary.LittleEndian.AppendUint64(b, eightDigits(u/1e8)+asciiZeros)
	return binary.LittleEndian.AppendUint64(b, eightDigits(u%1e8)+asciiZeros)
}

// headDigits returns the characters of u < 10^8 without leading zeros, the first one in the lowest byte, and their
// number, 1 to 8.
func headDigits(u uint64) (word uint64, n int) {
	digits := eightDigits(u)
	zeros := bits.TrailingZeros64(digits|1<<56) / 8 // the last digit stays even if it is a zero
	return (digits + asciiZeros) >> (8 * zeros), 8 - zeros
}

// threeDigits is headDigits for 0 < u < 1000, where the divisions by 100 and by 10 are short multiplications.
func threeDigits(u uint64) (word uint64, n int) {
	hundreds := u * 41 >> 12
	u -= 100 * hundreds
	tens := u * 103 >> 10
	digits := hundreds | tens<<8 | (u-10*tens)<<16

	zeros := bits.TrailingZeros64(digits) / 8
	return (digits + asciiZeros) >> (8 * zeros), 3 - zeros
}

// eightDigits spreads the eight digits of u < 10^8 over the bytes of a word, the first digit in the lowest byte. It
// splits all groups of digits in half at once, three times. Each step computes the upper halves by a multiplication and
// a shift, and then moves the lower halves x-upper*n up: x<<k - upper*(n<<k-1) is upper + (x-upper*n)<<k.
func eightDigits(u uint64) uint64 {
	upper := u * 109951163 >> 40 // u / 10^4
	fours := u<<32 - upper*(10000<<32-1)
	upper = fours * 10486 >> 20 & 0x0000007f_0000007f // / 100
	twos := fours<<16 - upper*(100<<16-1)
	upper = twos * 103 >> 10 & 0x000f_000f_000f_000f // / 10
	return twos<<8 - upper*(10<<8-1)
}

// parseDecimal reads decimal text. It only reports whether the text is valid; decimalError finds the reason.
//
// It tests and converts eight digits at a time, as the bytes of a word. The up to seven digits at the start are the
// upper part of another word, because a loop over them would be mispredicted: most IDs have 17 to 19 digits.
func parseDecimal[T ~string | ~[]byte](s T) (id ID, ok bool) {
	negative := len(s) > 0 && s[0] == '-'
	if negative {
		s = s[1:]
	}

	n := len(s)
	var u uint64
	switch {
	case n > 19: // 19 digits fit into u
		return 0, false
	case n >= 16:
		first, middle, last := loadDigits(s), loadDigits(s[n-16:]), loadDigits(s[n-8:])
		head := lastDigits(first, n-16)
		if (overNine(head)|overNine(middle)|overNine(last))&topBits != 0 || byte(first) == 0 {
			return 0, false
		}
		u = joinThree(head)*1e16 + joinDigits(middle)*1e8 + joinDigits(last)
	case n >= 8:
		first, last := loadDigits(s), loadDigits(s[n-8:])
		head := lastDigits(first, n-8)
		if (overNine(head)|overNine(last))&topBits != 0 || byte(first) == 0 {
			return 0, false
		}
		u = joinDigits(head)*1e8 + joinDigits(last)
	case n == 0, s[0] == '0' && n > 1, s[0] == '0' && negative:
		return 0, false
	default:
		for i := range n {
			digit := s[i] - '0'
			if digit > 9 {
				return 0, false
			}
			u = u*10 + uint64(digit)
		}
	}

	if negative {
		return ID(-u), u <= -math.MinInt64
	}
	return ID(u), u <= math.MaxInt64
}

// loadDigits returns the values of the first eight characters of s, the first of them in the lowest byte. Characters
// that are not digits have values above 9.
func loadDigits[T ~string | ~[]byte](s T) uint64 {
	_ = s[7] // one bounds check, so that the compiler merges the eight loads into one
	return asciiZeros ^ (uint64(s[0]) | uint64(s[1])<<8 | uint64(s[2])<<16 | uint64(s[3])<<24 |
		uint64(s[4])<<32 | uint64(s[5])<<40 | uint64(s[6])<<48 | uint64(s[7])<<56)
}

// lastDigits moves the first n < 8 digits to the end of the word and makes the others zeros. It shifts twice because a
// shift by less than 64 needs no branch for n = 0.
func lastDigits(digits uint64, n int) uint64 { return digits << ((56 - 8*n) & 63) << 8 }

// topBits has the top bit of each byte.
const topBits = 0x8080808080808080

// overNine sets the top bit of some byte if a byte of digits is above 9: the addition raises 10 and more to 0x80 and
// more. A byte that overflows, and so changes the next, has its top bit set before the addition.
func overNine(digits uint64) uint64 { return digits | (digits + 0x7676767676767676) }

// joinDigits returns the number of eight digits, the first of them in the lowest byte. It joins neighbors three times:
// digits into pairs, pairs into fours, fours into the number
// (https://johnnylee-sde.github.io/Fast-numeric-string-to-int).
func joinDigits(digits uint64) uint64 {
	pairs := digits * (10<<8 + 1) >> 8 & 0x00ff00ff00ff00ff
	fours := pairs * (100<<16 + 1) >> 16 & 0x0000ffff0000ffff
	return fours * (10000<<32 + 1) >> 32
}

// joinThree is joinDigits for at most three digits, the last of the word.
func joinThree(digits uint64) uint64 {
	pairs := digits * (10<<8 + 1) >> 8 & 0x00ff00ff00ff00ff
	return pairs * (100<<16 + 1) >> 48
}

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
		return 0, alphabetError("base62", s, base62)
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

// alphabetError names the first character of s that is not in the alphabet.
func alphabetError(source, s, alphabet string) *ParseError {
	rest := strings.TrimLeft(s, alphabet)
	return newParseError(ErrSyntax, source, s,
		fmt.Sprintf("byte %d is %q, which is not in the alphabet", len(s)-len(rest), rest[:1]))
}
