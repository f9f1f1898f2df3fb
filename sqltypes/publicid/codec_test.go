package publicid_test

import (
	"errors"
	"math"
	"math/big"
	"strings"
	"sync"
	"testing"

	"github.com/sqlflake/sqlflake/snowflake"
	"github.com/sqlflake/sqlflake/sqltypes/publicid"
)

// wantRejected checks that a codec rejects the text.
func wantRejected(t *testing.T, codec *publicid.Codec, text, why string) {
	t.Helper()
	id, err := codec.Parse(text)
	var parseError *snowflake.ParseError
	if id != 0 || !errors.Is(err, publicid.ErrToken) || !errors.Is(err, snowflake.ErrSyntax) || !errors.As(err, &parseError) {
		t.Fatalf("Parse(%q) = %d, %v, want ErrToken", text, id, err)
	}
	if parseError.Source != "token" || !strings.Contains(parseError.Reason, why) || len(parseError.Input) > 40 {
		t.Fatalf("Parse(%q): error %v, want %q", text, err, why)
	}
}

func TestEveryIDHasOneTokenOfFixedLength(t *testing.T) {
	codec := mustCodec("user", oldKey)
	for _, id := range someIDs() {
		token := mustToken(t, codec, id)
		if len(token) != length || strings.Trim(token, alphabet) != "" || mustToken(t, codec, id) != token {
			t.Errorf("the token of %d is %q", id, token)
		}
		if got, key, err := codec.Decrypt(token); got != id || key != "old" || err != nil {
			t.Errorf("Decrypt(%q) of %d = %d, %q, %v", token, id, got, key, err)
		}
	}
	for _, id := range []snowflake.ID{0, -1, math.MinInt64} {
		if token, err := codec.Token(id); token != "" || !errors.Is(err, publicid.ErrNoToken) {
			t.Errorf("Token(%d) = %q, %v, want ErrNoToken", id, token, err)
		}
	}
}

// Only a holder of the key can make these blocks; random tokens would never show that a bit is not checked.
func TestBlocksNeedAllZeroBitsAndAnID(t *testing.T) {
	codec := mustCodec("user", oldKey)
	for bit := range 64 {
		wantRejected(t, codec, publicid.SealForTest(codec, publicid.Block{High: 1 << bit, Low: 5}), "no key")
	}
	for _, number := range []uint64{0, 1 << 63, math.MaxUint64} { // 0 and negative IDs
		wantRejected(t, codec, publicid.SealForTest(codec, publicid.Block{Low: number}), "no key")
	}
	if id, err := codec.Parse(publicid.SealForTest(codec, publicid.Block{Low: 5})); id != 5 || err != nil {
		t.Errorf("the block of 5 is read as %d, %v", id, err)
	}
}

func TestOneIDHasOneText(t *testing.T) {
	codec := mustCodec("user", oldKey)
	token := mustToken(t, codec, 5)
	largest := new(big.Int).Sub(new(big.Int).Lsh(big.NewInt(1), 128), big.NewInt(1))
	wantRejected(t, codec, textOf(largest), "no key of domain")
	beyond := textOf(largest.Add(largest, big.NewInt(1)))
	wantRejected(t, codec, beyond, "a number of 128 bits")
	// The same block plus 2^128, which a decoder that drops the overflow would accept.
	wantRejected(t, codec, textOf(new(big.Int).Add(numberOf(token), largest)), "a number of 128 bits")
	wantRejected(t, codec, strings.Repeat(alphabet[len(alphabet)-1:], length), "a number of 128 bits")

	longest := strings.Repeat(token, 9)
	for _, text := range []string{"", "5", token[1:], token + "0", "0" + token, " " + token, token + "\n", longest} {
		wantRejected(t, codec, text, "want 26 digits")
	}
	for _, c := range []string{"-", "_", " ", "+", "\x00", "\xff", "é"} {
		wantRejected(t, codec, c+token[len(c):], "without I, L, O and U")
		wantRejected(t, codec, token[:9]+c+token[9+len(c):], "without I, L, O and U")
	}
	wantRejected(t, codec, strings.ToLower(token), "digits and capitals")
	for _, alias := range []string{"I", "L", "O", "U", "i", "l", "o"} { // Crockford's decoder takes I and L for 1, O for 0
		wantRejected(t, codec, token[:25]+alias, "without I, L, O and U")
	}
}

// A byte that is taken for a digit could give the number of another text, which the cipher would accept. Just above 2^128
// another sum overflows than far above.
func TestOnlyTextsOf128BitsAreRead(t *testing.T) {
	for at := range length {
		for b := range 256 {
			text := []byte(strings.Repeat("0", length))
			text[at] = byte(b)
			digit := strings.IndexByte(alphabet, byte(b))
			if _, ok := publicid.ReadForTest(string(text)); ok != (digit >= 0 && (at > 0 || digit <= 7)) {
				t.Errorf("%q is accepted: %v", text, ok)
			}
		}
	}
	limit := new(big.Int).Lsh(big.NewInt(1), 128)
	end := new(big.Int).Exp(big.NewInt(int64(len(alphabet))), big.NewInt(int64(length)), nil)
	for shift := range uint(131) {
		for _, sign := range []int64{1, -1} {
			number := new(big.Int).Lsh(big.NewInt(sign), shift)
			number.Add(number, limit)
			if number.Sign() < 0 || number.Cmp(end) >= 0 {
				continue // it has no text of this length
			}
			if block, ok := publicid.ReadForTest(textOf(number)); ok != (number.Cmp(limit) < 0) {
				t.Errorf("%x is read as %x, %t", number, block, ok)
			}
		}
	}
}

