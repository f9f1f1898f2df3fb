package publicid

import (
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"io"
	"log/slog"
	"strings"
)

// SecretSize is the number of bytes of a key's secret: 128 bits.
const SecretSize = 16

// maxKeyID is the greatest length of a key's ID, in bytes.
const maxKeyID = 32

// Key is a secret of 16 random bytes with an ID, a name by which people tell keys apart: "2026b", "k7". IDs have 1 to 32
// letters, digits, dots, hyphens and underscores. They are not secret and do not influence tokens.
//
// Printing a Key shows its ID and never its secret: with every verb of fmt, in log/slog, and as text and JSON. Only
// [Key.Reveal] returns the secret. Programs that read foreign memory by reflection and unsafe, as some debuggers and
// dumpers do, find it nevertheless.
//
// The zero Key is no key; all functions that take keys refuse it. A Key is a plain value that any number of goroutines may
// use, apart from UnmarshalText, which writes to it.
type Key struct {
	id     string
	secret *secret
}

// secret is behind two pointers: fmt follows one in a field that is not exported, where it calls no methods.
type secret struct{ bytes *[SecretSize]byte }

// NewKey returns a key whose secret is a copy of the random bytes. It returns [ErrKey] for an ID that is none, for more or
// less than 16 bytes, and for 16 equal bytes (all zeros, say), which are not random.
func NewKey(id string, random []byte) (Key, error) {
	if err := checkKeyID(id); err != nil {
		return Key{}, err
	}
	if len(random) != SecretSize {
		return Key{}, keyErrorf("the secret of %q has %d bytes, want %d", id, len(random), SecretSize)
	}
	bytes := [SecretSize]byte(random)
	if allEqual(bytes) {
		return Key{}, keyErrorf("the secret of %q has %d equal bytes, want random ones", id, SecretSize)
	}
	return Key{id: strings.Clone(id), secret: &secret{&bytes}}, nil
}

// GenerateKey returns a key with a secret from crypto/rand. It returns [ErrKey] for an ID that is none. The program has to
// keep the key, see [Key.Reveal]: tokens are as long-lived as keys are.
func GenerateKey(id string) (Key, error) {
	random := make([]byte, SecretSize)
	if _, err := rand.Read(random); err != nil { // never, since Go 1.24
		return Key{}, fmt.Errorf("publicid: random bytes for key %q: %w", shorten(id), err)
	}
	return NewKey(id, random)
}

// ID returns the name of the key, and "" for the zero Key.
func (k Key) ID() string { return k.id }

// Reveal returns the key with its secret, in the form that [ParseKey] reads: the ID, a colon and 32 hexadecimal digits. It
// is for storing a new key. It returns "" for the zero Key.
func (k Key) Reveal() string {
	if k.secret == nil {
		return ""
	}
	return k.id + ":" + hex.EncodeToString(k.secret.bytes[:])
}

// Format prints publicid.Key("2026b") for every verb, for [fmt.Formatter].
func (k Key) Format(state fmt.State, _ rune) {
	_, _ = io.WriteString(state, k.redacted())
}

// LogValue returns what Format prints, for [slog.LogValuer].
func (k Key) LogValue() slog.Value { return slog.StringValue(k.redacted()) }

func (k Key) redacted() string { return fmt.Sprintf("publicid.Key(%q)", k.id) }

// MarshalText returns the ID, a colon and the word REDACTED, for [encoding.TextMarshaler]: it is what a program that prints
// its settings as JSON shows. Nothing reads this text. The error is always nil.
func (k Key) MarshalText() ([]byte, error) {
	return []byte(k.id + ":REDACTED"), nil
}

// UnmarshalText reads a key as [ParseKey] does, for [encoding.TextUnmarshaler]: for settings in JSON, YAML or TOML. On an
// error, which is that of ParseKey, k is the zero Key. [flag.TextVar] takes a *Key too, but is no place for one: all users
// of a machine may see the arguments of its programs, and package flag prints an argument that it refuses.
func (k *Key) UnmarshalText(text []byte) error {
	key, err := ParseKey(string(text))
	*k = key
	return err
}

func allEqual(bytes [SecretSize]byte) bool {
	var different byte
	for _, b := range bytes {
		different |= b ^ bytes[0]
	}
	return different == 0
}

func checkKeyID(id string) error {
	if len(id) == 0 || len(id) > maxKeyID {
		return keyErrorf("its ID has %d bytes, want 1 to %d", len(id), maxKeyID)
	}
	for i := range len(id) {
		switch c := id[i]; {
		case '0' <= c && c <= '9', 'A' <= c && c <= 'Z', 'a' <= c && c <= 'z', c == '.', c == '-', c == '_':
		default:
			return keyErrorf("byte %d of its ID is %q, want letters, digits, '.', '-' and '_'", i, []byte{c})
		}
	}
	return nil
}
