package publicid

// crockfordLen is the length of a token in base 32: 128 bits in groups of five, the first of which has three.
const crockfordLen = 26

// crockford is the alphabet of snowflake.ID.Base32: digits and upper-case letters without I, L, O and U, in ASCII
// order.
const crockford = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"

// crockfordMax is the text of 2^128-1.
const crockfordMax = "7ZZZZZZZZZZZZZZZZZZZZZZZZZ"

var crockfordValues = digitValues(crockford)

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

// writeCrockford writes 128 bits: 3 and 60 bits of high, the last bit of high with 4 of low, and 60 bits of low.
func writeCrockford(out *[crockfordLen]byte, high, low uint64) {
	out[0] = crockford[high>>61]
	out[13] = crockford[high<<4&31|low>>60]
	high >>= 1
	for i := 12; i >= 1; i-- {
		out[i], out[i+13] = crockford[high&31], crockford[low&31]
		high, low = high>>5, low>>5
	}
}

// readCrockford is the inverse of writeCrockford. It rejects other characters and numbers of more than 128 bits.
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
