package sqltypes_test

import (
	"database/sql/driver"
	"encoding/json"
	"math/rand/v2"
	"testing"

	"github.com/sqlflake/sqlflake/snowflake"
)

// keep holds results, so that the compiler does not drop the calls that are measured.
var keep struct {
	id    snowflake.ID
	typed userID
	bytes []byte
	text  string
	value driver.Value
}

// benchmarkIDs are IDs of 18 and 19 digits, as they come some years after an epoch, and the same as IDs of users.
func benchmarkIDs() (ids [1024]snowflake.ID, typed [1024]userID) {
	random := rand.New(rand.NewPCG(1, 2))
	for i := range ids {
		ids[i] = snowflake.ID(1e17 + random.Int64N(9e18))
		typed[i] = userID(ids[i])
	}
	return ids, typed
}

// The subjects call the methods directly and not through an interface, so that inlining is as in a program.

func BenchmarkTypedValue(b *testing.B) {
	ids, typed := benchmarkIDs()
	takeTurns(b,
		subject{"ID", func(n int) {
			for i := range n {
				keep.value, _ = ids[i%1024].Value()
			}
		}},
		subject{"Typed", func(n int) {
			for i := range n {
				keep.value, _ = typed[i%1024].Value()
			}
		}},
	)
}

func BenchmarkTypedAppendText(b *testing.B) {
	ids, typed := benchmarkIDs()
	takeTurns(b,
		subject{"ID", func(n int) {
			buf := make([]byte, 0, 40)
			for i := range n {
				buf, _ = ids[i%1024].AppendText(buf[:0])
			}
			keep.bytes = buf
		}},
		subject{"Typed", func(n int) {
			buf := make([]byte, 0, 40)
			for i := range n {
				buf, _ = typed[i%1024].AppendText(buf[:0])
			}
			keep.bytes = buf
		}},
	)
}

func BenchmarkTypedString(b *testing.B) {
	ids, typed := benchmarkIDs()
	takeTurns(b,
		subject{"ID", func(n int) {
			for i := range n {
				keep.text = ids[i%1024].String()
			}
		}},
		subject{"Typed", func(n int) {
			for i := range n {
				keep.text = typed[i%1024].String()
			}
		}},
	)
}

func BenchmarkTypedScan(b *testing.B) {
	takeTurns(b,
		subject{"ID", func(n int) {
			for i := range n {
				_ = keep.id.Scan(int64(i))
			}
		}},
		subject{"Typed", func(n int) {
			for i := range n {
				_ = keep.typed.Scan(int64(i))
			}
		}},
	)
}

// MySQL sends numbers as text when a query has no parameters.
func BenchmarkTypedScanBytes(b *testing.B) {
	ids, _ := benchmarkIDs()
	var columns [1024][]byte
	for i, id := range ids {
		columns[i], _ = id.MarshalText()
	}
	takeTurns(b,
		subject{"ID", func(n int) {
			for i := range n {
				_ = keep.id.Scan(columns[i%1024])
			}
		}},
		subject{"Typed", func(n int) {
			for i := range n {
				_ = keep.typed.Scan(columns[i%1024])
			}
		}},
	)
}

func BenchmarkTypedUnmarshalText(b *testing.B) {
	ids, typed := benchmarkIDs()
	var texts, typedTexts [1024][]byte
	for i := range ids {
		texts[i], _ = ids[i].MarshalText()
		typedTexts[i], _ = typed[i].MarshalText()
	}
	takeTurns(b,
		subject{"ID", func(n int) {
			for i := range n {
				_ = keep.id.UnmarshalText(texts[i%1024])
			}
		}},
		subject{"Typed", func(n int) {
			for i := range n {
				_ = keep.typed.UnmarshalText(typedTexts[i%1024])
			}
		}},
	)
}

// benchmarkRecord is a row as an API returns it.
type benchmarkRecord[T any] struct {
	ID, Parent, Owner T
	Name              string
}

func benchmarkRecords() (benchmarkRecord[snowflake.ID], benchmarkRecord[userID]) {
	return benchmarkRecord[snowflake.ID]{1234567890123456789, 1234567890123456780, 987654321098765432, "alice"},
		benchmarkRecord[userID]{1234567890123456789, 1234567890123456780, 987654321098765432, "alice"}
}

func BenchmarkTypedMarshalJSON(b *testing.B) {
	record, typed := benchmarkRecords()
	takeTurns(b,
		subject{"ID", func(n int) {
			for range n {
				keep.bytes, _ = json.Marshal(record)
			}
		}},
		subject{"Typed", func(n int) {
			for range n {
				keep.bytes, _ = json.Marshal(typed)
			}
		}},
	)
}

func BenchmarkTypedUnmarshalJSON(b *testing.B) {
	record, typed := benchmarkRecords()
	text, _ := json.Marshal(record)
	typedText, _ := json.Marshal(typed)
	takeTurns(b,
		subject{"ID", func(n int) {
			for range n {
				_ = json.Unmarshal(text, &record)
			}
		}},
		subject{"Typed", func(n int) {
			for range n {
				_ = json.Unmarshal(typedText, &typed)
			}
		}},
	)
}
