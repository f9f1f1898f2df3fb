package publicid

import (
	"crypto/aes"
	"encoding/binary"
	"sync"

	"github.com/sqlflake/sqlflake/snowflake"
)

// blocks has buffers for the cipher. What is passed to a method of an interface escapes to the heap, and a buffer for each
// call would be garbage at once.
var blocks = sync.Pool{New: func() any { return new([aes.BlockSize]byte) }}

// seal encrypts 64 zero bits and the ID with the first key.
func (c *Codec) seal(id snowflake.ID) (high, low uint64) {
	block := blocks.Get().(*[aes.BlockSize]byte)
	store(block, 0, uint64(id))
	c.keys[0].secret.Encrypt(block[:], block[:])
	high, low = load(block)
	blocks.Put(block)
	return high, low
}

// open decrypts with each key, until there are 64 zero bits and an ID.
func (c *Codec) open(high, low uint64) (id snowflake.ID, key int, ok bool) {
	block := blocks.Get().(*[aes.BlockSize]byte)
	for i := range c.keys {
		store(block, high, low)
		c.keys[i].secret.Decrypt(block[:], block[:])
		zero, number := load(block)
		if zero == 0 && snowflake.ID(number) > 0 {
			id, key, ok = snowflake.ID(number), i, true
			break
		}
	}
	blocks.Put(block)
	return id, key, ok
}

func store(block *[aes.BlockSize]byte, high, low uint64) {
	binary.BigEndian.PutUint64(block[:8], high)
	binary.BigEndian.PutUint64(block[8:], low)
}

func load(block *[aes.BlockSize]byte) (high, low uint64) {
	return binary.BigEndian.Uint64(block[:8]), binary.BigEndian.Uint64(block[8:])
}
