package publicid

import "encoding/hex"

// form is how a token is written.
type form uint8

const (
	crockfordForm form = iota
	uuidForm
)

const (
	uuidLen = 36

	// uuidTries bounds the search for a block with the six bits of a UUID. One in 64 has them, so an ID has none among
	// that many with probability (63/64)^16384, about 10^-112.
	uuidTries = 1 << 14
)

// WithUUID makes tokens of the form of a UUID of version 4, for clients and schemas that say "format: uuid", such as
// "2e8c1b52-7d0a-4c3f-9b64-10c2f5a7d3e8". The column stays a bigint. They are pseudorandom, as RFC 9562, section 5.4,
// has it, so nothing distinguishes them from the UUIDs of others: version 8 would say that there is something to
// decrypt, and some validators know versions up to 5 only. Capitals are also read, as section 4 demands.
//
// A token costs 64 encryptions on average, at most 16,384, and Parse as many again: a microsecond or two. A random
// UUID of version 4 is read as an ID with probability 2^-59 for each key, where tokens of the other forms have 2^-64.
func WithUUID() Option {
	return func(c *Codec) { c.form = uuidForm }
}

// info is the beginning of the derivation's info. It keeps a block of one form from revealing a block of another.
func (f form) info() string {
	if f == uuidForm {
		return "sqlflake publicid uuid v1 "
	}
	return "sqlflake publicid v1 "
}

// tries is the number of counters.
func (f form) tries() uint64 {
	if f == uuidForm {
		return uuidTries
	}
	return 1
}

// fits reports whether a block can be written: if it has the version 4 and the variant 10 of a UUID.
func (f form) fits(high, low uint64) bool {
	return f != uuidForm || high>>12&15 == 4 && low>>62 == 2
}

// uuidDashes are the places of the dashes.
var uuidDashes = [...]int{8, 13, 18, 23}

func appendUUID(b []byte, high, low uint64) []byte {
	var block [16]byte
	store(&block, high, low)
	var out [uuidLen]byte
	hex.Encode(out[:], block[:4])
	for i, dash := range uuidDashes {
		out[dash] = '-'
		hex.Encode(out[dash+1:], block[4+2*i:6+2*i])
	}
	hex.Encode(out[24:], block[10:])
	return append(b, out[:]...)
}

// readUUID is the inverse of appendUUID. It also reads capitals, and nothing else.
func readUUID[T ~string | ~[]byte](text T) (high, low uint64, ok bool) {
	if len(text) != uuidLen {
		return 0, 0, false
	}

	for _, dash := range uuidDashes {
		if text[dash] != '-' {
			return 0, 0, false
		}
	}

	var digits [32]byte
	n := copy(digits[:], text[:8])
	for _, dash := range uuidDashes {
		n += copy(digits[n:], text[dash+1:min(dash+5, uuidLen)])
	}

	copy(digits[20:], text[24:])
	var block [16]byte
	if _, err := hex.Decode(block[:], digits[:]); err != nil {
		return 0, 0, false
	}

	high, low = load(&block)
	return high, low, uuidForm.fits(high, low)
}
