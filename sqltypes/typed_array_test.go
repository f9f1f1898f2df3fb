package sqltypes_test

import (
	"encoding/json"
	"errors"
	"slices"
	"testing"

	"github.com/sqlflake/sqlflake/snowflake"
	"github.com/sqlflake/sqlflake/sqltypes"
)

// sameIDs tells nil from empty.
func sameIDs(a, b userArray) bool { return slices.Equal(a, b) && (a == nil) == (b == nil) }

func TestTypedArrayIsNumbersInsideAndTextsOutside(t *testing.T) {
	for _, test := range []struct {
		array         userArray
		value         any
		json, numbers string
	}{
		{nil, nil, `null`, `[]`},
		{userArray{}, "{}", `[]`, `[]`},
		{userArray{7}, "{7}", `["user_0000000000007"]`, `[7]`},
		{
			userArray{1234567890123456789, 0, -5},
			"{1234567890123456789,0,-5}",
			`["user_128GGYHYYK08N","user_0000000000000","user_FZZZZZZZZZZZV"]`, `[1234567890123456789,0,-5]`,
		},
	} {
		value, err := test.array.Value()
		got := userArray{42}
		scanErr := got.Scan(value)
		if value != test.value || err != nil || scanErr != nil || !sameIDs(got, test.array) {
			t.Errorf("Value of %d = %v, %v, read back as %d, %v", test.array, value, err, got, scanErr)
		}
		text, err := json.Marshal(test.array)
		got = userArray{42}
		jsonErr := json.Unmarshal(text, &got)
		if string(text) != test.json || err != nil || jsonErr != nil || !sameIDs(got, test.array) {
			t.Errorf("Marshal of %d = %s, %v, read back as %d, %v", test.array, text, err, got, jsonErr)
		}
		if got := test.array.JSONNumbers(); got != test.numbers {
			t.Errorf("JSONNumbers of %d = %s, want %s", test.array, got, test.numbers)
		}
	}
	if got := (userArray{}).GormDataType(); got != "bigint[]" {
		t.Errorf("GormDataType() = %q, want bigint[]", got)
	}
}

func TestTypedArrayScan(t *testing.T) {
	seven := userArray{7}
	binary := "\x00\x00\x00\x01\x00\x00\x00\x00\x00\x00\x00\x14\x00\x00\x00\x01\x00\x00\x00\x01" + // header and bounds
		"\x00\x00\x00\x08\x00\x00\x00\x00\x00\x00\x00\x07"
	for _, test := range []struct {
		src  any
		want userArray
		err  error
	}{
		{nil, nil, nil},
		{"{7}", seven, nil},
		{[]byte("{7}"), seven, nil},
		{binary, seven, nil},
		{[]byte(binary), seven, nil},
		{seven, seven, nil},
		{&seven, seven, nil},
		{(*userArray)(nil), nil, nil},
		{[]userID{7}, seven, nil},
		{[]snowflake.ID{7}, seven, nil},
		{sqltypes.Array{7}, seven, nil},
		{[]int64{7}, seven, nil},
		{sqltypes.TypedArray[orderKind]{7}, nil, snowflake.ErrType},
		{[]orderID{7}, nil, snowflake.ErrType},
		{"{NULL}", nil, snowflake.ErrNull},
		{"{{7}}", nil, snowflake.ErrType},
		{"{user_0000000000007}", nil, snowflake.ErrSyntax},
		{"7", nil, snowflake.ErrSyntax},
		{int64(7), nil, snowflake.ErrType},
	} {
		got := userArray{42}
		err := got.Scan(test.src)
		if !sameIDs(got, test.want) || !errors.Is(err, test.err) {
			t.Errorf("Scan(%T %q) = %d, %v, want %d, %v", test.src, test.src, got, err, test.want, test.err)
		}
	}
	got := userArray{}
	if err := got.Scan(seven); err != nil {
		t.Fatal(err)
	}
	if got[0] = 8; seven[0] != 7 {
		t.Error("Scan took the slice over instead of copying it")
	}
}

func TestTypedArrayJSONRefusesOtherKindsAndIsReset(t *testing.T) {
	for in, want := range map[string]error{
		`["order_0000000000007"]`:                      sqltypes.ErrPrefix,
		`["user_0000000000007","order_0000000000007"]`: sqltypes.ErrPrefix,
		`[7]`:                         snowflake.ErrType,
		`["7"]`:                       snowflake.ErrSyntax,
		`["user_0000000000007",null]`: snowflake.ErrNull,
		`"user_0000000000007"`:        snowflake.ErrType,
		`{}`:                          snowflake.ErrType,
	} {
		got := userArray{42}
		if err := json.Unmarshal([]byte(in), &got); !errors.Is(err, want) || got != nil {
			t.Errorf("Unmarshal(%s) = %d, %v, want nil, %v", in, got, err, want)
		}
	}
}
