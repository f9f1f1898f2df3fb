package sqltypes

import "strings"

const crockford = "0123456789ABCDEFGHJKMNPQRSTVWXYZ" // of snowflake.ID.Base32

// isChecked reports whether the kind has opted in, see Kind.
func isChecked[K Kind]() bool {
	_, ok := any((*K)(nil)).(interface{ Checked() }) // also on a pointer receiver
	return ok
}

// checkOf returns the check character of 13 characters of base 32. These and it are the coefficients of a polynomial
// over the field of 32 elements, from the highest to the constant, that is 0 at the primitive element 2. All places
// have different weights, powers of 2, so changing one character or swapping two makes it another number.
func checkOf(suffix string) byte {
	sum := byte(0)
	for i := range len(suffix) {
		// The index is -1 for characters that ParseBase32 refuses.
		sum = double(sum ^ byte(max(strings.IndexByte(crockford, suffix[i]), 0)))
	}
	return crockford[sum]
}

// double multiplies by 2, modulo x^5 + x^2 + 1.
func double(x byte) byte {
	x <<= 1
	if x >= 32 {
		x ^= 0b100101
	}
	return x
}
