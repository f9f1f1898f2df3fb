package snowflake

import (
	"encoding/binary"
	"math/bits"
	"slices"
)

// maxDecimalLen is the length of the longest decimal text of an ID, "-9223372036854775808".
const maxDecimalLen = 20

// asciiZeros is the text "00000000" in a word; adding it turns eight digits into eight characters.
const asciiZeros = 0x3030303030303030

// appendDecimal appends what strconv.AppendInt(b, int64(id), 10) appends, in steps of eight digits instead of two.
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
	// The head is stored as eight bytes of which n count: the digits that follow overwrite the others.
	if u < 1e16 {
		head, n := headDigits(u / 1e8)
		b, out := extend(b, n+8)
		binary.LittleEndian.PutUint64(out, head)
		binary.LittleEndian.PutUint64(out[n:], eightDigits(u%1e8)+asciiZeros)
		return b
	}
	head, n := headDigits(u / 1e16)
	u %= 1e16
	b, out := extend(b, n+16)
	binary.LittleEndian.PutUint64(out, head)
	binary.LittleEndian.PutUint64(out[n:], eightDigits(u/1e8)+asciiZeros)
	binary.LittleEndian.PutUint64(out[n+8:], eightDigits(u%1e8)+asciiZeros)
	return b
}

// extend lengthens b by n bytes and returns it with the part that is new.
func extend(b []byte, n int) (all, added []byte) {
	all = slices.Grow(b, n)[:len(b)+n]
	return all, all[len(b):]
}

// headDigits returns the characters of u < 10^8 without leading zeros, the first one in the lowest byte, and their
// number, 1 to 8.
func headDigits(u uint64) (word uint64, n int) {
	digits := eightDigits(u)
	zeros := bits.TrailingZeros64(digits|1<<56) / 8 // the last digit stays even if it is a zero
	return (digits + asciiZeros) >> (8 * zeros), 8 - zeros
}

// eightDigits spreads the eight digits of u < 10^8 over the bytes of a word, the first digit in the lowest byte. It
// halves all groups of digits at once, three times: eight into fours, fours into twos, twos into ones. Each step finds
// the upper halves, a multiplication and a shift for the division (exact for x < 10^8, 10^4 and 10^2), and then moves the
// lower halves x-upper*n up: x<<k - upper*(n<<k-1) is upper + (x-upper*n)<<k.
func eightDigits(u uint64) uint64 {
	upper := u * 109951163 >> 40 // u / 10^4
	fours := u<<32 - upper*(10000<<32-1)
	upper = fours * 10486 >> 20 & 0x0000007f_0000007f // / 100
	twos := fours<<16 - upper*(100<<16-1)
	upper = twos * 103 >> 10 & 0x000f_000f_000f_000f // / 10
	return twos<<8 - upper*(10<<8-1)
}
