package publicid_test

import (
	"crypto/cipher"
	"encoding/binary"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/uuid"

	"github.com/sqlflake/sqlflake/snowflake"
	"github.com/sqlflake/sqlflake/sqltypes/publicid"
)

// Made with OpenSSL 3.0. The first token has the least counter that fits, the second the next one. For the first:
//
//	openssl kdf -keylen 16 -kdfopt digest:SHA256 -kdfopt hexkey:000102030405060708090a0b0c0d0e0f \
//		-kdfopt info:"sqlflake publicid uuid v1 user" HKDF
//	printf %016x%016x $counter 1 | xxd -r -p | openssl enc -aes-128-ecb -nopad -K $key | xxd -p
var uuidVectors = []struct {
	id            snowflake.ID
	token, second string
}{
	{1, "983f9608-8e16-4f5f-890a-6c4bfa033185", "5d5e40e8-aeda-45ca-8bde-bae11d6d74d6"},
	{175907170989793351, "5a77f0ba-5d20-4ca8-9775-2fcd89c8f721", "f64c3db6-cb87-4bdf-8436-ee7752148b36"},
	{9223372036854775807, "ff84aff4-caaf-4807-8d89-6159225ff5d9", "80bea051-4b0c-4e2d-b060-5cfd12071b32"},
}

func uuidCodec(keys string) *publicid.Codec { return mustCodec("user", keys, publicid.WithUUID()) }

func TestUUIDsAreThoseOfOpenSSLAndAnIDHasOne(t *testing.T) {
	codec := uuidCodec(oldKey)
	for _, v := range uuidVectors {
		if got := mustToken(t, codec, v.id); got != v.token {
			t.Errorf("the token of %d is %q, want %q", v.id, got, v.token)
		}
		for _, text := range []string{v.token, strings.ToUpper(v.token)} {
			if got, key, err := codec.Decrypt(text); got != v.id || key != "old" || err != nil {
				t.Errorf("%q is read as %d, %q, %v, want %d", text, got, key, err, v.id)
			}
		}
		wantRejected(t, codec, v.second, "no key of domain")
		wantRejected(t, mustCodec("order", oldKey, publicid.WithUUID()), v.token, "no key of domain")
	}
}

func TestUUIDsGoThroughOtherLibrariesAndBack(t *testing.T) {
	codec := uuidCodec(newKey + "," + oldKey)
	for _, id := range someIDs() {
		token := mustToken(t, codec, id)
		u, err := uuid.Parse(token)
		if err != nil || u.Version() != 4 || u.Variant() != uuid.RFC4122 {
			t.Fatalf("%q of %d: version %v, variant %v, error %v", token, id, u.Version(), u.Variant(), err)
		}
		if got, err := codec.Parse(u.String()); got != id || err != nil {
			t.Fatalf("%q is read as %d, %v, want %d", u, got, err, id)
		}
	}
}

func TestOnlyUUIDsOfTheCodecAreRead(t *testing.T) {
	codec, token := uuidCodec(oldKey), uuidVectors[0].token
	for _, text := range []string{
		"", token[1:], token + "0", "urn:uuid:" + token, "{" + token + "}", strings.ReplaceAll(token, "-", ""),
		strings.ReplaceAll(token, "-", "0"), token[:7] + "-" + token[7:8] + token[9:], strings.Replace(token, "-", "g", 1),
		"g" + token[1:], token[:35] + "x", token[:14] + "7" + token[15:], token[:14] + "8" + token[15:],
		token[:19] + "c" + token[20:], token[:19] + "0" + token[20:],
	} {
		wantRejected(t, codec, text, "want a UUID of version 4")
	}
	for i, c := range []byte(token) {
		if c == '-' || i == 14 || i == 19 {
			continue
		}
		for _, digit := range "0123456789abcdef" {
			if byte(digit) != c {
				wantRejected(t, codec, token[:i]+string(digit)+token[i+1:], "no key of domain")
			}
		}
	}
	random := rand.New(rand.NewPCG(26, 2))
	for range 50_000 {
		u := uuid.UUID{}
		for i := range u {
			u[i] = byte(random.Uint32())
		}
		u[6], u[8] = u[6]&15|0x40, u[8]&63|0x80
		wantRejected(t, codec, u.String(), "no key of domain")
	}
}

// IDs that follow each other have UUIDs of which each of the 122 bits is as often 1 as 0, and changes as often as not. The
// sums of squares have as many degrees of freedom as there are bits: 200 is 5 standard deviations above their mean.
func TestTheBitsOfUUIDsAreThoseOfChance(t *testing.T) {
	const rows = 20_000
	codec := uuidCodec(oldKey)
	var ones, changed [128]int
	var last uuid.UUID
	for i := range rows {
		u := uuid.MustParse(mustToken(t, codec, 175907170989793351+snowflake.ID(i)))
		for bit := range ones {
			value := int(u[bit/8] >> (7 - bit%8) & 1)
			ones[bit] += value
			changed[bit] += value ^ int(last[bit/8]>>(7-bit%8)&1)
		}
		last = u
	}
	for name, counts := range map[string][128]int{"ones": ones, "changes": changed} {
		sum := 0.0
		for bit, n := range counts {
			if (48 <= bit && bit < 52) || bit == 64 || bit == 65 {
				continue
			}
			d := float64(n) - rows/2
			sum += d * d / (rows / 4)
		}
		if sum > 122+5*16 || sum < 122-5*16 {
			t.Errorf("chi-square of the %s is %.0f, want about 122", name, sum)
		}
	}
}

