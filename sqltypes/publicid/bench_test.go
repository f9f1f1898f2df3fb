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
	for _, f := range forms {
		codec := f.codec(newKey + "," + oldKey)
		token, old := mustToken(b, codec, number), mustToken(b, f.codec(oldKey), number)
		for name, run := range map[string]func(){
			"Token":            func() { _, keepErr = codec.Token(number) },
			"Parse/first-key":  func() { keepID, keepErr = codec.Parse(token) },
			"Parse/second-key": func() { keepID, keepErr = codec.Parse(old) },
		} {
			b.Run(f.name+"/"+name, func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					run()
				}
			})
		}
	}
}

func TestReadingAndWritingTokensDoesNotAllocate(t *testing.T) {
	if raceEnabled {
		t.Skip("the race detector allocates on its own")
	}
	eachForm(t, func(t *testing.T, f form) {
		codec := f.codec(newKey + "," + oldKey)
		token, old := mustToken(t, codec, number), mustToken(t, f.codec(oldKey), number)
		for name, run := range map[string]func(){
			"Parse":                 func() { keepID, keepErr = codec.Parse(token) },
			"Parse with an old key": func() { keepID, keepErr = codec.Parse(old) },
			"Decrypt":               func() { keepID, _, keepErr = codec.Decrypt(token) },
		} {
			if n := testing.AllocsPerRun(1000, run); n != 0 || keepErr != nil {
				t.Errorf("%s: %v allocations, want 0; error %v", name, n, keepErr)
			}
		}
		if n := testing.AllocsPerRun(1000, func() { token, _ = codec.Token(number) }); n > 1 {
			t.Errorf("Token: %v allocations, want that of the text", n)
		}
	})

	id := userID(number)
	text, quoted := []byte(id.String()), []byte(`"`+id.String()+`"`)
	var column any = int64(number)
	buf := make([]byte, 0, 32)
	for name, run := range map[string]func(){
		"AppendText":    func() { buf, keepErr = id.AppendText(buf[:0]) },
		"UnmarshalText": func() { keepErr = id.UnmarshalText(text) },
		"UnmarshalJSON": func() { keepErr = id.UnmarshalJSON(quoted) },
		"Scan":          func() { keepErr = id.Scan(column) },
	} {
		if n := testing.AllocsPerRun(1000, run); n != 0 || keepErr != nil || id.SnowflakeID() != number {
			t.Errorf("%s of an ID: %v allocations, want 0; error %v", name, n, keepErr)
		}
	}
	if n := testing.AllocsPerRun(1000, func() { keepBytes, keepErr = id.MarshalText() }); n > 1 {
		t.Errorf("MarshalText: %v allocations, want that of the text", n)
	}
}
