package sqltypes_test

import (
	"errors"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/sqlflake/sqlflake/snowflake"
)

func TestTypedValueIsAnInt64(t *testing.T) {
	for id := range typedTexts {
		if got, err := id.Value(); got != int64(id) || err != nil {
			t.Errorf("Value of %d = %T %v, %v", id, got, got, err)
		}
	}
}

func TestTypedScan(t *testing.T) {
	id, typed := snowflake.ID(7), userID(7)
	for _, test := range []struct {
		src  any
		want userID
		err  error
	}{
		{int64(7), 7, nil},
		{int64(0), 0, nil},
		{int64(math.MinInt64), math.MinInt64, nil},
		{uint64(7), 7, nil},
		{7, 7, nil},
		{int32(7), 7, nil},
		{"7", 7, nil},
		{[]byte("-7"), -7, nil},
		{id, 7, nil},
		{&id, 7, nil},
		{typed, 7, nil},
		{&typed, 7, nil},
		{nil, 0, snowflake.ErrNull},
		{(*snowflake.ID)(nil), 0, snowflake.ErrNull},
		{(*userID)(nil), 0, snowflake.ErrNull},
		{orderID(7), 0, snowflake.ErrType},
		{new(orderID), 0, snowflake.ErrType},
		{"", 0, snowflake.ErrSyntax},
		{"007", 0, snowflake.ErrSyntax},
		{"user_0000000000007", 0, snowflake.ErrSyntax},
		{[]byte("user_0000000000007"), 0, snowflake.ErrSyntax},
		{"order_0000000000007", 0, snowflake.ErrSyntax},
		{"9223372036854775808", 0, snowflake.ErrRange},
		{uint64(math.MaxUint64), 0, snowflake.ErrRange},
		{7.0, 0, snowflake.ErrType},
		{true, 0, snowflake.ErrType},
		{time.Unix(7, 0), 0, snowflake.ErrType},
		{[]int{7}, 0, snowflake.ErrType},
	} {
		got := userID(42)
		if err := got.Scan(test.src); got != test.want || !errors.Is(err, test.err) {
			t.Errorf("Scan(%T %v) = %d, %v, want %d, %v", test.src, test.src, got, err, test.want, test.err)
		}
	}
}

func TestTypedScanErrorsNameTheRemedy(t *testing.T) {
	for _, test := range []struct {
		src  any
		want string
	}{
		{nil, "snowflake: NULL is not an ID: use a pointer for a column that may be NULL"},
		{(*snowflake.ID)(nil), "snowflake: nil *snowflake.ID is not an ID: use a pointer"},
		{(*userID)(nil), "snowflake: nil *sqltypes.Typed["},
		{"user_0000000000007", `snowflake: string "user_0000000000007" is not an ID: the column holds text with a prefix, ` +
			`want the number; make the column BIGINT (INTEGER on SQLite)`},
		{[]byte("user_" + strings.Repeat("7", 1000)), `snowflake: []byte "user_` + strings.Repeat("7", 32) + `..." is`},
		{"007", `snowflake: string "007" is not an ID: a number starts without a zero`},
	} {
		var id userID
		if err := id.Scan(test.src); err == nil || !strings.HasPrefix(err.Error(), test.want) {
			t.Errorf("Scan(%T): %v\nwant %s", test.src, err, test.want)
		}
	}
}
