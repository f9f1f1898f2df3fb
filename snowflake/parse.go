package snowflake

import "math"

// Parse reads the decimal text of an ID: the digits that [ID.String] prints and nothing else, over the whole range of
// int64. A plus sign, leading zeros, spaces, "-0", an exponent and the empty string are refused with [ErrSyntax], a
// number beyond int64 with [ErrRange]; the error is a [*ParseError]. One ID has therefore one text, and one row has one
// URL.
func Parse(s string) (ID, error) {
	id, ok := parseDecimal(s)
	if !ok {
		return 0, decimalError("text", s)
	}
	return id, nil
}

// MustParse is like [Parse] but panics if s is not the text of an ID. It is for constants and tests.
func MustParse(s string) ID {
	id, err := Parse(s)
	if err != nil {
		panic(err)
	}
	return id
}

// parseDecimal reads canonical decimal text. It only says whether the text is one; [decimalError] finds out why not.
//
// Eight digits are tested and converted at a time, as the bytes of one word. The up to seven digits at the start that
// fill no word are the upper part of a word of their own, so that the lengths 16 to 19 take one way through the code: IDs
// have 17 to 19 digits for most of an epoch, and a loop over their first digits would be mispredicted.
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
		head := first << (64 - 8*(n-16))
		if aboveNine(head)|aboveNine(middle)|aboveNine(last) != 0 || byte(first) == 0 {
			return 0, false
		}
		u = joinDigits(head)*1e16 + joinDigits(middle)*1e8 + joinDigits(last)
	case n >= 8:
		first, last := loadDigits(s), loadDigits(s[n-8:])
		head := first << (64 - 8*(n-8))
		if aboveNine(head)|aboveNine(last) != 0 || byte(first) == 0 {
			return 0, false
		}
		u = joinDigits(head)*1e8 + joinDigits(last)
	case n == 0, s[0] == '0' && (n > 1 || negative):
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

// loadDigits returns the values of the first eight characters of s as digits, the first of them in the lowest byte.
// Characters that are not digits have values above 9.
func loadDigits[T ~string | ~[]byte](s T) uint64 {
	_ = s[7] // one check of the bounds, so that the compiler makes one load of eight
	return asciiZeros ^ (uint64(s[0]) | uint64(s[1])<<8 | uint64(s[2])<<16 | uint64(s[3])<<24 |
		uint64(s[4])<<32 | uint64(s[5])<<40 | uint64(s[6])<<48 | uint64(s[7])<<56)
}

// aboveNine returns 0 if all bytes of digits are at most 9. The addition lifts 10 and more to 0x80 and more; what
// overflows a byte, and so falsifies the next, has the top bit set before it.
func aboveNine(digits uint64) uint64 {
	return (digits | (digits + 0x7676767676767676)) & 0x8080808080808080
}

// joinDigits returns the number of eight digits, the first of them in the lowest byte. It joins neighbours three times:
// digits into pairs, pairs into fours, fours into the number (the method of
// https://johnnylee-sde.github.io/Fast-numeric-string-to-int).
func joinDigits(digits uint64) uint64 {
	pairs := digits * (10<<8 + 1) >> 8 & 0x00ff00ff00ff00ff
	fours := pairs * (100<<16 + 1) >> 16 & 0x0000ffff0000ffff
	return fours * (10000<<32 + 1) >> 32
}
