package sqltypes_test

import (
	"database/sql/driver"
	"testing"

	"github.com/sqlflake/sqlflake/snowflake"
	"github.com/sqlflake/sqlflake/sqltypes"
)

func BenchmarkStoredValue(b *testing.B) {
	b.Run("ID", benchmarkValue[snowflake.ID])
	b.Run("Text", benchmarkValue[sqltypes.Text])
	b.Run("Binary", benchmarkValue[sqltypes.Binary])
	b.Run("UUID", benchmarkValue[sqltypes.UUID])
}

func benchmarkValue[T interface {
	~int64
	driver.Valuer
}](b *testing.B) {
	b.ReportAllocs()
	id := T(int64(1234567890123456789))
	for b.Loop() {
		if _, err := id.Value(); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkStoredScan(b *testing.B) {
	b.Run("Text", benchmarkScan[sqltypes.Text])
	b.Run("Binary", benchmarkScan[sqltypes.Binary])
	b.Run("UUID", benchmarkScan[sqltypes.UUID])
}

func benchmarkScan[T storedValue, P storedPointer[T]](b *testing.B) {
	value, err := T(int64(1234567890123456789)).Value()
	if err != nil {
		b.Fatal(err)
	}
	var text, raw any = toString(value), []byte(toString(value))
	for name, src := range map[string]any{"string": text, "bytes": raw} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			var got T
			for b.Loop() {
				if err := P(&got).Scan(src); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
