package publicid

import "math/bits"

// The alphabets of snowflake.ID.Base32 and Base62, in ASCII order. A text has the length of its largest
// number.
const (
	crockford    = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
	crockfordMax = "7ZZZZZZZZZZZZZZZZZZZZZZZZZ" // 2^128-1: 128 bits in groups of five; the first has three
	crockfordLen = len(crockfordMax)

	base62    = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
	base62Max = "7n42DGM5Tflk9n8mt7Fhc7" // 2^128-1
	base62Len = len(base62Max)

	noDigit = 0xff // the value of a character that is not in an alphabet
	pow5    = 62 * 62 * 62 * 62 * 62
	pow10   = pow5 * pow5 // below 2^60
)

var crockfordValues, base62Values = digitValues(crockford), digitValues(base62)

func digitValues(alphabet string) (values [256]byte) {
	for i := range values {
		values[i] = noDigit
	}
	for i := range len(alphabet) {
		values[alphabet[i]] = byte(i)
	}
	return values
}

// appendCrockford appends 128 bits: 3 and 60 bits of high, the last bit of high with 4 of low, and 60 bits of low.
func appendCrockford(b []byte, high, low uint64) []byte {
	var out [crockfordLen]byte
	out[0] = crockford[high>>61]
	out[13] = crockford[high<<4&31|low>>60]
	high >>= 1
	for i := 12; i >= 1; i-- {
		out[i], out[i+13] = crockford[high&31], crockford[low&31]
		high, low = high>>5, low>>5
	}
	return append(b, out[:]...)
}

// readCrockford is the inverse of appendCrockford. It rejects other characters and numbers of more than 128 bits.
func readCrockford[T ~string | ~[]byte](text T) (high, low uint64, ok bool) {
	if len(text) != crockfordLen {
		return 0, 0, false
	}

	first, middle := crockfordValues[text[0]], crockfordValues[text[13]]
	all := middle // the union of the values: only noDigit has the top bit
	high, low = uint64(first), uint64(middle)&15
	for i := 1; i <= 12; i++ {
		upper, lower := crockfordValues[text[i]], crockfordValues[text[i+13]]
		all |= upper | lower
		high = high<<5 | uint64(upper)
		low = low<<5 | uint64(lower)
	}

	return high<<1 | uint64(middle)>>4&1, low, all <= 127 && first <= 7
}

// appendBase62 appends 128 bits as a number: two digits, then twice ten.
func appendBase62(b []byte, high, low uint64) []byte {
	var out [base62Len]byte
	quotient, last := bits.Div64(high%pow10, low, pow10)
	top, middle := bits.Div64(high/pow10, quotient, pow10)
	out[0], out[1] = base62[top/62], base62[top%62]
	// Four short chains of divisions run in parallel in the processor.
	p, q, r, s := middle/pow5, middle%pow5, last/pow5, last%pow5
	for i := 6; i >= 2; i-- {
		out[i], out[i+5], out[i+10], out[i+15] = base62[p%62], base62[q%62], base62[r%62], base62[s%62]
		p, q, r, s = p/62, q/62, r/62, s/62
	}
	return append(b, out[:]...)
}

// readBase62 is the inverse of appendBase62. It rejects other characters and numbers of more than 128 bits.
func readBase62[T ~string | ~[]byte](text T) (high, low uint64, ok bool) {
	if len(text) != base62Len {
		return 0, 0, false
	}

	first, second := base62Values[text[0]], base62Values[text[1]]
	all := first | second // the union of the values: only noDigit has the top bit
	var middle, last uint64
	for i := 2; i < 12; i++ {
		upper, lower := base62Values[text[i]], base62Values[text[i+10]]
		all |= upper | lower
		middle = middle*62 + uint64(upper)
		last = last*62 + uint64(lower)
	}

	if all > 127 {
		return 0, 0, false
	}

	// ((first*62 + second) * 62^10 + middle) * 62^10 + last
	upHigh, upLow := bits.Mul64(uint64(first)*62+uint64(second), pow10)
	upLow, carry := bits.Add64(upLow, middle, 0)
	upHigh += carry // below 2^8
	high, low = bits.Mul64(upLow, pow10)
	overflow, part := bits.Mul64(upHigh, pow10)
	high, carry = bits.Add64(high, part, 0)
	overflow += carry
	low, carry = bits.Add64(low, last, 0)
	high, carry = bits.Add64(high, 0, carry)
	return high, low, overflow+carry == 0
}
