package publicid

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
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
	keys    []codecKey // the first one encrypts
	foreign string     // the reason of the error for a block that no key decrypts
}

type codecKey struct {
	id     string
	secret *codecSecret
}

// codecSecret is behind a pointer and contains another: fmt follows one pointer in a field that is not exported.
type codecSecret struct{ cipher.Block }

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
// It returns [ErrKey], and another error for an empty domain.
func New(domain string, keys []Key) (*Codec, error) {
	if domain == "" {
		return nil, errors.New("publicid: the domain is empty")
	}
	if err := checkKeys(keys); err != nil {
		return nil, err
	}

	c := &Codec{foreign: fmt.Sprintf("no key of domain %.40q decrypts it", domain)}
	for _, key := range keys {
		derived, err := hkdf.Key(sha256.New, key.secret.bytes[:], nil, "sqlflake publicid v1 "+domain, secretSize)
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
	var buf [tokenLen]byte
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
	return parse(c, token)
}

// append appends the token of an ID. On an error it returns b unchanged.
func (c *Codec) append(b []byte, id snowflake.ID) ([]byte, error) {
	if c == nil || len(c.keys) == 0 {
		return b, ErrNoCodec
	}
	if id <= 0 {
		return b, fmt.Errorf("%w: %d is outside of [1, 9223372036854775807]", ErrNoToken, id)
	}

	block := blocks.Get().(*[aes.BlockSize]byte)
	defer blocks.Put(block)

	store(block, 0, uint64(id))
	c.keys[0].secret.Encrypt(block[:], block[:])
	high, low := load(block)
	return appendText(b, high, low), nil
}

// parse returns the ID of a token and the ID of its key.
func parse[T ~string | ~[]byte](c *Codec, token T) (id snowflake.ID, keyID string, err error) {
	if c == nil || len(c.keys) == 0 {
		return 0, "", ErrNoCodec
	}

	block := blocks.Get().(*[aes.BlockSize]byte)
	defer blocks.Put(block)

	high, low, ok := readText(token)
	if !ok {
		return 0, "", column.Reject(ErrToken, "token", token,
			"want 26 digits and capitals without I, L, O and U, a number of 128 bits")
	}

	for _, key := range c.keys {
		store(block, high, low)
		key.secret.Decrypt(block[:], block[:])
		zeros, number := load(block)
		if id := snowflake.ID(number); zeros == 0 && id > 0 {
			return id, key.id, nil
		}
	}

	return 0, "", column.Reject(ErrToken, "token", token, c.foreign)
}

// blocks has buffers for the cipher: an argument of an interface's method escapes to the heap.
var blocks = sync.Pool{New: func() any { return new([aes.BlockSize]byte) }}

func store(block *[aes.BlockSize]byte, high, low uint64) {
	binary.BigEndian.PutUint64(block[:8], high)
	binary.BigEndian.PutUint64(block[8:], low)
}

func load(block *[aes.BlockSize]byte) (high, low uint64) {
	return binary.BigEndian.Uint64(block[:8]), binary.BigEndian.Uint64(block[8:])
}

const (
	crockford = "0123456789ABCDEFGHJKMNPQRSTVWXYZ" // of snowflake.ID.Base32
	tokenLen  = 26                                 // 128 bits in groups of five; the first has three

	noDigit = 0xff // the value of a character that is not in the alphabet
)

var crockfordValues = digitValues(crockford)

func digitValues(alphabet string) (values [256]byte) {
	for i := range values {
		values[i] = noDigit
	}
	for i := range len(alphabet) {
		values[alphabet[i]] = byte(i)
	}
	return values
}

// appendText appends 128 bits: 3 and 60 bits of high, the last bit of high with 4 of low, and 60 bits of low.
func appendText(b []byte, high, low uint64) []byte {
	var out [tokenLen]byte
	out[0] = crockford[high>>61]
	out[13] = crockford[high<<4&31|low>>60]
	high >>= 1
	for i := 12; i >= 1; i-- {
		out[i], out[i+13] = crockford[high&31], crockford[low&31]
		high, low = high>>5, low>>5
	}
	return append(b, out[:]...)
}

// readText is the inverse of appendText. It rejects other characters and numbers of more than 128 bits.
func readText[T ~string | ~[]byte](text T) (high, low uint64, ok bool) {
	if len(text) != tokenLen {
		return 0, 0, false
	}

	first, middle := crockfordValues[text[0]], crockfordValues[text[13]]
	all := middle // the union of the values: only noDigit has the top bit
	high, low = uint64(first), uint64(middle)&15
	for i := 1; i <= 12; i++ {
		upper, lower := crockfordValues[text[i]], crockfordValues[text[i+13]]
		all |= upper | lower
		high = high<<5 | uint64(upper)
		low = low<<5 | uint64(lower)
	}

	return high<<1 | uint64(middle)>>4&1, low, all <= 127 && first <= 7
}
