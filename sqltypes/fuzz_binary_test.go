package sqltypes_test

import (
	"testing"

	"github.com/sqlflake/sqlflake/sqltypes"
)

// A Binary is any 8 bytes.
func FuzzBinary(f *testing.F) {
	f.Fuzz(func(t *testing.T, column []byte, number int64) {
		fuzzColumn[sqltypes.Binary](t, string(column), number)
		fuzzOutside[sqltypes.Binary](t, string(column))
		var binary sqltypes.Binary
		if err := binary.Scan(column); (err == nil) != (len(column) == 8) {
			t.Fatalf("Scan of %d bytes: %v", len(column), err)
		}
	})
}
