package sqltypes_test

import (
	"encoding/json"
	"testing"

	"github.com/sqlflake/sqlflake/snowflake"
)

// keep holds results, so that the compiler does not drop the calls that are measured.
var keep struct {
	typed userID
	bytes []byte
	text  string
}

// row is a row of an API with three IDs.
type row[T any] struct {
	ID, Parent, Owner T
	Name              string
}

func BenchmarkTypedJSON(b *testing.B) {
	b.Run("ID", benchmarkJSON[snowflake.ID])
	b.Run("Typed", benchmarkJSON[userID])
}

func benchmarkJSON[T ~int64](b *testing.B) {
	record := row[T]{1234567890123456789, 1234567890123456780, 987654321098765432, "alice"}
	text, err := json.Marshal(record)
	if err != nil {
		b.Fatal(err)
	}
	b.Run("Marshal", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			keep.bytes, _ = json.Marshal(record)
		}
	})
	b.Run("Unmarshal", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			_ = json.Unmarshal(text, &record)
		}
	})
}

func BenchmarkTypedUnmarshalText(b *testing.B) {
	text := []byte(userID(1234567890123456789).String())
	for b.Loop() {
		_ = keep.typed.UnmarshalText(text)
	}
}
