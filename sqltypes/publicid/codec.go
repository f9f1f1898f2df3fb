package publicid

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/sqlflake/sqlflake/snowflake"
	"github.com/sqlflake/sqlflake/sqltypes/internal/column"
)

var (
	// ErrToken means that a text is not a token of the codec: it has a wrong length or wrong characters, was changed or
	// invented, or belongs to another domain or to a key that the codec does not have. The error distinguishes only the
	// first two. It is in a [*snowflake.ParseError] that also matches [snowflake.ErrSyntax]. "Not found" is the best
	// answer to a client.
	ErrToken = fmt.Errorf("publicid: not a token: %w", snowflake.ErrSyntax)

	// ErrNoToken means that the ID is 0, "no ID yet", or negative, which no generator issues.
	ErrNoToken = errors.New("publicid: the ID has no token")

	// ErrNoCodec means that a Codec, or the codec of an ID's kind, is nil or did not come from New, usually because it
	// is used before the program has loaded its keys.
	ErrNoCodec = errors.New("publicid: no codec")
)

// Codec makes and reads the tokens of one domain. Create one with [New] for each kind of row. It is safe for concurrent
// use. Printing it reveals no secret.
type Codec struct {
	form    form
	keys    []codecKey // the first one encrypts
	foreign string     // the reason of the error for a block that no key decrypts
}

type codecKey struct {
	id     string
	secret *codecSecret
}

// codecSecret is behind a pointer and contains another: fmt follows one pointer in a field that is not exported.
type codecSecret struct{ cipher.Block }

// Option is a setting for [New].
type Option func(*Codec)

// New returns a codec for a domain, the kind of row that its tokens are for, such as "user". It encrypts with the first
// key and accepts tokens of all. Codecs of several domains may have the same keys. The slice may be changed afterwards.
//
// To change keys while several processes run,
//
//  1. add the new key last everywhere ("old,new"), so that each process accepts what the others will send;
//  2. put it first everywhere ("new,old"): new tokens use it, old ones still work;
//  3. when [Codec.Decrypt] shows no more use of the old key, or when old links may die, remove it ("new").
//
// From step 2 on a row has a new token, and two while both keys are accepted: compare IDs, not tokens. A token does not
// name its key, since that would reveal its age; a second key costs some 20 ns.
//
// It returns [ErrKey], and other errors for an empty domain and a nil Option.
func New(domain string, keys []Key, options ...Option) (*Codec, error) {
	if domain == "" {
		return nil, errors.New("publicid: the domain is empty")
	}
	if err := checkKeys(keys); err != nil {
		return nil, err
	}

	c := &Codec{foreign: fmt.Sprintf("no key of domain %.40q decrypts it", domain)}
	for _, option := range options {
		if option == nil {
			return nil, errors.New("publicid: an Option is nil")
		}
		option(c)
	}

	for _, key := range keys {
		derived, err := hkdf.Key(sha256.New, key.secret.bytes[:], nil, c.form.info()+domain, secretSize)
		if err != nil {
			return nil, fmt.Errorf("publicid: derive a key from %q: %w", key.id, err)
		}
		block, _ := aes.NewCipher(derived) // fails only for other lengths
		c.keys = append(c.keys, codecKey{key.id, &codecSecret{block}})
	}

	return c, nil
}

// Token returns the token of an ID, or [ErrNoToken] or [ErrNoCodec].
func (c *Codec) Token(id snowflake.ID) (string, error) {
	var buf [uuidLen]byte
	text, err := c.append(buf[:0], id)
	return string(text), err
}

// Parse returns the ID of a token. It returns [ErrToken] for all other text, or [ErrNoCodec]; the ID is then 0.
func (c *Codec) Parse(token string) (snowflake.ID, error) {
	id, _, err := parse(c, token)
	return id, err
}

// Decrypt is [Codec.Parse] that also returns the ID of the key that made the token. Count these to see when a key is no
// longer used.
func (c *Codec) Decrypt(token string) (id snowflake.ID, keyID string, err error) {
	id, i, err := parse(c, token)
	if err != nil {
		return 0, "", err
	}
	return id, c.keys[i].id, nil
}

