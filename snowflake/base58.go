package snowflake

// base58 has the alphabet of Bitcoin addresses (https://datatracker.ietf.org/doc/html/draft-msporny-base58): digits and
// letters without 0, O, I and l, which look alike.
var base58 = newRadix("base58", "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz")

// Base58 returns the ID in base 58: always 11 characters, none of which are easily mistaken for another. It is a form
// for URLs. Its texts sort as the IDs do in byte order only (collation "C" or binary): linguistic (ICU) collations put
// upper and lower case elsewhere, so use [ID.Base32] in a text column. Negative IDs, which no generator issues, are
// written as uint64(id) and so sort after the others. [ParseBase58] is the exact inverse.
//
// The alphabet is Bitcoin's; the fixed width, with '1' as the leading zero, is not.
func (id ID) Base58() string {
	var buf [radixLen]byte
	return string(base58.append(buf[:0], id))
}

// AppendBase58 appends the text of [ID.Base58] to b.
func (id ID) AppendBase58(b []byte) []byte { return base58.append(b, id) }

// ParseBase58 reads the text of [ID.Base58] and nothing else: one ID has one text. Another length and characters outside
// of the alphabet are refused with [ErrSyntax], numbers of more than 64 bits with [ErrRange]; the error is
// a [*ParseError].
func ParseBase58(s string) (ID, error) { return base58.parse(s) }
