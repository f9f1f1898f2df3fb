package sqltypes_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/sqlflake/sqlflake/snowflake"
	"github.com/sqlflake/sqlflake/sqltypes"
	"github.com/sqlflake/sqlflake/sqltypes/uuidkey"
)

// Scan reads nothing else than what Value writes.
func FuzzColumn(f *testing.F) {
	for _, column := range []string{
		"", "null", "12345678", "G000000000000", "ffffffff-ffff-ffff-ffff-ffffffffffff", "g1234567-89ab-8cde-be00-000000000000",
		"urn:uuid:01234567-89ab-8cde-be00-000000000000", "2c5ea4c0-4067-41e9-8bad-9b1deb4d3b7d",
	} {
		f.Add(column)
	}

	f.Fuzz(func(t *testing.T, column string) {
		fuzzColumn[sqltypes.Text](t, column)
		if len(column) != 16 { // 16 bytes, which Value does not write
			fuzzColumn[uuidkey.ID](t, strings.ToLower(column))
		}
		// Outside of the column a Text is read as an ID is.
		text, id := sqltypes.Text(42), snowflake.ID(42)
		err, want := text.UnmarshalJSON([]byte(column)), id.UnmarshalJSON([]byte(column))
		if (err == nil) != (want == nil) || err == nil && text != sqltypes.Text(id) || err != nil && text != 0 {
			t.Fatalf("UnmarshalJSON(%s) = %d, %v, want %d, %v", column, text, err, id, want)
		}
	})
}

// fuzzColumn checks that Value writes what Scan has read.
func fuzzColumn[T idValue, P idPointer[T]](t *testing.T, column string) {
	t.Helper()
	for _, src := range []any{column, []byte(column)} {
		v := T(42)
		if err := P(&v).Scan(src); err != nil {
			if v != 0 {
				t.Fatalf("Scan(%T %q) left %d after %v", src, src, v, err)
			}
			continue
		}
		if value, err := v.Value(); err != nil || columnText(value) != column {
			t.Fatalf("Scan(%T %q) = %d, whose Value is %q, %v", src, src, v, value, err)
		}
	}
}

// checkArray checks that a result is nil on an error, and otherwise is written in a form that is read as the same.
func checkArray(t *testing.T, array idArray, err error) {
	t.Helper()
	if err != nil {
		if array != nil {
			t.Fatalf("%v left %v", err, array)
		}
		return
	}

	value, err := array.Value()
	noError(t, err)
	if again, err := scanArray(value); err != nil || !sameArray(again, array) {
		t.Fatalf("%#v is written as %v and read as %#v, %v", array, value, again, err)
	}

	if array == nil {
		return
	}

	if again, err := scanArray(binaryImage(array)); err != nil || !sameArray(again, array) {
		t.Fatalf("the image of %#v is read as %#v, %v", array, again, err)
	}
}

// An image of int8 that is read is the image that PostgreSQL sends, except for the flag, the first subscript and the
// form of an empty array.
func FuzzArrayBinary(f *testing.F) {
	for _, image := range [][]byte{
		nil, words(1, 0, 0)[:9], words(0, 0, int8OID), words(1, 0, int8OID, 1), words(1, 0, int8OID, math.MaxInt32, 1),
		binaryArray(int4OID, element(words(-5))),
		binaryArray(int8OID, int8Element(math.MaxInt64), int8Element(math.MinInt64)), binaryArray(int8OID, words(-1)),
		binaryArray(int8OID, int8Element(7), []byte{0}), binaryArray(1700, int8Element(1)), words(2, 0, int8OID, 1, 1, 1, 1),
	} {
		f.Add(image)
	}

	f.Fuzz(func(t *testing.T, image []byte) {
		before := bytes.Clone(image)
		array, err := scanArray(image)
		checkArray(t, array, err)
		if !bytes.Equal(image, before) {
			t.Fatal("Scan changed its source")
		}

		if err != nil || len(array) == 0 || image[0] != 0 || !bytes.Equal(image[8:12], words(int8OID)) {
			return
		}

		want := binaryImage(array)
		copy(want[4:8], image[4:8])     // the flag
		copy(want[16:20], image[16:20]) // the first subscript
		if !bytes.Equal(image, want) {
			t.Fatalf("%x is read as %v, whose image is %x", image, array, want)
		}
	})
}