// append appends the token of an ID. On an error it returns b unchanged.
func (c *Codec) append(b []byte, id snowflake.ID) ([]byte, error) {
	if c == nil || len(c.keys) == 0 {
		return b, ErrNoCodec
	}
	if id <= 0 {
		return b, fmt.Errorf("%w: %d is outside of [1, 9223372036854775807]", ErrNoToken, id)
	}

	high, low, ok := c.encrypt(id)
	if !ok {
		return b, fmt.Errorf("%w: %d has no UUID among %d", ErrNoToken, id, uuidTries)
	}

	if c.form == uuidForm {
		return appendUUID(b, high, low), nil
	}
	return appendCrockford(b, high, low), nil
}

// parse returns the ID of a token and the index of its key.
func parse[T ~string | ~[]byte](c *Codec, token T) (id snowflake.ID, key int, err error) {
	if c == nil || len(c.keys) == 0 {
		return 0, 0, ErrNoCodec
	}

	var high, low uint64
	var ok bool
	if c.form == uuidForm {
		high, low, ok = readUUID(token)
	} else {
		high, low, ok = readCrockford(token)
	}

	if ok {
		if id, key, ok = c.decrypt(high, low); ok {
			return id, key, nil
		}
	}

	return 0, 0, tokenError(c, token)
}

// tokenError explains why parse rejected the text, as far as that is public.
func tokenError[T ~string | ~[]byte](c *Codec, token T) error {
	if c.form == uuidForm {
		if _, _, ok := readUUID(token); !ok {
			return column.Reject(ErrToken, "token", token,
				"want a UUID of version 4: 32 hexadecimal digits in groups of 8-4-4-4-12")
		}
		return column.Reject(ErrToken, "token", token, c.foreign)
	}

	reason := c.foreign
	if len(token) != crockfordLen {
		reason = fmt.Sprintf("want %d characters, got %d", crockfordLen, len(token))
	} else if i := slices.IndexFunc([]byte(token), func(b byte) bool { return crockfordValues[b] == noDigit }); i >= 0 {
		reason = fmt.Sprintf("byte %d is %q, which is not in the alphabet", i, []byte{token[i]})
	} else if string(token) > crockfordMax {
		reason = fmt.Sprintf("it is above %q, the largest number of 128 bits", crockfordMax)
	}

	return column.Reject(ErrToken, "token", token, reason)
}

// blocks has buffers for the cipher: an argument of an interface's method escapes to the heap.
var blocks = sync.Pool{New: func() any { return new([aes.BlockSize]byte) }}

// encrypt encrypts a counter of 64 bits and the ID with the first key. The counter is 0 or, for a UUID, the least one
// whose result has the bits of a UUID.
func (c *Codec) encrypt(id snowflake.ID) (high, low uint64, ok bool) {
	block := blocks.Get().(*[aes.BlockSize]byte)
	defer blocks.Put(block)
	for counter := range c.form.tries() {
		if high, low = c.keys[0].seal(block, counter, id); c.form.fits(high, low) {
			return high, low, true
		}
	}
	return 0, 0, false
}

// decrypt decrypts with each key until there are a counter that encrypt has tried, and an ID. No smaller counter may
// do, so that an ID has one token.
func (c *Codec) decrypt(high, low uint64) (id snowflake.ID, key int, ok bool) {
	block := blocks.Get().(*[aes.BlockSize]byte)
	defer blocks.Put(block)

	for i, key := range c.keys {
		store(block, high, low)
		key.secret.Decrypt(block[:], block[:])
		counter, number := load(block)
		id := snowflake.ID(number)
		if counter >= c.form.tries() || id <= 0 {
			continue
		}

		least := true
		for smaller := range counter {
			if c.form.fits(key.seal(block, smaller, id)) {
				least = false
				break
			}
		}

		if least {
			return id, i, true
		}
	}

	return 0, 0, false
}

func (k codecKey) seal(block *[aes.BlockSize]byte, counter uint64, id snowflake.ID) (high, low uint64) {
	store(block, counter, uint64(id))
	k.secret.Encrypt(block[:], block[:])
	return load(block)
}

func store(block *[aes.BlockSize]byte, high, low uint64) {
	binary.BigEndian.PutUint64(block[:8], high)
	binary.BigEndian.PutUint64(block[8:], low)
}

func load(block *[aes.BlockSize]byte) (high, low uint64) {
	return binary.BigEndian.Uint64(block[:8]), binary.BigEndian.Uint64(block[8:])
}
