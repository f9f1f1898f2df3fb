package snowflake_test

import (
	"encoding/json"
	"math/rand/v2"
	"strconv"
	"testing"

	"github.com/sqlflake/sqlflake/snowflake"
)

// benchmarkIDs are IDs of 18 and 19 digits, as they come some years after an epoch.
func benchmarkIDs() [1024]snowflake.ID {
	random := rand.New(rand.NewPCG(1, 2))
	var ids [1024]snowflake.ID
	for i := range ids {
		ids[i] = snowflake.ID(1e17 + random.Int64N(9e18))
	}
	return ids
}

// keepID and keepBytes hold results, so that the compiler does not drop the calls that are measured.
var (
	keepID    snowflake.ID
	keepBytes []byte
)

// The subjects call their functions directly and not through a table, so that inlining is as in a program.

func BenchmarkParse(b *testing.B) {
	var (
		texts [1024]string
		raw   [1024][]byte
	)
	for i, id := range benchmarkIDs() {
		texts[i] = id.String()
		raw[i] = []byte(texts[i])
	}
	takeTurns(b,
		subject{"strconv", func(n int) {
			for i := range n {
				v, _ := strconv.ParseInt(texts[i%1024], 10, 64)
				keepID ^= snowflake.ID(v)
			}
		}},
		subject{"Parse", func(n int) {
			for i := range n {
				id, _ := snowflake.Parse(texts[i%1024])
				keepID ^= id
			}
		}},
		subject{"ScanString", func(n int) {
			var id snowflake.ID
			for i := range n {
				_ = id.Scan(texts[i%1024])
				keepID ^= id
			}
		}},
		subject{"ScanBytes", func(n int) {
			var id snowflake.ID
			for i := range n {
				_ = id.Scan(raw[i%1024])
				keepID ^= id
			}
		}},
		subject{"ScanInt64", func(n int) {
			var id snowflake.ID
			for i := range n {
				_ = id.Scan(int64(i))
				keepID ^= id
			}
		}},
	)
}

func BenchmarkAppendText(b *testing.B) {
	ids := benchmarkIDs()
	takeTurns(b,
		subject{"strconv", func(n int) {
			buf := make([]byte, 0, 32)
			for i := range n {
				buf = strconv.AppendInt(buf[:0], int64(ids[i%1024]), 10)
			}
			keepBytes = buf
		}},
		subject{"AppendText", func(n int) {
			buf := make([]byte, 0, 32)
			for i := range n {
				buf, _ = ids[i%1024].AppendText(buf[:0])
			}
			keepBytes = buf
		}},
	)
}

// benchmarkRecord is a row as an API returns it.
type benchmarkRecord[T any] struct {
	ID, Parent, Owner T
	Name              string
}

func BenchmarkJSON(b *testing.B) {
	record := benchmarkRecord[snowflake.ID]{1234567890123456789, 1234567890123456780, 987654321098765432, "alice"}
	numbers := benchmarkRecord[int64]{1234567890123456789, 1234567890123456780, 987654321098765432, "alice"}
	text, _ := json.Marshal(record)
	numberText, _ := json.Marshal(numbers)
	marshal := func(name string, v any) subject {
		return subject{name, func(n int) {
			for range n {
				keepBytes, _ = json.Marshal(v)
			}
		}}
	}
	unmarshal := func(name string, text []byte, v any) subject {
		return subject{name, func(n int) {
			for range n {
				_ = json.Unmarshal(text, v)
			}
		}}
	}
	b.Run("Marshal", func(b *testing.B) { takeTurns(b, marshal("int64", &numbers), marshal("ID", &record)) })
	b.Run("Unmarshal", func(b *testing.B) {
		takeTurns(b, unmarshal("int64", numberText, &numbers), unmarshal("ID", text, &record))
	})
}
