//go:build !race

package publicid_test

import (
	"testing"

	"github.com/sqlflake/sqlflake/snowflake"
)

// These hold results, so that the compiler does not drop the calls that are measured.
var (
	keepID    snowflake.ID
	keepBytes []byte
	keepErr   error
)

func BenchmarkCodec(b *testing.B) {
	codec := mustCodec("user", newKey+","+oldKey)
	token, old := mustToken(b, codec, number), mustToken(b, mustCodec("user", oldKey), number)
	for name, run := range map[string]func(){
		"Token":            func() { _, keepErr = codec.Token(number) },
		"Parse/first-key":  func() { keepID, keepErr = codec.Parse(token) },
		"Parse/second-key": func() { keepID, keepErr = codec.Parse(old) },
	} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				run()
			}
		})
	}
}

func TestReadingAndWritingTokensDoesNotAllocate(t *testing.T) {
	codec := mustCodec("user", newKey+","+oldKey)
	token, old := mustToken(t, codec, number), mustToken(t, mustCodec("user", oldKey), number)
	id := userID(number)
	text, quoted := []byte(id.String()), []byte(`"`+id.String()+`"`)
	var column any = int64(number)
	for name, run := range map[string]func(){
		"Parse":                 func() { keepID, keepErr = codec.Parse(token) },
		"Parse with an old key": func() { keepID, keepErr = codec.Parse(old) },
		"Decrypt":               func() { keepID, _, keepErr = codec.Decrypt(token) },
		"1 Token":               func() { token, keepErr = codec.Token(number) },
		"1 MarshalText":         func() { keepBytes, keepErr = id.MarshalText() },
		"UnmarshalText":         func() { keepErr = id.UnmarshalText(text) },
		"UnmarshalJSON":         func() { keepErr = id.UnmarshalJSON(quoted) },
		"Scan":                  func() { keepErr = id.Scan(column) },
	} {
		want := 0.0
		if name[0] == '1' { // that of the text
			want = 1
		}
		if n := testing.AllocsPerRun(1000, run); n > want || keepErr != nil || id.SnowflakeID() != number {
			t.Errorf("%s: %v allocations, want %v; error %v", name, n, want, keepErr)
		}
	}
}
