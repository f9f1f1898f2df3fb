package sqltypes_test

import (
	"bytes"
	"cmp"
	"strings"
	"testing"

	"github.com/google/uuid"

	"github.com/sqlflake/sqlflake/sqltypes"
)

func FuzzUUID(f *testing.F) {
	f.Fuzz(func(t *testing.T, column string, number, other int64) {
		if len(column) != 16 { // 16 bytes, which Value does not write
			fuzzColumn[sqltypes.UUID](t, strings.ToLower(column), number)
		}
		fuzzOutside[sqltypes.UUID](t, column)
		if number < 0 || other < 0 {
			return
		}
		a, b := sqltypes.UUID(number), sqltypes.UUID(other)
		first, second := a.UUID(), b.UUID()
		if bytes.Compare(first[:], second[:]) != cmp.Compare(a, b) {
			t.Fatalf("%s and %s are not in the order of %d and %d", first, second, a, b)
		}
	})
}

// A UUID is read exactly or rejected.
func FuzzUUIDBytes(f *testing.F) {
	f.Fuzz(func(t *testing.T, column []byte) {
		read := sqltypes.UUID(42)
		err := read.Scan(column)
		if err != nil && read != 0 {
			t.Fatalf("Scan(%x) left %d after %v", column, read, err)
		}
		raw, parseErr := uuid.FromBytes(column)
		if parseErr != nil {
			return
		}
		from := sqltypes.UUID(42)
		if fromErr := from.Scan(raw); from != read || (fromErr == nil) != (err == nil) {
			t.Fatalf("Scan(%x) = %d, %v, of a uuid.UUID %d, %v", column, read, err, from, fromErr)
		}
		if err == nil && read.UUID() != raw {
			t.Fatalf("Scan(%x) = %d, whose UUID is %s", column, read, read.UUID())
		}
	})
}
