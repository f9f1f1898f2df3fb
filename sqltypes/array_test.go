package sqltypes_test

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"math"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/sqlflake/sqlflake/snowflake"
	"github.com/sqlflake/sqlflake/sqltypes"
)

type (
	idArray   = sqltypes.Array[snowflake.ID]
	userArray = sqltypes.Array[userID]
)

// someArrays are arrays with the text that PostgreSQL prints for them; NULL has none.
var someArrays = []struct {
	array idArray
	text  string
}{
	{nil, ""},
	{idArray{}, "{}"},
	{idArray{0}, "{0}"},
	{idArray{1, 2, 3}, "{1,2,3}"},
	{idArray{2, 1, 2}, "{2,1,2}"}, // neither sorted nor a set
	{idArray{9007199254740993, -5}, "{9007199254740993,-5}"},
	{idArray{math.MaxInt64, math.MinInt64}, "{9223372036854775807,-9223372036854775808}"},
}

// staleArray returns the value of an earlier row.
func staleArray() idArray { return idArray{42, 43, 44, 45} }

// sameArray distinguishes nil, which is NULL, from empty.
func sameArray[T comparable](a, b []T) bool {
	return slices.Equal(a, b) && (a == nil) == (b == nil)
}

// scanArray reads src into an Array with an earlier value.
func scanArray(src any) (idArray, error) {
	got := staleArray()
	err := got.Scan(src)
	return got, err
}

func TestArrayReadsWhatItWrites(t *testing.T) {
	if got := (idArray{}).GormDataType(); got != "bigint[]" {
		t.Errorf("GormDataType() = %q, want bigint[]", got)
	}

	for _, test := range someArrays {
		value, err := test.array.Value()
		if want := any(test.text); err != nil || test.array != nil && value != want || test.array == nil && value != nil {
			t.Errorf("Value of %#v = %T %v, %v, want %v", test.array, value, value, err, want)
		}

		numbers := "[]" // also for NULL: null would be a row
		if test.array != nil {
			numbers = "[" + test.text[1:len(test.text)-1] + "]"
		}

		if got := test.array.JSONNumbers(); got != numbers {
			t.Errorf("JSONNumbers of %v = %s, want %s", test.array, got, numbers)
		}

		if value == nil {
			continue
		}

		image := binaryImage(test.array)
		for _, src := range []any{test.text, []byte(test.text), image, string(image)} {
			if got, err := scanArray(src); !sameArray(got, test.array) || err != nil {
				t.Errorf("Scan(%T %q) = %#v, %v", src, src, got, err)
			}
		}
	}
}

func TestArrayCopiesArrays(t *testing.T) {
	for _, want := range []idArray{{1, 2}, {}, nil} { // empty and NULL differ
		array := slices.Clone(want)
		for _, src := range []any{array, &array} {
			got, err := scanArray(src)
			if !sameArray(got, want) || err != nil {
				t.Fatalf("Scan(%T %#v) = %#v, %v, want %#v", src, src, got, err, want)
			}
			if len(got) > 0 {
				if got[0] = 9; array[0] != 1 {
					t.Errorf("Scan(%T) shares memory with its source", src)
				}
			}
		}

		if err := array.Scan(&array); !sameArray(array, want) || err != nil {
			t.Errorf("Scan of itself = %#v, %v", array, err)
		}
	}

	for _, src := range []any{nil, (*idArray)(nil)} {
		if got, err := scanArray(src); got != nil || err != nil {
			t.Errorf("Scan(nil %T) = %#v, %v, want nil", src, got, err)
		}
	}
}