func TestTokensOfOtherDomainsAndKeysAreRejected(t *testing.T) {
	users := mustCodec("user", oldKey)
	for name, other := range map[string]*publicid.Codec{
		"domain":        mustCodec("order", oldKey),
		"longer domain": mustCodec("users", oldKey),
		"key":           mustCodec("user", newKey),
		"similar key":   mustCodec("user", "old:000102030405060708090a0b0c0d0e0e"),
	} {
		for _, id := range someIDs() {
			theirs := mustToken(t, other, id)
			if theirs == mustToken(t, users, id) {
				t.Errorf("%d has the same token with another %s", id, name)
			}
			wantRejected(t, users, theirs, `no key of domain "user" decrypts it`)
		}
	}
}

func TestNewRejectsBadArguments(t *testing.T) {
	key := mustKeys(oldKey)[0]
	for name, test := range map[string]struct {
		domain string
		keys   []publicid.Key
		want   error
		text   string
	}{
		"no domain": {"", []publicid.Key{key}, nil, "domain is empty"},
		"no key":    {"user", nil, publicid.ErrKey, "there is none"},
		"zero Key":  {"user", []publicid.Key{key, {}}, publicid.ErrKey, "number 1 is the zero Key"},
	} {
		codec, err := publicid.New(test.domain, test.keys)
		if codec != nil || err == nil || test.want != nil && !errors.Is(err, test.want) || !strings.Contains(err.Error(), test.text) {
			t.Errorf("%s: %v, %v, want %v with %q", name, codec, err, test.want, test.text)
		}
	}
}

func TestZeroCodecReturnsErrNoCodec(t *testing.T) {
	for _, codec := range []*publicid.Codec{nil, {}} {
		token, err := codec.Token(5)
		id, parseErr := codec.Parse("24VK6RXN3159AMNS3P94TYGM5D")
		other, key, decryptErr := codec.Decrypt("")
		if token != "" || id != 0 || other != 0 || key != "" {
			t.Errorf("Token = %q, Parse = %d, Decrypt = %d, %q", token, id, other, key)
		}
		for _, err := range []error{err, parseErr, decryptErr} {
			if !errors.Is(err, publicid.ErrNoCodec) {
				t.Errorf("error %v, want ErrNoCodec", err)
			}
		}
	}
}

func TestCodecIsSafeForConcurrentUse(t *testing.T) {
	codec, old := mustCodec("user", newKey+","+oldKey), mustCodec("user", oldKey)
	var wg sync.WaitGroup
	for worker := range 8 {
		wg.Go(func() {
			for i := range 1000 {
				id := snowflake.ID(worker*1000 + i + 1)
				for _, maker := range []*publicid.Codec{codec, old} {
					token, err := maker.Token(id)
					if got, parseErr := codec.Parse(token); got != id || err != nil || parseErr != nil {
						t.Errorf("%q of %d is read as %d, %v, %v", token, id, got, err, parseErr)
						return
					}
				}
			}
		})
	}
	wg.Wait()
}

// At each step of the rotation, all processes accept what any of them sends. The last step ends the old tokens.
func TestNoTokenIsRejectedWhileKeysChange(t *testing.T) {
	first, added, turned, last := mustCodec("user", oldKey), mustCodec("user", oldKey+","+newKey), mustCodec("user", newKey+" "+oldKey), mustCodec("user", newKey)
	for _, step := range [][2]*publicid.Codec{{first, added}, {added, first}, {added, turned}, {turned, added}, {last, turned}} {
		token := mustToken(t, step[0], 5)
		if id, err := step[1].Parse(token); id != 5 || err != nil {
			t.Errorf("%q is read as %d, %v", token, id, err)
		}
	}
	wantRejected(t, last, mustToken(t, added, 5), "no key of domain")
}

func TestDecryptTellsWhichKeyMadeAToken(t *testing.T) {
	both := mustCodec("user", newKey+","+otherKey+"\n"+oldKey)
	for _, key := range []string{oldKey, newKey, otherKey} {
		token := mustToken(t, mustCodec("user", key), 5)
		id, keyID, err := both.Decrypt(token)
		if want, _, _ := strings.Cut(key, ":"); id != 5 || keyID != want || err != nil {
			t.Errorf("a token of %s: %d, %q, %v", want, id, keyID, err)
		}
		if key == newKey && mustToken(t, both, 5) != token {
			t.Error("the first of three keys does not make the tokens")
		}
		if _, secret, _ := strings.Cut(key, ":"); mustToken(t, mustCodec("user", "renamed:"+secret), 5) != token {
			t.Errorf("the ID of the key changes %q", token)
		}
	}
}
