//go:build !race

package publicid_test

import (
	"testing"

	"github.com/sqlflake/sqlflake/snowflake"
	"github.com/sqlflake/sqlflake/sqltypes/publicid"
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
				for b.Loop() {
					run()
				}
			})
		}
	}
}

func TestReadingAndWritingTokensDoesNotAllocate(t *testing.T) {
	runs := map[string]func(){}
	for _, f := range forms {
		codec := f.codec(newKey + "," + oldKey)
		token, old := mustToken(t, codec, number), mustToken(t, f.codec(oldKey), number)
		runs["Parse in "+f.name] = func() { keepID, keepErr = codec.Parse(token) }
		runs["Parse with an old key in "+f.name] = func() { keepID, keepErr = codec.Parse(old) }
		runs["Decrypt in "+f.name] = func() { keepID, _, keepErr = codec.Decrypt(token) }
		runs["1 Token in "+f.name] = func() { token, keepErr = codec.Token(number) }
	}
	id := userID(number)
	text, quoted := []byte(id.String()), []byte(`"`+id.String()+`"`)
	var column any = int64(number)
	runs["1 MarshalText"] = func() { keepBytes, keepErr = id.MarshalText() }
	inUUID := publicid.IDFrom[uuidKind](number)
	runs["1 MarshalText of a UUID"] = func() { keepBytes, keepErr = inUUID.MarshalText() }
	runs["UnmarshalText"] = func() { keepErr = id.UnmarshalText(text) }
	runs["UnmarshalJSON"] = func() { keepErr = id.UnmarshalJSON(quoted) }
	runs["Scan"] = func() { keepErr = id.Scan(column) }
	for name, run := range runs {
		want := 0.0
		if name[0] == '1' { // that of the text
			want = 1
		}
		if n := testing.AllocsPerRun(1000, run); n > want || keepErr != nil || id.SnowflakeID() != number {
			t.Errorf("%s: %v allocations, want %v; error %v", name, n, want, keepErr)
		}
	}
}
