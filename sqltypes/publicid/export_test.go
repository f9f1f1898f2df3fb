package publicid

import (
	"crypto/aes"
	"crypto/cipher"
)

// SealForTest encrypts any block, also one that Token never makes, in base 32.
func SealForTest(c *Codec, high, low uint64) string {
	var block [aes.BlockSize]byte
	store(&block, high, low)
	c.keys[0].secret.Encrypt(block[:], block[:])
	return CrockfordForTest.Write(load(&block))
}

// WrapForTest replaces the cipher of the first key.
func WrapForTest(c *Codec, wrap func(cipher.Block) cipher.Block) {
	c.keys[0].secret = &codecSecret{wrap(c.keys[0].secret.Block)}
}

// UUIDForTest writes 128 bits as a UUID.
func UUIDForTest(high, low uint64) string { return string(appendUUID(nil, high, low)) }

// BlockForm writes and reads the text of 128 bits.
type BlockForm struct {
	Write func(high, low uint64) string
	Read  func(text string) (high, low uint64, ok bool)
}

func formOf(add func([]byte, uint64, uint64) []byte, read func(string) (uint64, uint64, bool)) BlockForm {
	return BlockForm{func(high, low uint64) string { return string(add(nil, high, low)) }, read}
}

// CrockfordForTest is the form without a cipher.
var CrockfordForTest = formOf(appendCrockford, readCrockford[string])
