package publicid_test

import (
	"crypto/hkdf"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"math/big"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/sqlflake/sqlflake/internal/testdb"
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
	wantRejected(t, codec, strings.ToLower(token), "digits and capitals")
	wantRejected(t, codec, token[:25]+"O", "without I, L, O and U") // Crockford's decoder takes it for a 0
}

// A byte that is taken for a digit could give the number of another text, which the cipher would accept. Numbers from
// 2^128 on begin with a digit above 7.
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

const secretHex = "0123456789abcdeffedcba9876543210"

func TestKeysAreReadFromLists(t *testing.T) {
	a, b, c := "2026.b_1-x:"+secretHex, "b:1"+strings.ToUpper(secretHex[1:]), "c:2"+secretHex[1:]
	for _, text := range []string{a + "," + b + " " + c + "\n", ", " + a + " ,\t" + b + "\n" + c + ","} {
		keys, err := publicid.ParseKeys(text)
		if err != nil || len(keys) != 3 || keys[0].ID() != "2026.b_1-x" || keys[1].ID() != "b" || keys[2].ID() != "c" {
			t.Errorf("ParseKeys(%q) = %v, %v", text, keys, err)
		}
	}
	if mustToken(t, mustCodec("user", b), 5) != mustToken(t, mustCodec("user", strings.ToLower(b)), 5) {
		t.Error("capitals make another secret")
	}
}

func TestBadKeysAreRejected(t *testing.T) {
	good := "a:" + secretHex
	for text, want := range map[string]string{
		"":                                     "there is none",
		",":                                    "there is none",
		good + ",b":                            "no colon",
		good + "," + good:                      `the ID "a" occurs twice`,
		good + ",b:" + secretHex:               `"a" and "b" have the same secret`,
		"a: " + secretHex:                      "the secret of an ID of 1 characters has 0",
		secretHex:                              "a text of 32 bytes has no colon",
		":" + secretHex:                        "its ID has 0 bytes, want 1 to 32",
		secretHex + "1:4":                      "its ID has 33 bytes, want 1 to 32",
		"a/b:" + secretHex:                     "its ID has 3 bytes, want 1 to 32 letters",
		"k\xff:" + secretHex:                   "its ID has 2 bytes, want 1 to 32 letters",
		"k:" + secretHex[1:]:                   "has 31, want 32 hexadecimal digits",
		"k:" + secretHex + "01":                "has 34, want 32 hexadecimal digits",
		"k:" + secretHex[:31] + "g":            `the secret of "k" has characters that are not hexadecimal digits`,
		"k:" + strings.Repeat("5a", 16):        `the secret of "k" is 8 bytes twice`,
		"k:" + secretHex[:16] + secretHex[:16]: `the secret of "k" is 8 bytes twice`,
		secretHex + ":k":                       "the secret of an ID of 32 characters has 1,", // in the wrong order
	} {
		keys, err := publicid.ParseKeys(text)
		if keys != nil || !errors.Is(err, publicid.ErrKey) || !strings.Contains(err.Error(), want) {
			t.Errorf("ParseKeys(%q) = %v, %v, want %q", text, keys, err, want)
		}
		for _, part := range []string{secretHex[:8], secretHex[1:9], "5a5a"} {
			if err != nil && strings.Contains(err.Error(), part) {
				t.Errorf("ParseKeys(%q): the error shows the secret: %v", text, err)
			}
		}
	}
}

