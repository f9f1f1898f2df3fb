package publicid_test

import (
	"testing"

	"github.com/sqlflake/sqlflake/snowflake"
)

// The blocks were made with OpenSSL 3.0. For the domain "user" and the ID 1:
//
//	openssl kdf -keylen 16 -kdfopt digest:SHA256 -kdfopt hexkey:000102030405060708090a0b0c0d0e0f \
//		-kdfopt info:"sqlflake publicid v1 user" HKDF
//	printf 00000000000000000000000000000001 | xxd -r -p |
//		openssl enc -aes-128-ecb -nopad -K b6dbf3ee90b8446ef9220c8e0959948e | xxd -p
//
// The texts are those of the blocks as numbers, made by a separate program.
var vectors = []struct {
	domain            string
	id                snowflake.ID
	block             string
	crockford, base62 string
}{
	{"user", 1, "44dccd8ed4612a554ae4764935e850ad", "24VK6RXN3159AMNS3P94TYGM5D", "25wNtkKMG3Uh0s8rda5XuX"},
	{"user", 175907170989793351, "a69179356e0e2288fdea84f616332914", "56J5WKAVGE4A4FVTM4YRB36A8M", "54JCswaVLHTAFUyWmZKFwy"},
	{"user", 9223372036854775807, "1ab4437bfbb5e1b89ac71f7b2e289fe5", "0TPH1QQYXNW6W9NHRZFCQ2H7Z5", "0oOBEXUk5hDBVFJ9DUMpz3"},
	{"order", 1, "21c82f7903a1d70deadc58364bdba464", "11S0QQJ0X1TW6YNQ2R6S5XQ934", "11kEN0dJnzf1Q1TjXJmw0i"},
	{"order", 175907170989793351, "a3dd5eb87ded19523d37abb754918935", "53VNFBGZFD3593TDXBPXA9329N", "4zCulqSf8rA2HxWEH2BMVp"},
	{"order", 9223372036854775807, "6690381620e0c889ce1b65fa02a4b284", "36J0W1C870S24WW6V5Z81A9CM4", "37X7n2H143xrUPnBEE78kO"},
}

func TestTokensAreThoseOfOpenSSL(t *testing.T) {
	for _, v := range vectors {
		for _, f := range forms {
			codec := mustCodec(v.domain, oldKey, f.options...)
			want := map[string]string{"crockford": v.crockford, "base62": v.base62}[f.name]
			if got, err := codec.Token(v.id); got != want || err != nil {
				t.Errorf("%s of %s %d = %q, %v, want %q", f.name, v.domain, v.id, got, err, want)
			}
			if got, err := codec.Parse(want); got != v.id || err != nil {
				t.Errorf("%s %q of %s is read as %d, %v, want %d", f.name, want, v.domain, got, err, v.id)
			}
			if block := f.number(want).Text(16); block != v.block {
				t.Errorf("%s %q is the block %s, want %s", f.name, want, block, v.block)
			}
		}
	}
}
