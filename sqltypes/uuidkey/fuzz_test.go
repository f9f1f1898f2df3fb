package uuidkey_test

import (
	"testing"

	"github.com/google/uuid"

	"github.com/sqlflake/sqlflake/snowflake"
	"github.com/sqlflake/sqlflake/sqltypes/uuidkey"
)

// A UUID is read exactly or rejected.
func FuzzBytes(f *testing.F) {
	f.Add([]byte("\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff"))
	f.Add([]byte{})
	f.Add([]byte("\x01#Eg\x89\xab\x8c\xde\xbe\x00\x00\x00\x00\x00\x00\x00"))
	f.Add([]byte("01234567-89ab-8cde-be00-000000000000"))
	f.Add([]byte(",^\xa4\xc0@gA\xe9\x8b\xad\x9b\x1d\xebM;}")) // a version 4
	f.Fuzz(func(t *testing.T, column []byte) {
		read := uuidkey.ID(42)
		err := read.Scan(column)
		if err != nil && read != 0 {
			t.Fatalf("Scan(%x) left %d after %v", column, read, err)
		}
		raw, parseErr := uuid.FromBytes(column)
		if parseErr != nil {
			return
		}
		from := uuidkey.ID(42)
		if fromErr := from.Scan(raw); from != read || (fromErr == nil) != (err == nil) {
			t.Fatalf("Scan(%x) = %d, %v, of a uuid.UUID %d, %v", column, read, err, from, fromErr)
		}
		if err == nil && uuidkey.UUID(snowflake.ID(read)) != raw {
			t.Fatalf("Scan(%x) = %d, whose UUID is %s", column, read, uuidkey.UUID(snowflake.ID(read)))
		}
	})
}