func TestArrayRejectsOtherText(t *testing.T) {
	for want, texts := range map[error][]string{
		snowflake.ErrNull:  {"{NULL}", "{NULL,1}", "{1,NULL,2}"},
		snowflake.ErrType:  {"{{1,2},{3,4}}", "{{{1}}}", "{{}}", "{{NULL}}"},
		snowflake.ErrRange: {"{9223372036854775808}", "{1,-9223372036854775809}"},
		snowflake.ErrSyntax: { // what PostgreSQL does not print
			"", "{", "}", "{1", "1}", "1", "1,2", "null", "NULL", "[1,2]", `["1","2"]`,
			"{1,}", "{,1}", "{,}", "{1,,2}", "{1;2}", "{1}x", "{1}{2}", "{1}}", "{1}\x00",
			" {1}", "{1} ", "{ 1}", "{1, 2}", "{ }", `{"1"}`, "{null}", "{-0}", "{+1}", "{007}", "{1.0}", "{0x1}",
			"[", "[2:3]={1,2}", "[2:2]={NULL}",
		},
	} {
		for _, text := range texts {
			for _, src := range []any{text, []byte(text)} {
				if got, err := scanArray(src); got != nil || !errors.Is(err, want) {
					t.Errorf("Scan(%T %q) = %#v, %v, want nil and %v", src, text, got, err, want)
				}
			}
		}
	}

	for _, src := range []any{1.5, snowflake.ID(1), []string{"1"}, []any{int64(1)}, []int64{1}, [1]int64{1}} {
		if got, err := scanArray(src); got != nil || !errors.Is(err, snowflake.ErrType) {
			t.Errorf("Scan(%T) = %#v, %v, want nil and %v", src, got, err, snowflake.ErrType)
		}
	}
}

func TestArrayErrorsNameTheSourceAndTheRule(t *testing.T) {
	for _, test := range []struct {
		src  any
		want string
	}{
		{"{1,NULL}", `sqltypes: string "{1,NULL}" is not an array of IDs: ` +
			`the element at index 1 is NULL, remove it with array_remove(ids, NULL)`},
		{[]byte("{{1}}"), `sqltypes: []byte "{{1}}" is not an array of IDs: it has more than one dimension`},
		{"", `sqltypes: string "" is not an array of IDs: want IDs in braces, such as {1,2}`},
		{"{1,x}", `sqltypes: array element at index 1: snowflake: text "x" is not an ID: want decimal digits only, byte 0 is "x"`},
		{int64(1), `sqltypes: int64 is not an array of IDs: want the text or binary image of a bigint[], as PostgreSQL sends it`},
		{strings.Repeat("1,", 100), `sqltypes: string "1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1,1..." is not an array of IDs: ` +
			`want IDs in braces, such as {1,2}`},
		{words(0, 0, 1700), `sqltypes: []byte "\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x06\xa4" ` +
			`is not an array of IDs: its elements have the type of OID 1700; read column::bigint[] instead`},
	} {
		if _, err := scanArray(test.src); err == nil || err.Error() != test.want {
			t.Errorf("Scan(%v): error %v\nwant %s", test.src, err, test.want)
		}
	}
}

func TestArrayHasTheJSONOfASliceOfIDs(t *testing.T) {
	for _, test := range someArrays {
		want, err := json.Marshal([]snowflake.ID(test.array))
		noError(t, err)
		text, err := json.Marshal(test.array)
		if string(text) != string(want) || err != nil {
			t.Errorf("Marshal of %#v = %s, %v, want %s", test.array, text, err, want)
		}
		got := staleArray()
		if err := json.Unmarshal(text, &got); !sameArray(got, test.array) || err != nil {
			t.Errorf("Unmarshal(%s) = %#v, %v", text, got, err)
		}
	}

	var got idArray
	err := json.Unmarshal([]byte(" [ 9007199254740993 , \"5\",\n-5, \"\\u0031\" ] "), &got)
	if want := (idArray{9007199254740993, 5, -5, 1}); !sameArray(got, want) || err != nil {
		t.Errorf("read %v, %v, want %v", got, err, want)
	}

	var numbers sqltypes.Array[int64] // an element without UnmarshalJSON
	if err := json.Unmarshal([]byte("[1,-2]"), &numbers); !sameArray(numbers, []int64{1, -2}) || err != nil {
		t.Errorf("read %v, %v", numbers, err)
	}
}

