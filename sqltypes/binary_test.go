package sqltypes_test

import (
	"bytes"
	"errors"
	"math"
	"testing"

	"github.com/sqlflake/sqlflake/snowflake"
	"github.com/sqlflake/sqlflake/sqltypes"
)

func TestBinaryIsBigEndianInTheColumn(t *testing.T) {
	for id, want := range map[snowflake.ID]string{
		0:                  "\x00\x00\x00\x00\x00\x00\x00\x00",
		0x0123456789ABCDEF: "\x01\x23\x45\x67\x89\xAB\xCD\xEF",
		math.MaxInt64:      "\x7F\xFF\xFF\xFF\xFF\xFF\xFF\xFF",
		math.MinInt64:      "\x80\x00\x00\x00\x00\x00\x00\x00",
	} {
		value, err := sqltypes.Binary(id).Value()
		if raw, ok := value.([]byte); !ok || string(raw) != want || err != nil {
			t.Errorf("Value of %d = %T %x, %v, want %x", id, value, value, err, want)
		}
	}
}

func TestBinaryRefusesOtherLengths(t *testing.T) {
	for _, src := range []string{"", "1234567", "123456789", `\x0123456789abcdef`, "0123456789abcdef", "175928847299117063"} {
		for _, src := range []any{src, []byte(src)} {
			binary := sqltypes.Binary(42)
			if err := binary.Scan(src); !errors.Is(err, snowflake.ErrSyntax) || binary != 0 {
				t.Errorf("Scan(%T %q) = %d, %v, want 0 and %v", src, src, binary, err, snowflake.ErrSyntax)
			}
		}
	}
	var binary sqltypes.Binary
	want := `snowflake: []byte "\x00\x01" is not an ID: want 8 bytes, got 2`
	if err := binary.Scan([]byte{0, 1}); err == nil || err.Error() != want {
		t.Errorf("error %v, want %s", err, want)
	}
}

// Drivers reuse the slice that they pass to Scan, and may keep the slice of Value.
func TestBinarySharesNoMemory(t *testing.T) {
	var binary sqltypes.Binary
	raw := []byte{0, 0, 0, 0, 0, 0, 0, 5}
	if err := binary.Scan(raw); err != nil {
		t.Fatal(err)
	}
	first, err := binary.Value()
	if err != nil {
		t.Fatal(err)
	}
	clear(raw)
	clear(first.([]byte))
	second, err := binary.Value()
	if err != nil || binary != 5 || !bytes.Equal(second.([]byte), []byte{0, 0, 0, 0, 0, 0, 0, 5}) {
		t.Errorf("now it is %d, and its value %x, %v", binary, second, err)
	}
}
