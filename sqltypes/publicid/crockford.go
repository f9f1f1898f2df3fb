package publicid

// The alphabet of snowflake.ID.Base32, in ASCII order. A text has the length of its largest number.
const (
	crockford    = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
	crockfordMax = "7ZZZZZZZZZZZZZZZZZZZZZZZZZ" // 2^128-1: 128 bits in groups of five; the first has three
	crockfordLen = len(crockfordMax)

	noDigit = 0xff // the value of a character that is not in the alphabet
)

var crockfordValues = digitValues(crockford)

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
