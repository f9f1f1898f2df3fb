package publicid

import (
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"
	"unicode"
)

// ParseKey reads a key from an ID, a colon and the secret, which is 32 hexadecimal digits or 24 characters of standard
// Base64. The shell makes one with
//
//	echo "2026b:$(openssl rand -hex 16)"
//
// It returns [ErrKey] for other text and for what [NewKey] refuses. The message shows the ID, unless that may be a secret
// in the wrong place, and no part of a text without a colon.
func ParseKey(text string) (Key, error) {
	id, encoded, found := strings.Cut(text, ":")
	if !found {
		return Key{}, keyErrorf("a text of %d bytes has no colon, want an ID, a colon and the secret", len(text))
	}
	if err := checkKeyID(id); err != nil {
		return Key{}, err
	}
	var random []byte
	var err error
	switch len(encoded) {
	case hex.EncodedLen(SecretSize):
		random, err = hex.DecodeString(encoded)
	case base64.StdEncoding.EncodedLen(SecretSize):
		random, err = base64.StdEncoding.Strict().DecodeString(encoded)
	default:
		return Key{}, keyErrorf("the secret of %s has %d characters, want 32 hexadecimal digits or 24 characters of Base64",
			quoteUnlessSecret(id), len(encoded))
	}
	if err != nil { // it may quote a part of the secret
		return Key{}, keyErrorf("the secret of %q has characters that are neither hexadecimal digits nor Base64", id)
	}
	return NewKey(id, random)
}

// quoteUnlessSecret quotes what comes before the colon. It may be the secret, if what comes after it is none: secrets have
// 22 characters at least (Base64 without its padding).
func quoteUnlessSecret(id string) string {
	if len(id) < base64.RawStdEncoding.EncodedLen(SecretSize) {
		return strconv.Quote(id)
	}
	return fmt.Sprintf("an ID of %d characters", len(id))
}

// ParseKeys reads the keys of a codec, as they are kept in an environment variable or a file: texts as [ParseKey] reads
// them, with commas, white space or both between them. The first makes tokens, the others are accepted. It returns
// [ErrKey] if there is none, if one of them is none, and if an ID or a secret comes twice.
func ParseKeys(text string) ([]Key, error) {
	fields := strings.FieldsFunc(text, func(r rune) bool { return r == ',' || unicode.IsSpace(r) })
	keys := make([]Key, 0, len(fields))
	for _, field := range fields {
		key, err := ParseKey(field)
		if err != nil {
			return nil, err
		}
		keys = append(keys, key)
	}
	if err := checkKeys(keys); err != nil {
		return nil, err
	}
	return keys, nil
}

// checkKeys tells whether a codec may have these keys.
func checkKeys(keys []Key) error {
	if len(keys) == 0 {
		return keyErrorf("there is none, want one at least")
	}
	ids := make(map[string]bool, len(keys))
	secrets := make(map[[SecretSize]byte]string, len(keys))
	for i, key := range keys {
		if key.secret == nil {
			return keyErrorf("number %d is the zero Key", i)
		}
		if ids[key.id] {
			return keyErrorf("the ID %q comes twice", key.id)
		}
		if other, there := secrets[*key.secret.bytes]; there {
			return keyErrorf("%q and %q have the same secret", other, key.id)
		}
		ids[key.id], secrets[*key.secret.bytes] = true, key.id
	}
	return nil
}
