package publicid_test

import (
	crand "crypto/rand"
	"errors"
	"math/big"
	"math/bits"
	"math/rand/v2"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/sqlflake/sqlflake/snowflake"
	"github.com/sqlflake/sqlflake/sqltypes/publicid"
)

// The random tokens are well-formed, so each is decrypted with both keys.
func TestNoneOfTenMillionRandomTokensIsAccepted(t *testing.T) {
	eachForm(t, func(t *testing.T, f form) {
		n := 10_000_000
		if f.name == "base62" { // the blocks are the same, only their texts differ
			n = 1_000_000
		}
		if testing.Short() || raceEnabled { // arithmetic in goroutines that share nothing
			n /= 20
		}
		codec := f.codec(newKey + "," + oldKey)
		shards := runtime.GOMAXPROCS(0)
		var accepted, malformed atomic.Int64
		var wg sync.WaitGroup
		for shard := range shards {
			var seed [32]byte
			if _, err := crand.Read(seed[:]); err != nil {
				t.Fatal(err)
			}
			wg.Go(func() {
				random := rand.New(rand.NewChaCha8(seed))
				token := make([]byte, f.length)
				for i := shard; i < n; i += shards {
					fillRandom(random, token, f)
					id, err := codec.Parse(string(token))
					var parseError *snowflake.ParseError
					switch {
					case err == nil || id != 0 || !errors.As(err, &parseError):
						accepted.Add(1)
					case parseError.Reason != `no key of domain "user" opens it`:
						malformed.Add(1)
					}
				}
			})
		}
		wg.Wait()
		if accepted.Load() > 0 || malformed.Load() > 0 {
			t.Errorf("of %d random tokens %d were accepted and %d were malformed", n, accepted.Load(), malformed.Load())
		}
	})
}

// fillRandom makes a token at random. The first character is 0 to 6, so that the number is below 2^128 in both
// alphabets.
func fillRandom(random *rand.Rand, token []byte, f form) {
	token[0] = f.alphabet[random.Uint32N(7)]
	for i := 1; i < len(token); i++ {
		token[i] = f.alphabet[random.Uint32N(uint32(len(f.alphabet)))]
	}
}

// IDs of one worker in one millisecond differ in their last bits only.
func TestTokensOfNeighboursHaveNothingInCommon(t *testing.T) {
	const n = 4096
	eachForm(t, func(t *testing.T, f form) {
		codec := f.codec(oldKey)
		first := snowflake.ID(175907170989793351) &^ (n - 1)
		before := mustToken(t, codec, first)
		differing, ascents, longest := 0, 0, 0
		for id := first + 1; id < first+n; id++ {
			token := mustToken(t, codec, id)
			prefix := 0
			for token[prefix] == before[prefix] {
				prefix++
			}
			longest = max(longest, prefix)
			if token > before {
				ascents++
			}
			difference := new(big.Int).Xor(f.number(token), f.number(before))
			for _, word := range difference.Bits() {
				differing += bits.OnesCount(uint(word))
			}
			before = token
		}
		// Of a random permutation: half of 128 bits (a standard deviation is 0.09 here), half of the neighbours in
		// order (18), and a common prefix of 6 characters in one of 100,000 such tests at most. The key is fixed, so
		// the outcome is.
		if mean := float64(differing) / (n - 1); mean < 63.5 || mean > 64.5 {
			t.Errorf("tokens of neighbours differ in %.2f bits on average, want 64", mean)
		}
		if ascents < n/2-90 || ascents > n/2+90 {
			t.Errorf("%d of %d tokens are above that of the ID before, want half of them", ascents, n-1)
		}
		if longest > 5 {
			t.Errorf("tokens of neighbours share %d characters at the start", longest)
		}
	})
}

// At each step of the rotation, all processes accept what any of them sends.
func TestNoTokenIsRefusedWhileKeysChange(t *testing.T) {
	eachForm(t, func(t *testing.T, f form) {
		steps := []string{oldKey, oldKey + "," + newKey, newKey + " " + oldKey, newKey}
		for i := 1; i < len(steps); i++ {
			before, after := f.codec(steps[i-1]), f.codec(steps[i])
			if i < 3 { // the last step ends the old tokens
				wantRead(t, after, mustToken(t, before, 5))
			}
			wantRead(t, before, mustToken(t, after, 5))
		}
	})
}

func wantRead(t *testing.T, codec *publicid.Codec, token string) {
	t.Helper()
	if id, err := codec.Parse(token); id != 5 || err != nil {
		t.Errorf("%q is read as %d, %v", token, id, err)
	}
}

func TestOpenTellsWhichKeyMadeAToken(t *testing.T) {
	both := mustCodec("user", newKey+","+otherKey+"\n"+oldKey)
	for _, key := range []string{oldKey, newKey, otherKey} {
		maker := mustCodec("user", key)
		id, keyID, err := both.Open(mustToken(t, maker, 5))
		if want, _, _ := strings.Cut(key, ":"); id != 5 || keyID != want || err != nil {
			t.Errorf("a token of %s: %d, %q, %v", want, id, keyID, err)
		}
	}
	if got := mustToken(t, both, 5); got != mustToken(t, mustCodec("user", newKey), 5) {
		t.Errorf("the first of three keys must make the tokens: %q", got)
	}
	wantRefused(t, mustCodec("user", newKey+","+otherKey), mustToken(t, mustCodec("user", oldKey), 5), "no key of domain")
}
