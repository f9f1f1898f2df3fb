package snowflake

// base62 has the digits and letters in ASCII order. There is no standard for base 62; other programs order the letters
// differently.
var base62 = newRadix("base62", "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz")

// Base62 returns the ID in base 62: always 11 characters, digits and letters. It is a form for URLs. Its texts sort as
// the IDs do in byte order only (collation "C" or binary): linguistic (ICU) collations put upper and lower case
// elsewhere, so use [ID.Base32] in a text column. Negative IDs, which no generator issues, are written as uint64(id) and
// so sort after the others. [ParseBase62] is the exact inverse.
func (id ID) Base62() string {
	var buf [radixLen]byte
	return string(base62.append(buf[:0], id))
}

// AppendBase62 appends the text of [ID.Base62] to b.
func (id ID) AppendBase62(b []byte) []byte { return base62.append(b, id) }

// ParseBase62 reads the text of [ID.Base62] and nothing else: one ID has one text. Another length and characters outside
// of the alphabet are refused with [ErrSyntax], numbers of more than 64 bits with [ErrRange]; the error is
// a [*ParseError].
func ParseBase62(s string) (ID, error) { return base62.parse(s) }
