package publicid_test

import (
	"errors"
	"fmt"
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
	eachForm(t, func(t *testing.T, f form) {
		codec := f.codec(oldKey)
		for _, id := range someIDs() {
			token := mustToken(t, codec, id)
			if len(token) != f.length || strings.Trim(token, f.alphabet) != "" || mustToken(t, codec, id) != token {
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
	})
}

// Only a holder of the key can make these blocks; random tokens would never show that a bit is not checked.
func TestBlocksNeedAllZeroBitsAndAnID(t *testing.T) {
	codec := mustCodec("user", oldKey)
	for bit := range 64 {
		wantRejected(t, codec, publicid.SealForTest(codec, 1<<bit, 5), "no key")
	}
	for _, number := range []uint64{0, 1 << 63, math.MaxUint64} { // 0 and negative IDs
		wantRejected(t, codec, publicid.SealForTest(codec, 0, number), "no key")
	}
	if id, err := codec.Parse(publicid.SealForTest(codec, 0, 5)); id != 5 || err != nil {
		t.Errorf("the block of 5 is read as %d, %v", id, err)
	}
}

func TestOneIDHasOneText(t *testing.T) {
	eachForm(t, func(t *testing.T, f form) {
		codec := f.codec(oldKey)
		token := mustToken(t, codec, 5)
		largest := new(big.Int).Sub(new(big.Int).Lsh(big.NewInt(1), 128), big.NewInt(1))
		wantRejected(t, codec, f.text(largest), "no key of domain")
		beyond := f.text(largest.Add(largest, big.NewInt(1)))
		wantRejected(t, codec, beyond, "the largest number of 128 bits")
		// The same block plus 2^128, which a decoder that drops the overflow would accept.
		wantRejected(t, codec, f.text(new(big.Int).Add(f.number(token), largest)), "the largest number of 128 bits")
		wantRejected(t, codec, strings.Repeat(f.alphabet[len(f.alphabet)-1:], f.length), "the largest number of 128 bits")

		want := fmt.Sprintf("want %d characters, got ", f.length)
		longest := strings.Repeat(token, 9)
		for _, text := range []string{"", "5", token[1:], token + "0", "0" + token, " " + token, token + "\n", longest} {
			wantRejected(t, codec, text, fmt.Sprint(want, len(text)))
		}
		for _, c := range []string{"-", "_", " ", "+", "\x00", "\xff", "é"} {
			wantRejected(t, codec, c+token[len(c):], "byte 0 is ")
			wantRejected(t, codec, token[:9]+c+token[9+len(c):], "byte 9 is ")
		}
		if f.name == "crockford" {
			wantRejected(t, codec, strings.ToLower(token), "which is not in the alphabet")
			for _, alias := range []string{"I", "L", "O", "U", "i", "l", "o"} { // Crockford's decoder takes I and L for 1, O for 0
				wantRejected(t, codec, token[:25]+alias, "byte 25 is ")
			}
		}
	})
}

// A byte that is taken for a digit could give the number of another text, which the cipher would accept. Just above 2^128
// another sum overflows than far above.
func TestOnlyTextsOf128BitsAreRead(t *testing.T) {
	eachForm(t, func(t *testing.T, form form) {
		for at := range form.length {
			for b := range 256 {
				text := []byte(strings.Repeat("0", form.length))
				text[at] = byte(b)
				digit := strings.IndexByte(form.alphabet, byte(b))
				if _, _, ok := form.block.Read(string(text)); ok != (digit >= 0 && (at > 0 || digit <= 7)) {
					t.Errorf("%q is accepted: %v", text, ok)
				}
			}
		}
		limit := new(big.Int).Lsh(big.NewInt(1), 128)
		end := new(big.Int).Exp(big.NewInt(int64(len(form.alphabet))), big.NewInt(int64(form.length)), nil)
		for shift := range uint(131) {
			for _, sign := range []int64{1, -1} {
				number := new(big.Int).Lsh(big.NewInt(sign), shift)
				number.Add(number, limit)
				if number.Sign() < 0 || number.Cmp(end) >= 0 {
					continue // it has no text of this length
				}
				if high, low, ok := form.block.Read(form.text(number)); ok != (number.Cmp(limit) < 0) {
					t.Errorf("%x is read as %x %x, %t", number, high, low, ok)
				}
			}
		}
	})
}

func TestTokensOfOtherDomainsAndKeysAreRejected(t *testing.T) {
	eachForm(t, func(t *testing.T, f form) {
		users := f.codec(oldKey)
		for name, other := range map[string]*publicid.Codec{
			"domain":        mustCodec("order", oldKey, f.options...),
			"longer domain": mustCodec("users", oldKey, f.options...),
			"key":           f.codec(newKey),
			"similar key":   f.codec("old:000102030405060708090a0b0c0d0e0e"),
		} {
			for _, id := range someIDs() {
				theirs := mustToken(t, other, id)
				if theirs == mustToken(t, users, id) {
					t.Errorf("%d has the same token with another %s", id, name)
				}
				wantRejected(t, users, theirs, `no key of domain "user" decrypts it`)
			}
		}
	})
}

func TestNewRejectsBadArguments(t *testing.T) {
	key := mustKeys(oldKey)[0]
	for name, test := range map[string]struct {
		domain  string
		keys    []publicid.Key
		options []publicid.Option
		want    error
		text    string
	}{
		"no domain":  {"", []publicid.Key{key}, nil, nil, "domain is empty"},
		"no key":     {"user", nil, nil, publicid.ErrKey, "there is none"},
		"zero Key":   {"user", []publicid.Key{key, {}}, nil, publicid.ErrKey, "number 1 is the zero Key"},
		"nil option": {"user", []publicid.Key{key}, []publicid.Option{publicid.WithUUID(), nil}, nil, "nil"},
	} {
		codec, err := publicid.New(test.domain, test.keys, test.options...)
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
	eachForm(t, func(t *testing.T, f form) {
		first, added, turned, last := f.codec(oldKey), f.codec(oldKey+","+newKey), f.codec(newKey+" "+oldKey), f.codec(newKey)
		for _, step := range [][2]*publicid.Codec{{first, added}, {added, first}, {added, turned}, {turned, added}, {last, turned}} {
			token := mustToken(t, step[0], 5)
			if id, err := step[1].Parse(token); id != 5 || err != nil {
				t.Errorf("%q is read as %d, %v", token, id, err)
			}
		}
		wantRejected(t, last, mustToken(t, added, 5), "no key of domain")
	})
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
