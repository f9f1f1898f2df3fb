package sqltypes_test

import (
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/sqlflake/sqlflake/snowflake"
	"github.com/sqlflake/sqlflake/sqltypes"
)

// scanArray reads src into an Array with an earlier value.
func scanArray(src any) (sqltypes.Array, error) {
	got := staleArray()
	err := got.Scan(src)
	return got, err
}

func TestArrayReadsWhatPostgreSQLPrints(t *testing.T) {
	for _, test := range someArrays[1:] {
		for _, src := range []any{test.text, []byte(test.text)} {
			if got, err := scanArray(src); !sameArray(got, test.array) || err != nil {
				t.Errorf("Scan(%T %s) = %#v, %v", src, src, got, err)
			}
		}
	}
}

// PostgreSQL prints the bounds if the first subscript is not 1, as for '[2:3]={1,2}'::bigint[] or 0 || '[0:0]={1}'.
func TestArrayDropsTheFirstSubscript(t *testing.T) {
	for text, want := range map[string]sqltypes.Array{
		"[2:3]={1,2}":                   {1, 2},
		"[0:0]={7}":                     {7},
		"[-1:1]={1,2,3}":                {1, 2, 3},
		"[-2147483648:-2147483648]={5}": {5},
		"[2147483647:2147483647]={5}":   {5},
	} {
		if got, err := scanArray(text); !sameArray(got, want) || err != nil {
			t.Errorf("Scan(%s) = %#v, %v, want %v", text, got, err, want)
		}
	}
}

func TestArrayReadsSlicesAndCopiesThem(t *testing.T) {
	ids, integers, array := []snowflake.ID{1, 2}, []int64{1, 2}, sqltypes.Array{1, 2}
	for _, src := range []any{ids, integers, array, &array} {
		got, err := scanArray(src)
		if !sameArray(got, sqltypes.Array{1, 2}) || err != nil {
			t.Errorf("Scan(%T) = %#v, %v", src, got, err)
			continue
		}
		got[0] = 9
		if ids[0] != 1 || integers[0] != 1 || array[0] != 1 {
			t.Errorf("Scan(%T) shares memory with its source", src)
		}
	}
	for _, src := range []any{[]snowflake.ID{}, []int64{}, sqltypes.Array{}, &sqltypes.Array{}} {
		if got, err := scanArray(src); !sameArray(got, sqltypes.Array{}) || err != nil {
			t.Errorf("Scan(empty %T) = %#v, %v, want an empty Array", src, got, err)
		}
	}
	if err := array.Scan(&array); !sameArray(array, sqltypes.Array{1, 2}) || err != nil {
		t.Errorf("Scan of itself = %#v, %v", array, err)
	}
}

func TestArrayIsNilForNULL(t *testing.T) {
	for _, src := range []any{
		nil, []snowflake.ID(nil), []int64(nil), sqltypes.Array(nil), (*sqltypes.Array)(nil), new(sqltypes.Array),
	} {
		if got, err := scanArray(src); got != nil || err != nil {
			t.Errorf("Scan(nil %T) = %#v, %v, want nil", src, got, err)
		}
	}
}

func TestArrayRefusesNullElements(t *testing.T) {
	for text, at := range map[string]string{
		"{NULL}": "index 0", "{NULL,1}": "index 0", "{1,NULL}": "index 1", "{1,NULL,2}": "index 1", "[2:2]={NULL}": "index 0",
	} {
		got, err := scanArray(text)
		if got != nil || !errors.Is(err, snowflake.ErrNull) || !strings.Contains(err.Error(), at) {
			t.Errorf("Scan(%s) = %#v, %v, want nil and %v at %s", text, got, err, snowflake.ErrNull, at)
		}
	}
}

func TestArrayRefusesMoreThanOneDimension(t *testing.T) {
	for _, text := range []string{"{{1}}", "{{1,2},{3,4}}", "{{{1}}}", "{{}}", "[1:1][2:3]={{1,2}}", "{{NULL}}"} {
		got, err := scanArray(text)
		if got != nil || !errors.Is(err, snowflake.ErrType) || !strings.Contains(err.Error(), "dimension") {
			t.Errorf("Scan(%s) = %#v, %v, want nil and %v", text, got, err, snowflake.ErrType)
		}
	}
}

func TestArrayRefusesTextThatPostgreSQLDoesNotPrint(t *testing.T) {
	for _, text := range []string{
		"", "{", "}", "{1", "1}", "1", "1,2", "null", "NULL", "[1,2]", `["1","2"]`,
		"{1,}", "{,1}", "{,}", "{1,,2}", "{1;2}", "{1}x", "{1}{2}", "{1}}", "{1}\x00",
		" {1}", "{1} ", "{ 1}", "{1, 2}", "{1 ,2}", "{ }", "{1\n}", `{"1"}`, `{"1,2"}`, `{\1}`,
		"{null}", "{Null}", "{-0}", "{+1}", "{007}", "{1.0}", "{1e3}", "{0x1}",
		// Bounds that do not fit.
		"[", "[2:3]", "[2:3]=", "[2:3]{1,2}", "[2]={1,2}", "[:]={1}", "[2:3]=[2:3]={1,2}",
		"[2:3]={1}", "[2:3]={1,2,3}", "[3:2]={}", "[2:2]={}", "[3:2]={1,2}",
		"[2:+3]={1,2}", "[2:03]={1,2}", "[2: 3]={1,2}", "[2147483647:2147483648]={1,2}", "[-2147483649:-2147483648]={1,2}",
		"[-9223372036854775808:9223372036854775807]={}",
	} {
		for _, src := range []any{text, []byte(text)} {
			if got, err := scanArray(src); got != nil || !errors.Is(err, snowflake.ErrSyntax) {
				t.Errorf("Scan(%T %q) = %#v, %v, want nil and %v", src, text, got, err, snowflake.ErrSyntax)
			}
		}
	}
}

func TestArrayRefusesNumbersBeyondInt64(t *testing.T) {
	for _, text := range []string{"{9223372036854775808}", "{1,-9223372036854775809}", "{99999999999999999999}"} {
		if got, err := scanArray(text); got != nil || !errors.Is(err, snowflake.ErrRange) {
			t.Errorf("Scan(%s) = %#v, %v, want nil and %v", text, got, err, snowflake.ErrRange)
		}
	}
}

func TestArrayRefusesOtherSources(t *testing.T) {
	for _, src := range []any{int64(1), 1.5, true, snowflake.ID(1), []string{"1"}, []any{int64(1)}, []int32{1}, [1]int64{1}} {
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

func TestArrayReadsWhatItWrites(t *testing.T) {
	large := make(sqltypes.Array, 100_000)
	for i := range large {
		large[i] = math.MaxInt64 - snowflake.ID(i)*0x123456789abc
	}
	text, err := large.Value()
	if err != nil {
		t.Fatal(err)
	}
	if got, err := scanArray(text); !sameArray(got, large) || err != nil {
		t.Errorf("100000 IDs are not read back: %v", err)
	}
}
