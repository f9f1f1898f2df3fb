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