// encoding/json sets the element of a slice to 0 for null.
func TestArrayRejectsOtherJSONAndIsReset(t *testing.T) {
	var invalid *json.SyntaxError
	var wrong *json.UnmarshalTypeError
	for _, test := range []struct {
		texts []string
		is    func(error) bool
	}{
		{[]string{`[null]`, `["1",null,"3"]`}, func(err error) bool { return errors.Is(err, snowflake.ErrNull) }},
		{[]string{`[[]]`, `[["1"]]`, `[true]`, `[{}]`}, func(err error) bool { return errors.Is(err, snowflake.ErrType) }},
		{[]string{`[9223372036854775808]`}, func(err error) bool { return errors.Is(err, snowflake.ErrRange) }},
		{[]string{`[""]`, `["1","007"]`, `[1.0]`}, func(err error) bool { return errors.Is(err, snowflake.ErrSyntax) }},
		{[]string{`{"0":"1"}`, `"{1,2}"`, `1`, `true`}, func(err error) bool { return errors.As(err, &wrong) }},
		{[]string{``, `[`, `[1`, `[1,]`, `[1]]`, `[1] [2]`, `[1}`}, func(err error) bool { return errors.As(err, &invalid) }},
	} {
		for _, text := range test.texts {
			got := staleArray()
			if err := got.UnmarshalJSON([]byte(text)); got != nil || !test.is(err) {
				t.Errorf("UnmarshalJSON(%s) = %#v, %v", text, got, err)
			}
		}
	}
}

func TestArrayOfTypedIsNumbersInsideAndTextsOutside(t *testing.T) {
	array := userArray{1234567890123456789, 0, -5}
	value, err := array.Value()
	if value != "{1234567890123456789,0,-5}" || err != nil || array.JSONNumbers() != "[1234567890123456789,0,-5]" {
		t.Errorf("Value = %v, %v, JSONNumbers %s", value, err, array.JSONNumbers())
	}

	text, err := json.Marshal(array)
	if string(text) != `["user_128GGYHYYK08N","user_0000000000000","user_FZZZZZZZZZZZV"]` || err != nil {
		t.Errorf("Marshal = %s, %v", text, err)
	}

	got := userArray{42}
	if err := json.Unmarshal(text, &got); !sameArray(got, array) || err != nil {
		t.Errorf("read back as %d, %v", got, err)
	}

	seven := userArray{7}
	for _, test := range []struct {
		src  any
		want userArray
		err  error
	}{
		{"{7}", seven, nil},
		{binaryImage(idArray{7}), seven, nil},
		{seven, seven, nil},
		{&seven, seven, nil},
		{(*userArray)(nil), nil, nil},
		{sqltypes.Array[orderID]{7}, nil, snowflake.ErrType},
		{"{user_0000000000007}", nil, snowflake.ErrSyntax},
	} {
		got := userArray{42}
		if err := got.Scan(test.src); !sameArray(got, test.want) || !errors.Is(err, test.err) {
			t.Errorf("Scan(%T %q) = %d, %v, want %d, %v", test.src, test.src, got, err, test.want, test.err)
		}
	}

	for in, want := range map[string]error{
		`["user_0000000000007","order_0000000000007"]`: sqltypes.ErrPrefix,
		`[7]`:                         snowflake.ErrType,
		`["user_0000000000007",null]`: snowflake.ErrNull,
	} {
		got := userArray{42}
		if err := json.Unmarshal([]byte(in), &got); !errors.Is(err, want) || got != nil {
			t.Errorf("Unmarshal(%s) = %d, %v, want nil, %v", in, got, err, want)
		}
	}
}

const (
	int8OID = 20
	int4OID = 23
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

func TestArrayReadsImagesOfOtherShapes(t *testing.T) {
	for name, test := range map[string]struct {
		image []byte
		want  idArray
	}{
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
		"two dimensions":     {append(words(2, 0, int8OID, 1, 1, 1, 1), int8Element(1)...), snowflake.ErrType},
		"six dimensions":     {words(6, 0, int8OID), snowflake.ErrType},
		"seven dimensions":   {words(7, 0, int8OID), snowflake.ErrSyntax},
		"int4":               {binaryArray(int4OID, element(words(1))), snowflake.ErrType},
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
		"length of -2":       {binaryArray(int8OID, words(-2)), snowflake.ErrSyntax},
		"length of 2^31-1":   {binaryArray(int8OID, words(math.MaxInt32)), snowflake.ErrSyntax},
		"negative dimension": {words(1, 0, int8OID, -1, 1), snowflake.ErrSyntax},
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
		if got != nil || !errors.Is(err, snowflake.ErrSyntax) {
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
