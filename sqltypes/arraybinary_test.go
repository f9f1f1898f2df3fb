package sqltypes_test

import (
	"encoding/binary"
	"errors"
	"math"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/sqlflake/sqlflake/snowflake"
)

// Numbers of PostgreSQL's types.
const (
	int8OID    = 20
	int2OID    = 21
	int4OID    = 23
	textOID    = 25
	varcharOID = 1043
)

// words are big-endian int4s, which make up the header of a binary array.
func words(values ...int32) []byte {
	var b []byte
	for _, value := range values {
		b = binary.BigEndian.AppendUint32(b, uint32(value))
	}
	return b
}

// element is one of a binary array, with its length.
func element(b []byte) []byte { return append(words(int32(len(b))), b...) }

func int8Element(id snowflake.ID) []byte {
	return element(binary.BigEndian.AppendUint64(nil, uint64(id)))
}

// binaryArray is the image of an array of one dimension.
func binaryArray(oid int32, elements ...[]byte) []byte {
	return append(words(1, 0, oid, int32(len(elements)), 1), slices.Concat(elements...)...)
}

// binaryImage is the image that PostgreSQL sends for an Array that is not NULL.
func binaryImage(array idArray) []byte {
	if len(array) == 0 {
		return words(0, 0, int8OID)
	}
	var elements [][]byte
	for _, id := range array {
		elements = append(elements, int8Element(id))
	}
	return binaryArray(int8OID, elements...)
}

func TestArrayReadsOtherElementTypes(t *testing.T) {
	for name, test := range map[string]struct {
		image []byte
		want  idArray
	}{
		"int4": {
			binaryArray(int4OID, element(words(math.MaxInt32)), element(words(math.MinInt32))),
			idArray{math.MaxInt32, math.MinInt32},
		},
		"int2": {
			binaryArray(int2OID, element([]byte{0x7f, 0xff}), element([]byte{0x80, 0})),
			idArray{math.MaxInt16, math.MinInt16},
		},
		"text": {
			binaryArray(textOID, element([]byte("9007199254740993")), element([]byte("-5"))),
			idArray{9007199254740993, -5},
		},
		"varchar": {binaryArray(varcharOID, element([]byte("7"))), idArray{7}},
		// The flag allows NULLs, but no element is NULL.
		"flag of NULLs":    {append(words(1, 1, int8OID, 1, 1), int8Element(7)...), idArray{7}},
		"first subscript":  {append(words(1, 0, int8OID, 1, -3), int8Element(7)...), idArray{7}},
		"a dimension of 0": {words(1, 0, int8OID, 0, 1), idArray{}},
	} {
		if got, err := scanArray(test.image); !sameArray(got, test.want) || err != nil {
			t.Errorf("%s: read %#v, %v, want %v", name, got, err, test.want)
		}
	}
}

func TestArrayRejectsMalformedImages(t *testing.T) {
	two := binaryArray(int8OID, int8Element(1), int8Element(2))
	for name, test := range map[string]struct {
		image []byte
		want  error
	}{
		"NULL element":       {append(words(1, 1, int8OID, 2, 1), append(int8Element(1), words(-1)...)...), snowflake.ErrNull},
		"NULL text":          {binaryArray(textOID, words(-1)), snowflake.ErrNull},
		"two dimensions":     {append(words(2, 0, int8OID, 1, 1, 1, 1), int8Element(1)...), snowflake.ErrType},
		"six dimensions":     {words(6, 0, int8OID), snowflake.ErrType},
		"seven dimensions":   {words(7, 0, int8OID), snowflake.ErrSyntax},
		"numeric":            {binaryArray(1700, element([]byte{0, 0, 0, 0, 0, 0, 0, 0})), snowflake.ErrType},
		"float8":             {binaryArray(701, int8Element(1)), snowflake.ErrType},
		"no OID":             {binaryArray(0, int8Element(1)), snowflake.ErrType},
		"empty of uuid":      {words(0, 0, 2950), snowflake.ErrType},
		"flags":              {append(words(1, 2, int8OID, 1, 1), int8Element(1)...), snowflake.ErrSyntax},
		"negative flags":     {append(words(1, -1, int8OID, 1, 1), int8Element(1)...), snowflake.ErrSyntax},
		"trailing byte":      {append(slices.Clone(two), 0), snowflake.ErrSyntax},
		"third element":      {append(slices.Clone(two), int8Element(3)...), snowflake.ErrSyntax},
		"bytes after empty":  {words(0, 0, int8OID, 0), snowflake.ErrSyntax},
		"int8 of 4 bytes":    {binaryArray(int8OID, element(words(1))), snowflake.ErrSyntax},
		"int8 of 9 bytes":    {binaryArray(int8OID, element(make([]byte, 9))), snowflake.ErrSyntax},
		"int8 of 0 bytes":    {binaryArray(int8OID, words(0)), snowflake.ErrSyntax},
		"int4 of 8 bytes":    {binaryArray(int4OID, int8Element(1)), snowflake.ErrSyntax},
		"int2 of 4 bytes":    {binaryArray(int2OID, element(words(1))), snowflake.ErrSyntax},
		"length of -2":       {binaryArray(int8OID, words(-2)), snowflake.ErrSyntax},
		"length of 2^31-1":   {binaryArray(int8OID, words(math.MaxInt32)), snowflake.ErrSyntax},
		"negative dimension": {words(1, 0, int8OID, -1, 1), snowflake.ErrSyntax},
		"text":               {binaryArray(textOID, element([]byte("007"))), snowflake.ErrSyntax},
		"empty text":         {binaryArray(textOID, element(nil)), snowflake.ErrSyntax},
		"text beyond int64":  {binaryArray(textOID, element([]byte("9223372036854775808"))), snowflake.ErrRange},
	} {
		for _, src := range []any{test.image, string(test.image)} {
			if got, err := scanArray(src); got != nil || !errors.Is(err, test.want) {
				t.Errorf("%s: Scan(%T) = %#v, %v, want nil and %v", name, src, got, err, test.want)
			}
		}
	}
}

func TestArrayRejectsEveryTruncation(t *testing.T) {
	for _, image := range [][]byte{
		binaryImage(idArray{}),
		binaryImage(idArray{1, 2}),
		binaryArray(textOID, element([]byte("12")), element([]byte("34"))),
	} {
		for n := range image {
			if got, err := scanArray(image[:n]); got != nil || !errors.Is(err, snowflake.ErrSyntax) {
				t.Errorf("the first %d of %d bytes: read %#v, %v", n, len(image), got, err)
			}
		}
	}
}

// A header with 2^31-1 elements must not make Scan allocate them.
func TestArrayAllocatesNothingForAForgedHeader(t *testing.T) {
	for name, image := range map[string][]byte{
		"no element":  words(1, 0, int8OID, math.MaxInt32, 1),
		"one element": append(words(1, 0, int8OID, math.MaxInt32, 1), int8Element(1)...),
		"one too few": append(words(1, 0, int8OID, 3, 1), make([]byte, 11)...),
	} {
		got, err := scanArray(image)
		if got != nil || !errors.Is(err, snowflake.ErrSyntax) || !strings.Contains(err.Error(), "announces") {
			t.Errorf("%s: read %d elements, %v", name, len(got), err)
		}
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	_, _ = scanArray(words(1, 0, int8OID, math.MaxInt32, 1))
	runtime.ReadMemStats(&after)
	if taken := after.TotalAlloc - before.TotalAlloc; taken > 1<<20 {
		t.Errorf("%d bytes were allocated", taken)
	}
}
