package publicid

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/sha256"
	"fmt"
	"slices"
	"strings"

	"github.com/sqlflake/sqlflake/snowflake"
)

// infoPrefix starts the info of HKDF; the domain follows.
const infoPrefix = "sqlflake publicid v1 "

// Codec makes and reads the tokens of one domain. Make it with [New], once for each kind of row. Any number of goroutines
// may use it. Printing it shows its domain and the IDs of its keys.
type Codec struct {
	domain  string
	base62  bool
	keys    []codecKey // the first one encrypts
	foreign string     // the reason of the error for a block that no key opens
}

type codecKey struct {
	id     string
	secret *codecSecret
}

// codecSecret is behind a pointer, and what it has behind another, for the reason that secret is.
type codecSecret struct{ cipher.Block }

// Option is a setting for [New]. Options are made by the With functions of this package.
type Option interface{ apply(*Codec) }

type optionFunc func(*Codec)

func (f optionFunc) apply(c *Codec) { f(c) }

// WithBase62 makes tokens of 22 digits and letters, in place of 26 digits and upper-case letters. They are shorter, but
// not for people: upper and lower case differ, and 0 and O, 1, I and l are all there.
func WithBase62() Option {
	return optionFunc(func(c *Codec) { c.base62 = true })
}

// New returns a codec for a domain, which is the kind of row that its tokens are for, such as "user". It makes tokens with
// the first key and accepts those of all; the package comment tells how to change keys. Codecs of several domains share
// the same keys. The slice may be changed afterwards.
//
// It returns [ErrDomain] if the domain is empty, and [ErrKey] if there is no key, if one is the zero Key, and if an ID or
// a secret comes twice. A nil Option changes nothing.
func New(domain string, keys []Key, options ...Option) (*Codec, error) {
	if domain == "" {
		return nil, ErrDomain
	}
	if err := checkKeys(keys); err != nil {
		return nil, err
	}
	c := &Codec{
		domain:  strings.Clone(domain),
		keys:    make([]codecKey, len(keys)),
		foreign: fmt.Sprintf("no key of domain %q has made it", shorten(domain)),
	}
	for _, option := range options {
		if option != nil {
			option.apply(c)
		}
	}
	for i, key := range keys {
		derived, err := hkdf.Key(sha256.New, key.secret.bytes[:], nil, infoPrefix+domain, SecretSize)
		if err != nil {
			return nil, fmt.Errorf("publicid: derive a key from %q: %w", key.id, err)
		}
		block, err := aes.NewCipher(derived)
		if err != nil {
			return nil, fmt.Errorf("publicid: make a cipher from %q: %w", key.id, err)
		}
		c.keys[i] = codecKey{id: key.id, secret: &codecSecret{block}}
	}
	return c, nil
}

// Domain returns the domain, and "" for a nil Codec.
func (c *Codec) Domain() string {
	if c == nil {
		return ""
	}
	return c.domain
}

// KeyIDs returns the IDs of the keys. The first makes tokens. It returns nil for a nil Codec.
func (c *Codec) KeyIDs() []string {
	if c == nil {
		return nil
	}
	ids := make([]string, len(c.keys))
	for i, key := range c.keys {
		ids[i] = key.id
	}
	return ids
}

// Format prints the domain and the IDs of the keys for every verb, for [fmt.Formatter].
func (c *Codec) Format(state fmt.State, _ rune) {
	fmt.Fprintf(state, "publicid.Codec(%q, keys %q)", c.Domain(), c.KeyIDs())
}

// Len returns the number of characters of a token: 26, or 22 with [WithBase62].
func (c *Codec) Len() int {
	if c != nil && c.base62 {
		return base62Len
	}
	return crockfordLen
}

// Append appends the token of an ID to b. It allocates nothing if b has room for [Codec.Len] more characters. It returns b
// as it is, with [ErrNoToken], if the ID is 0 or negative, and with [ErrNoCodec] if c is nil or not made by New.
func (c *Codec) Append(b []byte, id snowflake.ID) ([]byte, error) {
	if err := c.check(id); err != nil {
		return b, err
	}
	n := len(b)
	b = slices.Grow(b, c.Len())[:n+c.Len()]
	c.write(b[n:], id)
	return b, nil
}

// Token returns the token of an ID. It returns the errors of [Codec.Append].
func (c *Codec) Token(id snowflake.ID) (string, error) {
	if err := c.check(id); err != nil {
		return "", err
	}
	var buf [crockfordLen]byte
	text := buf[:c.Len()]
	c.write(text, id)
	return string(text), nil
}

// Parse returns the ID of a token. It returns [ErrToken] for all other text, whatever it is, and [ErrNoCodec] if c is nil
// or not made by New; the ID is then 0.
func (c *Codec) Parse(token string) (snowflake.ID, error) {
	id, _, err := parse(c, token)
	return id, err
}

// Open is [Codec.Parse] that also returns the ID of the key that made the token. Count them to see when a key is no longer
// in use.
func (c *Codec) Open(token string) (id snowflake.ID, keyID string, err error) {
	id, i, err := parse(c, token)
	if err != nil {
		return 0, "", err
	}
	return id, c.keys[i].id, nil
}

func (c *Codec) check(id snowflake.ID) error {
	if c == nil || len(c.keys) == 0 {
		return ErrNoCodec
	}
	if id <= 0 {
		return fmt.Errorf("%w: %d is outside of [1, 9223372036854775807]", ErrNoToken, id)
	}
	return nil
}

// write writes the token of a valid ID to out, which is as long as a token is.
func (c *Codec) write(out []byte, id snowflake.ID) {
	high, low := c.seal(id)
	if c.base62 {
		writeBase62((*[base62Len]byte)(out), high, low)
	} else {
		writeCrockford((*[crockfordLen]byte)(out), high, low)
	}
}

// parse returns the ID of a token and the index of its key.
func parse[T ~string | ~[]byte](c *Codec, token T) (id snowflake.ID, key int, err error) {
	if c == nil || len(c.keys) == 0 {
		return 0, 0, ErrNoCodec
	}
	var high, low uint64
	var ok bool
	if c.base62 {
		high, low, ok = readBase62(token)
	} else {
		high, low, ok = readCrockford(token)
	}
	if ok {
		if id, key, ok = c.open(high, low); ok {
			return id, key, nil
		}
	}
	return 0, 0, tokenError(c, token)
}

// tokenError explains why parse refused the text, as far as that is public.
func tokenError[T ~string | ~[]byte](c *Codec, token T) error {
	const source = "token"
	if len(token) != c.Len() {
		return parseError(ErrToken, source, token, fmt.Sprintf("want %d characters, got %d", c.Len(), len(token)))
	}
	values, largest := &crockfordValues, crockfordMax
	if c.base62 {
		values, largest = &base62Values, base62Max
	}
	for i := range len(token) {
		if values[token[i]] == noDigit {
			return parseError(ErrToken, source, token,
				fmt.Sprintf("byte %d is %q, which is not in the alphabet", i, []byte{token[i]}))
		}
	}
	if string(token) > largest {
		return parseError(ErrToken, source, token, fmt.Sprintf("it is above %q, the largest number of 128 bits", largest))
	}
	return parseError(ErrToken, source, token, c.foreign)
}
