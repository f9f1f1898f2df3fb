package sqltypes_test

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/sqlflake/sqlflake/snowflake"
	"github.com/sqlflake/sqlflake/sqltypes"
)

// checkArray checks that a result is nil on an error, and otherwise is written in a form that is read as the same.
func checkArray(t *testing.T, array sqltypes.Array, err error) {
	t.Helper()
	if err != nil {
		if array != nil {
			t.Fatalf("%v left %v", err, array)
		}
		return
	}
	value, err := array.Value()
	if err != nil {
		t.Fatal(err)
	}
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

// Text that is read is written the same, except for the bounds.
func FuzzArrayText(f *testing.F) {
	f.Fuzz(func(t *testing.T, text string) {
		array, err := scanArray(text)
		checkArray(t, array, err)
		fromBytes, bytesErr := scanArray([]byte(text))
		if !sameArray(array, fromBytes) || (err == nil) != (bytesErr == nil) {
			t.Fatalf("a string is read as %#v, %v, its bytes as %#v, %v", array, err, fromBytes, bytesErr)
		}
		if err != nil || text[0] == 0 {
			return
		}
		if text[0] == '[' {
			_, text, _ = strings.Cut(text, "=")
		}
		if value, _ := array.Value(); value != text {
			t.Fatalf("%q is read and written as %v", text, value)
		}
	})
}

// An image of int8 that is read is the image that PostgreSQL sends, except for the flag, the first subscript and the
// form of an empty array.
func FuzzArrayBinary(f *testing.F) {
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

// An Array reads what a slice of IDs reads, except for null elements.
func FuzzArrayJSON(f *testing.F) {
	f.Fuzz(func(t *testing.T, data []byte) {
		array := staleArray()
		err := array.UnmarshalJSON(data)
		checkArray(t, array, err)
		var pointers []*snowflake.ID
		want := json.Unmarshal(data, &pointers) == nil
		for _, pointer := range pointers {
			want = want && pointer != nil
		}
		// encoding/json removes spaces before it calls UnmarshalJSON.
		if trimmed := bytes.TrimSpace(data); len(trimmed) == len(data) && want != (err == nil) {
			t.Fatalf("read %v, %v, but a slice of pointers is %v", array, err, pointers)
		}
		for i, id := range array {
			if id != *pointers[i] {
				t.Fatalf("read %v, want %d at index %d", array, *pointers[i], i)
			}
		}
	})
}
