package sqltypes_test

import (
	"database/sql"
	"database/sql/driver"
	"encoding/json"
	"errors"
	"math"
	"slices"
	"testing"

	"github.com/sqlflake/sqlflake/snowflake"
	"github.com/sqlflake/sqlflake/sqltypes"
)

// The interfaces of Array.
var (
	_ json.Unmarshaler                   = (*sqltypes.Array)(nil)
	_ driver.Valuer                      = sqltypes.Array{}
	_ sql.Scanner                        = (*sqltypes.Array)(nil)
	_ interface{ GormDataType() string } = sqltypes.Array{} // GORM
)

// someArrays are arrays with the text that PostgreSQL prints for them; NULL has none.
var someArrays = []struct {
	array sqltypes.Array
	text  string
}{
	{nil, ""},
	{sqltypes.Array{}, "{}"},
	{sqltypes.Array{0}, "{0}"},
	{sqltypes.Array{1, 2, 3}, "{1,2,3}"},
	{sqltypes.Array{2, 1, 2}, "{2,1,2}"}, // neither sorted nor a set
	{sqltypes.Array{9007199254740993, -5}, "{9007199254740993,-5}"},
	{sqltypes.Array{math.MaxInt64, math.MinInt64}, "{9223372036854775807,-9223372036854775808}"},
}

// staleArray returns the value of an earlier row.
func staleArray() sqltypes.Array { return sqltypes.Array{42, 43, 44, 45} }

// sameArray distinguishes nil, which is NULL, from empty.
func sameArray(a, b sqltypes.Array) bool {
	return slices.Equal(a, b) && (a == nil) == (b == nil)
}

func TestArrayIsABigintArrayForGORM(t *testing.T) {
	if got := (sqltypes.Array{}).GormDataType(); got != "bigint[]" {
		t.Errorf("GormDataType() = %q, want bigint[]", got)
	}
}

