package sqltypes_test

import (
	"database/sql"
	"database/sql/driver"
	"encoding"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/sqlflake/sqlflake/gormplugin"
	"github.com/sqlflake/sqlflake/snowflake"
	"github.com/sqlflake/sqlflake/sqltypes"
)

type userKind struct{}

func (userKind) Prefix() string { return "user" }

type orderKind struct{}

func (orderKind) Prefix() string { return "order" }

// apiKeyKind has a prefix with underscores.
type apiKeyKind struct{}

func (apiKeyKind) Prefix() string { return "my_api__key" }

// noteKind has the first letter of null, which encoding/json looks at.
type noteKind struct{}

func (noteKind) Prefix() string { return "note" }

type shortestKind struct{}

func (shortestKind) Prefix() string { return "x" }

type longestKind struct{}

func (longestKind) Prefix() string { return "a" + strings.Repeat("_", 61) + "z" }

type (
	userID  = sqltypes.Typed[userKind]
	orderID = sqltypes.Typed[orderKind]
)

// The interfaces of Typed.
var (
	_ fmt.Stringer                              = userID(0)
	_ encoding.TextAppender                     = userID(0) // without it version 2 of encoding/json allocates once more
	_ encoding.TextMarshaler                    = userID(0)
	_ encoding.TextUnmarshaler                  = (*userID)(nil)
	_ json.Unmarshaler                          = (*userID)(nil)
	_ driver.Valuer                             = userID(0)
	_ sql.Scanner                               = (*userID)(nil)
	_ interface{ UnmarshalParam(string) error } = (*userID)(nil) // gin and echo
	_ interface{ GormDataType() string }        = userID(0)      // GORM
	_ gormplugin.Key                            = (*userID)(nil)
)

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
