package publicid

import "crypto/aes"

// Block has the two halves of a block.
type Block struct{ High, Low uint64 }

// Text writes the block without the cipher.
func (b Block) Text() string { return string(appendText(nil, b.High, b.Low)) }

// ReadForTest reads the text of a block without the cipher.
func ReadForTest(text string) (b Block, ok bool) {
	b.High, b.Low, ok = readText(text)
	return b, ok
}

// SealForTest encrypts any block, also one that Token never makes.
func SealForTest(c *Codec, b Block) string {
	var block [aes.BlockSize]byte
	store(&block, b.High, b.Low)
	c.keys[0].secret.Encrypt(block[:], block[:])
	b.High, b.Low = load(&block)
	return b.Text()
}