func TestArrayValueIsTheTextOfPostgreSQLOrNil(t *testing.T) {
	for _, test := range someArrays {
		var want driver.Value
		if test.array != nil {
			want = test.text
		}
		if got, err := test.array.Value(); got != want || err != nil {
			t.Errorf("Value of %#v = %T %v, %v, want %v", test.array, got, got, err, want)
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
	if text, err := json.Marshal(sqltypes.Array{9007199254740993}); string(text) != `["9007199254740993"]` || err != nil {
		t.Errorf("Marshal = %s, %v, want a string in it", text, err)
	}
}

func TestArrayReadsJSONNumbersAndSpaces(t *testing.T) {
	var got sqltypes.Array
	err := json.Unmarshal([]byte(" [ 9007199254740993 , \"5\",\n-5, \"\\u0031\" ] "), &got)
	if want := (sqltypes.Array{9007199254740993, 5, -5, 1}); !sameArray(got, want) || err != nil {
		t.Errorf("read %v, %v, want %v", got, err, want)
	}
}

// encoding/json sets the element of a slice to 0 for null.
func TestArrayRefusesOtherJSONAndIsReset(t *testing.T) {
	for text, want := range map[string]error{
		`[null]`:                  snowflake.ErrNull,
		`["1",null,"3"]`:          snowflake.ErrNull,
		`[[]]`:                    snowflake.ErrType,
		`[["1"]]`:                 snowflake.ErrType,
		`[true]`:                  snowflake.ErrType,
		`[{}]`:                    snowflake.ErrType,
		`[""]`:                    snowflake.ErrSyntax,
		`["1","007"]`:             snowflake.ErrSyntax,
		`[1.0]`:                   snowflake.ErrSyntax,
		`[9223372036854775808]`:   snowflake.ErrRange,
		`["9223372036854775808"]`: snowflake.ErrRange,
		`{"0":"1"}`:               snowflake.ErrType,
		`"{1,2}"`:                 snowflake.ErrType,
		`1`:                       snowflake.ErrType,
		`true`:                    snowflake.ErrType,
	} {
		got := staleArray()
		if err := json.Unmarshal([]byte(text), &got); got != nil || !errors.Is(err, want) {
			t.Errorf("Unmarshal(%s) = %#v, %v, want nil and %v", text, got, err, want)
		}
	}
	// encoding/json rejects these before it calls Array.
	for _, text := range []string{``, `[`, `[1`, `[1,]`, `[1]]`, `[1] [2]`, `[1}`} {
		got := staleArray()
		if err := got.UnmarshalJSON([]byte(text)); got != nil || !errors.Is(err, snowflake.ErrSyntax) {
			t.Errorf("UnmarshalJSON(%s) = %#v, %v, want nil and %v", text, got, err, snowflake.ErrSyntax)
		}
	}
}

func TestArrayInAJSONObject(t *testing.T) {
	type group struct {
		Members sqltypes.Array `json:"members"`
		Admins  sqltypes.Array `json:"admins,omitempty"`
		Guests  sqltypes.Array `json:"guests,omitzero"`
	}
	for _, test := range []struct {
		in   group
		want string
	}{
		{group{}, `{"members":null}`},
		{group{sqltypes.Array{}, sqltypes.Array{}, sqltypes.Array{}}, `{"members":[],"guests":[]}`},
		{
			group{sqltypes.Array{1}, sqltypes.Array{2}, sqltypes.Array{3}},
			`{"members":["1"],"admins":["2"],"guests":["3"]}`,
		},
	} {
		if text, err := json.Marshal(test.in); string(text) != test.want || err != nil {
			t.Errorf("Marshal = %s, %v, want %s", text, err, test.want)
		}
	}
}

func TestArrayJSONNumbers(t *testing.T) {
	for _, test := range []struct {
		array sqltypes.Array
		want  string
	}{
		{nil, "[]"}, // null would be a row
		{sqltypes.Array{}, "[]"},
		{sqltypes.Array{5}, "[5]"},
		{sqltypes.Array{9007199254740993, math.MinInt64}, "[9007199254740993,-9223372036854775808]"},
	} {
		got := test.array.JSONNumbers()
		if got != test.want {
			t.Errorf("JSONNumbers of %v = %s, want %s", test.array, got, test.want)
		}
		var back sqltypes.Array
		if err := json.Unmarshal([]byte(got), &back); !slices.Equal(back, test.array) || err != nil {
			t.Errorf("%s is read back as %v, %v", got, back, err)
		}
	}
}

// thousandIDs have the length of most IDs of an epoch.
func thousandIDs() sqltypes.Array {
	ids := make(sqltypes.Array, 1000)
	for i := range ids {
		ids[i] = 1234567890123456789 + snowflake.ID(i)<<12
	}
	return ids
}

func TestArrayOf1000IDsTakesFewAllocations(t *testing.T) {
	if raceEnabled {
		t.Skip("the race detector allocates")
	}
	ids := thousandIDs()
	value, err := ids.Value()
	if err != nil {
		t.Fatal(err)
	}
	text := value.(string)
	bytes, image := any([]byte(text)), any(binaryImage(ids))
	var target sqltypes.Array
	for name, test := range map[string]struct {
		limit float64
		run   func() error
	}{
		"Value":       {3, func() error { _, err := ids.Value(); return err }}, // buffer, string, interface
		"Scan text":   {1, func() error { return target.Scan(any(text)) }},
		"Scan bytes":  {2, func() error { return target.Scan(bytes) }}, // a copy as a string
		"Scan binary": {1, func() error { return target.Scan(image) }},
	} {
		got := testing.AllocsPerRun(10, func() {
			if err := test.run(); err != nil {
				t.Fatal(err)
			}
		})
		if got > test.limit {
			t.Errorf("%s: %v allocations, want at most %v", name, got, test.limit)
		}
	}
}
