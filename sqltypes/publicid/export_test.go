package publicid

import "crypto/aes"

// SealForTest encrypts any block, also one that Token never makes, in base 32.
func SealForTest(c *Codec, high, low uint64) string {
	var block [aes.BlockSize]byte
	store(&block, high, low)
	c.keys[0].secret.Encrypt(block[:], block[:])
	return CrockfordForTest.Write(load(&block))
}

// BlockForm writes and reads the text of 128 bits.
type BlockForm struct {
	Write func(high, low uint64) string
	Read  func(text string) (high, low uint64, ok bool)
}

// The two alphabets, without a cipher.
var (
	CrockfordForTest = BlockForm{
		Write: func(high, low uint64) string {
			var out [crockfordLen]byte
			writeCrockford(&out, high, low)
			return string(out[:])
		},
		Read: readCrockford[string],
	}
	Base62ForTest = BlockForm{
		Write: func(high, low uint64) string {
			var out [base62Len]byte
			writeBase62(&out, high, low)
			return string(out[:])
		},
		Read: readBase62[string],
	}
)