// counting counts the calls of a cipher.
type counting struct {
	cipher.Block
	encrypted, decrypted int
	counter              uint64 // of the last block that was decrypted
}

func (c *counting) Encrypt(dst, src []byte) { c.encrypted++; c.Block.Encrypt(dst, src) }

func (c *counting) Decrypt(dst, src []byte) {
	c.decrypted++
	c.Block.Decrypt(dst, src)
	c.counter = binary.BigEndian.Uint64(dst)
}

// A forged UUID costs no more than another token.
func TestUUIDsCostWhatTheirCounterSays(t *testing.T) {
	codec, count := uuidCodec(oldKey), &counting{}
	publicid.WrapForTest(codec, func(block cipher.Block) cipher.Block { count.Block = block; return count })
	wantCalls := func(what string, encrypted, decrypted int) {
		t.Helper()
		if count.encrypted != encrypted || count.decrypted != decrypted {
			t.Errorf("%s: %d encryptions and %d decryptions, want %d and %d", what, count.encrypted, count.decrypted, encrypted, decrypted)
		}
		count.encrypted, count.decrypted = 0, 0
	}
	for range 1000 {
		wantRejected(t, codec, uuid.NewString(), "no key of domain")
		wantCalls("a forged UUID", 0, 1)
	}
	for _, id := range someIDs() {
		token := mustToken(t, codec, id)
		encrypted := count.encrypted
		count.encrypted = 0
		if _, err := codec.Parse(token); err != nil {
			t.Fatal(err)
		}
		wantCalls(token, int(count.counter), 1)
		if encrypted != int(count.counter)+1 {
			t.Errorf("%s has the counter %d, after %d encryptions", token, count.counter, encrypted)
		}
	}
	// UUIDs of other blocks: with a counter from 16,384 on, or with no ID.
	for _, block := range []struct{ counter, id uint64 }{{1 << 14, 1}, {1 << 14, 2}, {1 << 63, 1}, {0, 0}, {0, 1 << 63}} {
		token := ""
		for counter := block.counter; token == ""; counter++ {
			var raw uuid.UUID
			binary.BigEndian.PutUint64(raw[:8], counter)
			binary.BigEndian.PutUint64(raw[8:], block.id)
			count.Block.Encrypt(raw[:], raw[:])
			if raw[6]>>4 == 4 && raw[8]>>6 == 2 {
				token = raw.String()
			}
		}
		wantRejected(t, codec, token, "no key of domain")
		wantCalls(token, 0, 1)
	}
}

// tiny permutes the blocks of 16 bits of counter and 2 of an ID, and no others. The six bits of a UUID are among the 18.
type tiny struct{ to, from []uint32 }

func (tiny) BlockSize() int { return 16 }

func (p tiny) Encrypt(dst, src []byte) {
	counter, id := binary.BigEndian.Uint64(src), binary.BigEndian.Uint64(src[8:])
	p.scatter(dst, p.to[counter<<2|id])
}

func (p tiny) Decrypt(dst, src []byte) {
	high, low := binary.BigEndian.Uint64(src), binary.BigEndian.Uint64(src[8:])
	index := p.from[high>>12&15<<14|low>>62<<12|low&0xfff]
	binary.BigEndian.PutUint64(dst, uint64(index>>2))
	binary.BigEndian.PutUint64(dst[8:], uint64(index&3))
}

func (tiny) scatter(dst []byte, n uint32) {
	binary.BigEndian.PutUint64(dst, uint64(n>>14)<<12)
	binary.BigEndian.PutUint64(dst[8:], uint64(n>>12&3)<<62|uint64(n&0xfff))
}

// All UUIDs of a small cipher are tried: of 4,096, three are read, the token of each ID.
func TestEachIDHasOneUUID(t *testing.T) {
	random := rand.New(rand.NewPCG(26, 3))
	for range 20 {
		p := tiny{from: make([]uint32, 1<<18)}
		for i, n := range random.Perm(1 << 18) {
			p.to = append(p.to, uint32(n))
			p.from[n] = uint32(i)
		}
		codec := uuidCodec(oldKey)
		publicid.WrapForTest(codec, func(cipher.Block) cipher.Block { return p })
		read := 0
		for low := range uint64(1 << 12) {
			token := publicid.UUIDForTest(4<<12, 2<<62|low)
			id, err := codec.Parse(token)
			if err != nil {
				continue
			}
			read++
			if own := mustToken(t, codec, id); own != token {
				t.Fatalf("%s and %s are read as %d", token, own, id)
			}
		}
		if read != 3 {
			t.Errorf("%d UUIDs are read, want those of the IDs 1 to 3", read)
		}
	}
}
