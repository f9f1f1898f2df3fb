package publicid

import (
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strconv"
	"strings"
	"unicode"
)

const secretSize = 16 // bytes: 128 bits

// ErrKey means that keys are invalid: none at all, the zero Key, a bad ID, a secret of a wrong length or of 8 bytes
// twice, an ID or a secret that occurs twice. The message shows no part of a text that may be a secret.
var ErrKey = errors.New("publicid: invalid key")

func keyErrorf(format string, args ...any) error {
	return fmt.Errorf("%w: "+format, append([]any{ErrKey}, args...)...)
}

// Key is a secret of 16 random bytes with an ID, a name by which people distinguish keys: "2026b", "k7". IDs have 1 to
// 32 letters, digits, dots, hyphens and underscores. They are not secret and do not influence tokens.
//
// Printing a Key with any verb of fmt, with log/slog or as JSON never shows its secret. Debuggers and dumpers that read
// memory with unsafe find it nevertheless. The zero Key is invalid. A Key is immutable and safe for concurrent use.
type Key struct {
	id     string
	secret *secret
}

// secret is behind two pointers: fmt follows one pointer in a field that is not exported and calls no methods there.
type secret struct{ bytes *[secretSize]byte }

// keyID is what ParseKeys accepts as the ID of a key.
var keyID = regexp.MustCompile(`^[0-9A-Za-z._-]{1,32}$`)

// ID returns the name of the key, or "" for the zero Key.
func (k Key) ID() string { return k.id }

// Format prints publicid.Key("2026b") for every verb.
func (k Key) Format(state fmt.State, _ rune) {
	_, _ = io.WriteString(state, "publicid.Key("+strconv.Quote(k.id)+")")
}

// ParseKeys reads the keys of a codec from an environment variable or a file: one or more keys, separated by commas,
// white space or both. The first makes tokens, the others are accepted. A key is an ID, a colon and the secret, 32
// hexadecimal digits. Store new keys: tokens live as long as their key. The shell creates one with
//
//	echo "2026b:$(openssl rand -hex 16)"
//
// The only error is [ErrKey].
func ParseKeys(text string) ([]Key, error) {
	var keys []Key
	for field := range strings.FieldsFuncSeq(text, func(r rune) bool { return r == ',' || unicode.IsSpace(r) }) {
		key, err := parseKey(field)
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

func parseKey(text string) (Key, error) {
	id, encoded, found := strings.Cut(text, ":")
	if !found {
		return Key{}, keyErrorf("a text of %d bytes has no colon, want an ID, a colon and the secret", len(text))
	}
	if !keyID.MatchString(id) { // it may be a secret, so it is not shown
		return Key{}, keyErrorf("its ID has %d bytes, want 1 to 32 letters, digits, '.', '-' and '_'", len(id))
	}

	if len(encoded) != hex.EncodedLen(secretSize) { // a long ID may be the secret, so that is not named
		return Key{}, keyErrorf("the secret of an ID of %d characters has %d, want 32 hexadecimal digits",
			len(id), len(encoded))
	}

	random, err := hex.DecodeString(encoded)
	if err != nil { // err may quote a part of the secret
		return Key{}, keyErrorf("the secret of %q has characters that are not hexadecimal digits", id)
	}

	// Equal bytes, or the digits 0 to f of a placeholder, are not random.
	if half := secretSize / 2; string(random[:half]) == string(random[half:]) {
		return Key{}, keyErrorf("the secret of %q is %d bytes twice, want %d random ones", id, half, secretSize)
	}

	bytes := [secretSize]byte(random)
	return Key{id: strings.Clone(id), secret: &secret{&bytes}}, nil
}

// checkKeys checks the keys of a codec.
func checkKeys(keys []Key) error {
	if len(keys) == 0 {
		return keyErrorf("there is none, want at least one")
	}

	for i, key := range keys {
		if key.secret == nil {
			return keyErrorf("number %d is the zero Key", i)
		}

		for _, other := range keys[:i] {
			if other.id == key.id {
				return keyErrorf("the ID %q occurs twice", key.id)
			}
			if *other.secret.bytes == *key.secret.bytes {
				return keyErrorf("%q and %q have the same secret", other.id, key.id)
			}
		}
	}

	return nil
}
