package uuidkey_test

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/google/uuid"

	"github.com/sqlflake/sqlflake/snowflake"
	"github.com/sqlflake/sqlflake/sqltypes/uuidkey"
)

// driverForms returns a UUID in all forms that Scan takes.
func driverForms(u uuid.UUID) []any {
	return []any{u.String(), []byte(u.String()), strings.ToUpper(u.String()), u, [16]byte(u), u[:]}
}

// The vectors of docs/spec have the bits of others; these are in none of them.
func TestUUIDHasTheDocumentedBitsAndIsReadInEveryFormOfADriver(t *testing.T) {
	for id, want := range map[uuidkey.ID]string{
		0:                  "00000000-0000-8000-8200-000000000000",
		0x0123456789ABCDEF: "01234567-89ab-8cde-be00-000000000000",
		math.MaxInt64:      "7fffffff-ffff-8fff-be00-000000000000",
	} {
		if got, err := id.Value(); got != want || err != nil {
			t.Errorf("Value of %#x = %v, %v, want %s", int64(id), got, err, want)
		}
		for _, src := range driverForms(uuid.MustParse(want)) {
			read := uuidkey.ID(42)
			if err := read.Scan(src); read != id || err != nil {
				t.Errorf("Scan(%T %v) = %d, %v, want %d", src, src, read, err, id)
			}
		}
	}
}

// With any bit changed it is the UUID of another ID, or rejected.
func TestUUIDRejectsEveryBitOutsideOfTheID(t *testing.T) {
	for _, id := range []snowflake.ID{0, 1234567890123456789, math.MaxInt64} {
		taken := 0
		for bit := range 128 {
			u := uuidkey.UUID(id)
			u[bit/8] ^= 0x80 >> (bit % 8)
			back := uuidkey.ID(42)
			err := back.Scan(u)
			switch {
			case err == nil && back != uuidkey.ID(id):
				taken++
			case !errors.Is(err, uuidkey.ErrForeign) || back != 0:
				t.Errorf("bit %d changed: %d, %v", bit, back, err)
			}
		}

		if taken != 63 {
			t.Errorf("%d of 128 bits belong to the ID, want 63", taken)
		}
	}
}

func TestUUIDRejectsForeignUUIDs(t *testing.T) {
	v7 := uuid.Must(uuid.NewV7())
	for text, version := range map[string]int{
		uuid.NewString(): 4, v7.String(): 7, uuid.Nil.String(): 0, uuid.Max.String(): 15,
		"80000000-0000-8000-8200-000000000000": 8, // the ID would be negative
		"ffffffff-ffff-8fff-be00-000000000000": 8,
		"01234567-89ab-8cde-be00-000000000001": 8, // other bits after the ID
		"01234567-89ab-8cde-bc00-000000000000": 8,
		"01234567-89ab-8cde-bf00-000000000000": 8,
		"01234567-89ab-8cde-7e00-000000000000": 8, // another variant
		"01234567-89ab-8cde-fe00-000000000000": 8,
	} {
		reason := fmt.Sprintf("its version is %d, want 8 with an ID, a 1 and zeros", version)
		u := uuid.MustParse(text)
		for _, src := range driverForms(u) {
			read := uuidkey.ID(42)
			err := read.Scan(src)
			var parse *snowflake.ParseError
			if !errors.Is(err, uuidkey.ErrForeign) || !errors.As(err, &parse) || read != 0 {
				t.Errorf("Scan(%T %s) = %d, %v, want 0 and %v", src, text, read, err, uuidkey.ErrForeign)
				continue
			}
			if parse.Reason != reason || parse.Input != text {
				t.Errorf("Scan(%T %s): %v, want the reason %s", src, text, err, reason)
			}
		}
	}
}

func TestNoUUIDIsWrittenForANegativeID(t *testing.T) {
	for _, id := range []uuidkey.ID{-1, math.MinInt64} {
		if value, err := id.Value(); value != nil || !errors.Is(err, snowflake.ErrRange) {
			t.Errorf("Value of %d = %v, %v, want ErrRange", int64(id), value, err)
		}
	}
}

func TestUUIDRejectsOtherText(t *testing.T) {
	text := uuidkey.UUID(5).String()
	for want, sources := range map[error][]any{
		snowflake.ErrSyntax: {
			"", "5", "175928847299117063", text[:35], text + " ", "{" + text + "}", "urn:uuid:" + text,
			strings.ReplaceAll(text, "-", ""), strings.Replace(text, "-", "0", 1), "g" + text[1:], string(make([]byte, 16)),
			make([]byte, 15), make([]byte, 17), []byte("{" + text + "}"),
		},
		snowflake.ErrType: {true, (*uuid.UUID)(nil)},
	} {
		for _, src := range sources {
			read := uuidkey.ID(42)
			if err := read.Scan(src); !errors.Is(err, want) || read != 0 {
				t.Errorf("Scan(%T %q) = %d, %v, want 0 and %v", src, src, read, err, want)
			}
		}
	}

	id := uuidkey.ID(42)
	want := `snowflake: string "5" is not an ID: want a UUID of 36 characters`
	if err := id.Scan("5"); err == nil || err.Error() != want || id.GormDataType() != "uuid" {
		t.Errorf("Scan: %v, want %s; GormDataType() = %q", err, want, id.GormDataType())
	}
}

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
