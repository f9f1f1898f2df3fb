package sqltypes_test

import (
	"cmp"
	"database/sql"
	"database/sql/driver"
	"encoding"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/sqlflake/sqlflake/gormplugin"
	"github.com/sqlflake/sqlflake/snowflake"
	"github.com/sqlflake/sqlflake/sqltypes"
)

type (
	userKind     struct{}
	orderKind    struct{}
	apiKeyKind   struct{} // with underscores
	noteKind     struct{} // has the first letter of null, which encoding/json looks at
	shortestKind struct{}
	longestKind  struct{}

	userID  = sqltypes.Typed[userKind]
	orderID = sqltypes.Typed[orderKind]
)

func (userKind) Prefix() string     { return "user" }
func (orderKind) Prefix() string    { return "order" }
func (apiKeyKind) Prefix() string   { return "my_api__key" }
func (noteKind) Prefix() string     { return "note" }
func (shortestKind) Prefix() string { return "x" }
func (longestKind) Prefix() string  { return "a" + strings.Repeat("_", 61) + "z" }

// idValue and idPointer are the interfaces of Typed, Text, Binary and uuidkey.ID.
type idValue interface {
	~int64
	fmt.Stringer
	encoding.TextMarshaler
	driver.Valuer
	SnowflakeID() snowflake.ID
	GormDataType() string
}

type idPointer[T any] interface {
	*T
	encoding.TextUnmarshaler
	json.Unmarshaler
	sql.Scanner
	gormplugin.Key
	UnmarshalParam(string) error // gin and echo
}

// Without AppendText, version 2 of encoding/json would allocate once more than for an ID.
var _ encoding.TextAppender = userID(0)

// typedTexts are IDs of users with their texts.
var typedTexts = map[userID]string{
	0:                   "user_0000000000000",
	1:                   "user_0000000000001",
	31:                  "user_000000000000Z",
	175928847299117063:  "user_04W86BB0G4007",
	1234567890123456789: "user_128GGYHYYK08N",
	math.MaxInt64:       "user_7ZZZZZZZZZZZZ",
	-5:                  "user_FZZZZZZZZZZZV",
	math.MinInt64:       "user_8000000000000",
}

func TestTypedTextIsThePrefixAndBase32(t *testing.T) {
	for id, want := range typedTexts {
		if got := id.String(); got != want || got != "user_"+id.SnowflakeID().Base32() {
			t.Errorf("String of %d = %q, want %q", id, got, want)
		}
		if text, err := id.MarshalText(); string(text) != want || cap(text) > len(want)+8 || err != nil {
			t.Errorf("MarshalText of %d = %q of capacity %d, %v, want %q", id, text, cap(text), err, want)
		}
		if text, err := id.AppendText([]byte("id=")); string(text) != "id="+want || err != nil {
			t.Errorf("AppendText of %d = %q, %v, want %q", id, text, err, "id="+want)
		}
		if got := fmt.Sprintf("%v %s %d", id, id, id); got != fmt.Sprintf("%s %s %d", want, want, int64(id)) {
			t.Errorf("fmt prints %q", got)
		}
	}
}

// typedReaders are all methods that read text into a Typed.
var typedReaders = map[string]func(id *userID, text string) error{
	"ParseTyped": func(id *userID, text string) (err error) {
		*id, err = sqltypes.ParseTyped[userKind](text)
		return err
	},
	"UnmarshalText":  func(id *userID, text string) error { return id.UnmarshalText([]byte(text)) },
	"UnmarshalParam": func(id *userID, text string) error { return id.UnmarshalParam(text) },
	"UnmarshalJSON":  func(id *userID, text string) error { return id.UnmarshalJSON([]byte(`"` + text + `"`)) },
}

func TestTypedReadsWhatItPrints(t *testing.T) {
	for name, read := range typedReaders {
		for want, text := range typedTexts {
			got := userID(42)
			if err := read(&got, text); got != want || err != nil {
				t.Errorf("%s of %q = %d, %v, want %d", name, text, got, err, want)
			}
		}
	}
}

