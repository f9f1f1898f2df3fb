package sqltypes

import "github.com/sqlflake/sqlflake/snowflake"

// suffixLen is the length of an ID in base 32.
const suffixLen = 13

// maxPrefixedLen is the length of the longest text of a Typed.
const maxPrefixedLen = maxPrefixLen + 1 + suffixLen

func appendPrefixed(b []byte, prefix string, id snowflake.ID) []byte {
	b = append(b, prefix...)
	b = append(b, '_')
	return id.AppendBase32(b)
}

// parsePrefixed reads the text that appendPrefixed writes for a valid prefix. It only says whether the text is one;
// prefixedError finds out why not.
func parsePrefixed[T ~string | ~[]byte](prefix string, text T) (id snowflake.ID, ok bool) {
	n := len(prefix)
	if n == 0 || n > maxPrefixLen || len(text) != n+1+suffixLen || text[n] != '_' || prefix[0] == '_' || prefix[n-1] == '_' {
		return 0, false
	}
	for i := range n { // isPrefix and the comparison in one
		if c := prefix[i]; c != text[i] || !inPrefix(c) {
			return 0, false
		}
	}
	return parseSuffix(text[n+1:])
}

// parseSuffix is [snowflake.ParseBase32] for text of the right length that may be bytes, which would have to be copied
// to become a string.
func parseSuffix[T ~string | ~[]byte](s T) (id snowflake.ID, ok bool) {
	_ = s[suffixLen-1] // one check of the bounds
	v := &suffixValues
	all := v[s[0]] | v[s[1]] | v[s[2]] | v[s[3]] | v[s[4]] | v[s[5]] | v[s[6]] |
		v[s[7]] | v[s[8]] | v[s[9]] | v[s[10]] | v[s[11]] | v[s[12]]
	if all >= noSuffix || v[s[0]] > 15 { // 13 characters have 65 bits
		return 0, false
	}
	return snowflake.ID(v[s[0]]<<60 | v[s[1]]<<55 | v[s[2]]<<50 | v[s[3]]<<45 | v[s[4]]<<40 | v[s[5]]<<35 | v[s[6]]<<30 |
		v[s[7]]<<25 | v[s[8]]<<20 | v[s[9]]<<15 | v[s[10]]<<10 | v[s[11]]<<5 | v[s[12]]), true
}

// noSuffix marks the characters that are not in the alphabet of base 32.
const noSuffix = 32

// suffixValues has the value of each character.
var suffixValues = func() (values [256]uint64) {
	for i := range values {
		values[i] = noSuffix
	}
	for i := range snowflake.ID(32) {
		values[i.Base32()[suffixLen-1]] = uint64(i)
	}
	return values
}()
