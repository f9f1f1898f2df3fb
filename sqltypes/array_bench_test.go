package sqltypes_test

import (
	"testing"

	"github.com/sqlflake/sqlflake/snowflake"
	"github.com/sqlflake/sqlflake/sqltypes"
)

// thousandIDs are of the length that IDs have for most of an epoch.
func thousandIDs() sqltypes.Array {
	ids := make(sqltypes.Array, 1000)
	for i := range ids {
		ids[i] = 1234567890123456789 + snowflake.ID(i)<<12
	}
	return ids
}

func BenchmarkArrayValue(b *testing.B) {
	ids := thousandIDs()
	b.ReportAllocs()
	for b.Loop() {
		if _, err := ids.Value(); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkArrayScan(b *testing.B) {
	ids := thousandIDs()
	text := string(arrayText(ids))
	for name, src := range map[string]any{"text": text, "bytes": []byte(text), "binary": binaryImage(ids)} {
		b.Run(name, func(b *testing.B) {
			var target sqltypes.Array
			b.ReportAllocs()
			for b.Loop() {
				if err := target.Scan(src); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// arrayText is the text of an Array that is not NULL.
func arrayText(array sqltypes.Array) []byte {
	value, _ := array.Value()
	text, _ := value.(string)
	return []byte(text)
}

func TestArrayOf1000IDsTakesFewAllocations(t *testing.T) {
	if raceEnabled {
		t.Skip("the race detector allocates")
	}
	ids := thousandIDs()
	text := string(arrayText(ids))
	bytes, image := any([]byte(text)), any(binaryImage(ids))
	var target sqltypes.Array
	for name, test := range map[string]struct {
		limit float64
		run   func() error
	}{
		"Value":       {3, func() error { _, err := ids.Value(); return err }}, // buffer, string, interface
		"Scan text":   {1, func() error { return target.Scan(any(text)) }},
		"Scan bytes":  {2, func() error { return target.Scan(bytes) }}, // a copy as a string
		"Scan binary": {1, func() error { return target.Scan(image) }},
	} {
		got := testing.AllocsPerRun(10, func() {
			if err := test.run(); err != nil {
				t.Fatal(err)
			}
		})
		if got > test.limit {
			t.Errorf("%s: %v allocations, want at most %v", name, got, test.limit)
		}
	}
}
