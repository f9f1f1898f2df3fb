package sqltypes_test

import (
	"encoding/json"
	"errors"
	"math"
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

// PostgreSQL prints the bounds if the first subscript is not 1, as for '[2:3]={1,2}'::bigint[] or 0 || '[0:0]={1}'.
func TestArrayDropsTheFirstSubscript(t *testing.T) {
	for text, want := range map[string]idArray{
		"[2:3]={1,2}": {1, 2}, "[0:0]={7}": {7}, "[-1:1]={1,2,3}": {1, 2, 3},
		"[-2147483648:-2147483648]={5}": {5}, "[2147483647:2147483647]={5}": {5},
	} {
		if got, err := scanArray(text); !sameArray(got, want) || err != nil {
			t.Errorf("Scan(%s) = %#v, %v, want %v", text, got, err, want)
		}
	}
}

func TestArrayReadsSlicesAndCopiesThem(t *testing.T) {
	ids, integers, array := []snowflake.ID{1, 2}, []int64{1, 2}, sqltypes.ArrayOf([]snowflake.ID{1, 2})
	for _, src := range []any{ids, integers, array, &array} {
		got, err := scanArray(src)
		if !sameArray(got, idArray{1, 2}) || err != nil {
			t.Fatalf("Scan(%T) = %#v, %v", src, got, err)
		}
		if got[0] = 9; ids[0] != 1 || integers[0] != 1 || array[0] != 1 {
			t.Errorf("Scan(%T) shares memory with its source", src)
		}
	}
	if err := array.Scan(&array); !sameArray(array, idArray{1, 2}) || err != nil {
		t.Errorf("Scan of itself = %#v, %v", array, err)
	}
	for _, want := range []idArray{{}, nil} { // empty and NULL differ
		for _, src := range []any{[]snowflake.ID(want), want, &want} {
			if got, err := scanArray(src); !sameArray(got, want) || err != nil {
				t.Errorf("Scan(%T %#v) = %#v, %v, want %#v", src, src, got, err, want)
			}
		}
	}
	for _, src := range []any{nil, (*idArray)(nil), []int64(nil)} {
		if got, err := scanArray(src); got != nil || err != nil {
			t.Errorf("Scan(nil %T) = %#v, %v, want nil", src, got, err)
		}
	}
}

func TestArrayRejectsOtherText(t *testing.T) {
	for want, texts := range map[error][]string{
		snowflake.ErrNull:  {"{NULL}", "{NULL,1}", "{1,NULL,2}", "[2:2]={NULL}"},
		snowflake.ErrType:  {"{{1,2},{3,4}}", "{{{1}}}", "{{}}", "[1:1][2:3]={{1,2}}", "{{NULL}}"},
		snowflake.ErrRange: {"{9223372036854775808}", "{1,-9223372036854775809}"},
		snowflake.ErrSyntax: { // what PostgreSQL does not print
			"", "{", "}", "{1", "1}", "1", "1,2", "null", "NULL", "[1,2]", `["1","2"]`,
			"{1,}", "{,1}", "{,}", "{1,,2}", "{1;2}", "{1}x", "{1}{2}", "{1}}", "{1}\x00",
			" {1}", "{1} ", "{ 1}", "{1, 2}", "{ }", `{"1"}`, "{null}", "{-0}", "{+1}", "{007}", "{1.0}", "{0x1}",
			// Bounds that do not fit.
			"[", "[2:3]", "[2:3]=", "[2:3]{1,2}", "[2]={1,2}", "[:]={1}", "[2:3]=[2:3]={1,2}",
			"[2:3]={1}", "[2:3]={1,2,3}", "[3:2]={}", "[2:2]={}", "[3:2]={1,2}",
			"[2:+3]={1,2}", "[2:03]={1,2}", "[2: 3]={1,2}", "[2147483647:2147483648]={1,2}", "[-2147483649:-2147483648]={1,2}",
			"[-9223372036854775808:9223372036854775807]={}",
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
	for _, src := range []any{1.5, snowflake.ID(1), []string{"1"}, []any{int64(1)}, []int32{1}, [1]int64{1}} {
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
		{"[2:3]={1}", `sqltypes: string "[2:3]={1}" is not an array of IDs: its bounds announce 2 elements, it has 1`},
		{"[2:2]={NULL}", `sqltypes: string "[2:2]={NULL}" is not an array of IDs: ` +
			`the element at index 0 is NULL, remove it with array_remove(ids, NULL)`},
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
		if err != nil {
			t.Fatal(err)
		}
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
	for want, texts := range map[error][]string{
		snowflake.ErrNull:  {`[null]`, `["1",null,"3"]`},
		snowflake.ErrType:  {`[[]]`, `[["1"]]`, `[true]`, `[{}]`, `{"0":"1"}`, `"{1,2}"`, `1`, `true`},
		snowflake.ErrRange: {`[9223372036854775808]`, `["9223372036854775808"]`},
		// The last ones are rejected by encoding/json before it calls Array.
		snowflake.ErrSyntax: {`[""]`, `["1","007"]`, `[1.0]`, ``, `[`, `[1`, `[1,]`, `[1]]`, `[1] [2]`, `[1}`},
	} {
		for _, text := range texts {
			got := staleArray()
			if err := got.UnmarshalJSON([]byte(text)); got != nil || !errors.Is(err, want) {
				t.Errorf("UnmarshalJSON(%s) = %#v, %v, want nil and %v", text, got, err, want)
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
		{[]userID{7}, seven, nil},
		{[]snowflake.ID{7}, seven, nil},
		{idArray{7}, seven, nil},
		{[]int64{7}, seven, nil},
		{sqltypes.Array[orderID]{7}, nil, snowflake.ErrType},
		{[]orderID{7}, nil, snowflake.ErrType},
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