func TestSecretsAreNeverPrinted(t *testing.T) {
	type settings struct {
		Key    publicid.Key
		Keys   []publicid.Key
		hidden publicid.Key // fmt calls no methods in fields that are not exported
		Codec  *publicid.Codec
		codec  *publicid.Codec
		copied publicid.Codec
	}

	key, codec := mustKeys("k1:" + secretHex)[0], mustCodec("user", "k1:"+secretHex)
	all := settings{key, []publicid.Key{key}, key, codec, codec, *codec}
	var out strings.Builder
	for _, value := range []any{key, &key, []publicid.Key{key}, map[string]publicid.Key{"a": key}, all, &all, codec, *codec} {
		for _, verb := range append(strings.Fields("v +v #v s q x X d c o b U t T"), " x") {
			fmt.Fprintf(&out, "%"+verb+"\n", value)
		}
		slog.New(slog.NewTextHandler(&out, nil)).Info("settings", "value", value)
		slog.New(slog.NewJSONHandler(&out, nil)).Info("settings", "value", value)
		if text, err := json.Marshal(value); err == nil {
			out.Write(append(text, '\n'))
		}
	}

	secret := must(hex.DecodeString(secretHex))
	derived := must(hkdf.Key(sha256.New, secret, nil, "sqlflake publicid v1 user", 16))
	for name, form := range map[string]string{
		"derived, little-endian": strconv.FormatUint(uint64(binary.LittleEndian.Uint32(derived)), 10),
		"derived, big-endian":    strconv.FormatUint(uint64(binary.BigEndian.Uint32(derived)), 10),
		"derived in hex":         hex.EncodeToString(derived[:4]),
		"hex":                    secretHex[:6], "upper hex": strings.ToUpper(secretHex)[:6], "bytes": string(secret[:4]),
		"base64": base64.StdEncoding.EncodeToString(secret)[:6], "%d": "1 35 69 103", "%#v": "0x1, 0x23",
		"% x": "01 23 45", "%c": "# E g", "%o": "1 43 105", "a panic": "PANIC",
	} {
		if at := strings.Index(out.String(), form); at >= 0 {
			t.Errorf("the secret was printed as %s: %.200s", name, out.String()[max(0, at-100):])
		}
	}

	for _, want := range []string{`publicid.Key("k1")`, `publicid.Key(\"k1\")`} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("%q was not printed in\n%s", want, out.String())
		}
	}
}

func TestMain(m *testing.M) { os.Exit(testdb.Main(m)) }

// The keys of the tests. The first is that of the vectors.
const (
	oldKey   = "old:000102030405060708090a0b0c0d0e0f"
	newKey   = "new:f0e1d2c3b4a5968778695a4b3c2d1e0f"
	otherKey = "other:00000000000000000000000000000001"
)

// must returns the result of a call that cannot fail.
func must[T any](result T, err error) T {
	if err != nil {
		panic(err)
	}
	return result
}

// noError fails the test on an error.
func noError(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func mustKeys(text string) []publicid.Key { return must(publicid.ParseKeys(text)) }

func mustCodec(domain, keys string) *publicid.Codec {
	return must(publicid.New(domain, mustKeys(keys)))
}

func mustToken(t testing.TB, codec *publicid.Codec, id snowflake.ID) string {
	t.Helper()
	token, err := codec.Token(id)
	noError(t, err)
	return token
}

const (
	alphabet = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
	length   = 26
)

// numberOf returns the number of a text. math/big has its digits in another order.
func numberOf(text string) *big.Int {
	n := new(big.Int)
	for _, c := range []byte(text) {
		n.Add(n.Lsh(n, 5), big.NewInt(int64(strings.IndexByte(alphabet, c))))
	}
	return n
}

// textOf returns a number as a text of that length.
func textOf(n *big.Int) string {
	text, rest, digit := make([]byte, length), new(big.Int).Set(n), new(big.Int)
	for i := len(text) - 1; i >= 0; i-- {
		rest.DivMod(rest, big.NewInt(32), digit)
		text[i] = alphabet[digit.Int64()]
	}
	return string(text)
}

// someIDs are the smallest and largest, and some of all sizes.
func someIDs() []snowflake.ID {
	ids := []snowflake.ID{1, 2, 255, 256, 175907170989793351, math.MaxInt64 - 1, math.MaxInt64}
	random := rand.New(rand.NewPCG(1, 2))
	for shift := range 63 {
		ids = append(ids, snowflake.ID(random.Int64()>>shift|1))
	}
	return ids
}

// The kinds of the tests, as a program declares them.
type (
	userKind  struct{}
	orderKind struct{}
	noKind    struct{} // has no codec

	UserID  = publicid.ID[userKind]
	OrderID = publicid.ID[orderKind]
)

var (
	users  = mustCodec("user", newKey+","+oldKey)
	orders = mustCodec("order", newKey+","+oldKey)
)

func (userKind) Codec() *publicid.Codec  { return users }
func (orderKind) Codec() *publicid.Codec { return orders }
func (noKind) Codec() *publicid.Codec    { return nil }

func userID(n snowflake.ID) UserID            { return publicid.IDFrom[userKind](n) }
func orderID(n snowflake.ID) OrderID          { return publicid.IDFrom[orderKind](n) }
func noID(n snowflake.ID) publicid.ID[noKind] { return publicid.IDFrom[noKind](n) }