// wantOneReason fails unless the error matches exactly one of the sentinels of readers.
func wantOneReason(t *testing.T, what string, err error) {
	t.Helper()
	n := 0
	for _, reason := range []error{snowflake.ErrSyntax, snowflake.ErrRange, snowflake.ErrType, sqltypes.ErrPrefix} {
		if errors.Is(err, reason) {
			n++
		}
	}
	if n != 1 || len(err.Error()) > 400 {
		t.Fatalf("%s: error %v has %d reasons, want one", what, err, n)
	}
}

// Text is read if and only if the ID prints it, and all readers agree with ParseTyped.
func FuzzTyped(f *testing.F) {
	for _, text := range []string{
		"user_G000000000000", "175928847299117063", "user_04W86BB0G4007", strings.Repeat("a", 64) + "_04W86BB0G4007",
		"user_user_04W86BB0G4007", "USER_04W86BB0G4007",
	} {
		f.Add(text, int64(175928847299117063))
	}
	f.Fuzz(func(t *testing.T, text string, number int64) {
		parsed, err := sqltypes.ParseTyped[userKind](text)
		if err == nil && parsed.String() != text {
			t.Fatalf("%q is read as %d, which prints %q", text, parsed, parsed)
		}
		if err != nil {
			wantOneReason(t, "ParseTyped", err)
		}
		// Package snowflake has the reference.
		id, idErr := snowflake.ParseBase32(strings.TrimPrefix(text, "user_"))
		if ok := idErr == nil && strings.HasPrefix(text, "user_"); ok != (err == nil) || ok && id != parsed.SnowflakeID() {
			t.Fatalf("%q is read as %d, %v, by ParseBase32 as %d, %v", text, parsed, err, id, idErr)
		}
		if errors.Is(err, sqltypes.ErrPrefix) {
			if _, err := snowflake.ParseBase32(text[strings.LastIndexByte(text, '_')+1:]); err != nil {
				t.Fatalf("%q is called an ID of another kind, but %v", text, err)
			}
		}

		fromText, fromParam := userID(42), userID(42)
		textErr, paramErr := fromText.UnmarshalText([]byte(text)), fromParam.UnmarshalParam(text)
		if fromText != parsed || fromParam != parsed || (textErr == nil) != (err == nil) || (paramErr == nil) != (err == nil) {
			t.Fatalf("%q is read as %d, %d, %d: %v, %v, %v", text, parsed, fromText, fromParam, err, textErr, paramErr)
		}

		for _, src := range []any{text, []byte(text)} { // a column is read as an ID reads it
			id, column := snowflake.ID(0), userID(42)
			want, err := id.Scan(src), column.Scan(src)
			if (err == nil) != (want == nil) || column != userID(id) {
				t.Fatalf("Scan(%T %q) = %d, %v, of an ID %d, %v", src, text, column, err, id, want)
			}
		}

		want := userID(number)
		if less := want.String() < userID(number/2).String(); number > 0 && less {
			t.Fatalf("%s sorts before that of half of it", want)
		}
	})
}

func FuzzTypedJSON(f *testing.F) {
	for _, text := range []string{
		"", "null", `["user_04W86BB0G4007"]`, `"user\x04W86BB0G4007"`, `"175928847299117063"`, `"user\u005f04W86BB0G4007"`,
		`"user_04W86BB0G4007"`, `"order_04W86BB0G4007"`, `"user_04W86BB0G4007" `,
	} {
		f.Add([]byte(text))
	}

	f.Fuzz(func(t *testing.T, data []byte) {
		id := userID(42)
		err := id.UnmarshalJSON(data)
		if string(data) == "null" {
			if id != 42 || err != nil {
				t.Fatalf("UnmarshalJSON(null) = %d, %v", id, err)
			}
			return
		}

		if err != nil {
			wantOneReason(t, "UnmarshalJSON", err)
			if id != 0 {
				t.Fatalf("UnmarshalJSON left %d after %v", id, err)
			}
			return
		}

		text := string(data)
		if text[0] == '"' && json.Unmarshal(data, &text) != nil {
			t.Fatalf("%q is read as %d", data, id)
		}

		if text != id.String() {
			t.Fatalf("%q is read as %d, which prints %q", data, id, id)
		}
	})
}