func TestTypedRefusesOtherTextAndIsReset(t *testing.T) {
	for want, texts := range map[error][]string{
		snowflake.ErrSyntax: {
			"", "user", "user_", "_", "null", "175928847299117063", "user_175928847299117063", // decimal digits of any ID
			"04W86BB0G4007", "_04W86BB0G4007", "__04W86BB0G4007", "user__04W86BB0G4007", "User_04W86BB0G4007", "user-04W86BB0G4007",
			"user_04w86bb0g4007", "order_04w86bb0g4007", "user_O4W82HKRZRX07", // Crockford's decoder takes this O for a 0
			"user_04W86BB0G400", "user_004W86BB0G4007", "user_04W86BB0G4007 ", " user_04W86BB0G4007", "user_04W86BB0G400\u00e9",
		},
		snowflake.ErrRange: {"user_G000000000000", "order_G000000000000"}, // 2^64
		sqltypes.ErrPrefix: {
			"order_04W86BB0G4007", "use_04W86BB0G4007", "users_04W86BB0G4007", "my_user_04W86BB0G4007", "user_user_04W86BB0G4007",
		},
	} {
		for name, read := range typedReaders {
			for _, text := range texts {
				got := userID(42)
				err := read(&got, text)
				if !errors.Is(err, want) || got != 0 {
					t.Fatalf("%s of %q = %d, %v, want 0, %v", name, text, got, err, want)
				}
				wantOneReason(t, name, err)
			}
		}
	}
}

func TestTypedTextsSortAsTheIDs(t *testing.T) {
	// Negative IDs are last.
	ids := slices.SortedFunc(maps.Keys(typedTexts), func(a, b userID) int { return cmp.Compare(uint64(a), uint64(b)) })
	if !slices.IsSortedFunc(ids, func(a, b userID) int { return strings.Compare(a.String(), b.String()) }) {
		t.Errorf("the texts of %d do not sort as the IDs: %s", ids, ids)
	}
}

func TestTypedConvertsFromAndToAnID(t *testing.T) {
	const id = 1234567890123456789
	typed := userID(snowflake.ID(id))
	value, err := typed.Value()
	if typed.SnowflakeID() != id || value != int64(id) || err != nil || typed.GormDataType() != "bigint" {
		t.Errorf("%d is stored as %v, %v", typed, value, err)
	}
	if typed.SetSnowflakeID(7); typed != 7 {
		t.Errorf("SetSnowflakeID(7) made it %d", typed)
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
		{int64(math.MinInt64), math.MinInt64, nil},
		{uint64(7), 7, nil},
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
		{"user_0000000000007", 0, snowflake.ErrSyntax},
		{"9223372036854775808", 0, snowflake.ErrRange},
		{uint64(math.MaxUint64), 0, snowflake.ErrRange},
		{7.0, 0, snowflake.ErrType},
		{[]int{7}, 0, snowflake.ErrType},
	} {
		got := userID(42)
		if err := got.Scan(test.src); got != test.want || !errors.Is(err, test.err) {
			t.Errorf("Scan(%T %v) = %d, %v, want %d, %v", test.src, test.src, got, err, test.want, test.err)
		}
	}
}

func TestTypedScanErrorsNameTheRemedy(t *testing.T) {
	for want, src := range map[string]any{
		"snowflake: NULL is not an ID: use a pointer for a column that may be NULL": nil,
		"snowflake: nil *snowflake.ID is not an ID: use a pointer":                  (*snowflake.ID)(nil),
		"snowflake: nil *sqltypes.Typed[":                                           (*userID)(nil),
		`snowflake: string "user_0000000000007" is not an ID: the column holds text with a prefix, want the number; ` +
			`make the column BIGINT (INTEGER on SQLite)`: "user_0000000000007",
		`snowflake: []byte "user_` + strings.Repeat("7", 32) + `..." is`:       []byte("user_" + strings.Repeat("7", 1000)),
		`snowflake: string "007" is not an ID: a number starts without a zero`: "007",
	} {
		var id userID
		if err := id.Scan(src); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("Scan(%T): %v\nwant %s", src, err, want)
		}
	}
}
