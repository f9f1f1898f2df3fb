package sqltypes_test

import (
	"encoding"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"reflect"
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
	columnValue
}

type idPointer[T any] interface {
	columnPointer[T]
	gormplugin.Key
}

// Without AppendText, version 2 of encoding/json would allocate once more than for an ID.
var _ encoding.TextAppender = userID(0)

func TestTyped(t *testing.T) {
	test := ofID[userID]("", "bigint")
	test.text = func(id snowflake.ID) string { return "user_" + id.Base32() }
	test.badText = map[error][]string{
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
	}
	test.badJSON = map[error][]string{
		snowflake.ErrType: {`7`, `0`, `-5`, `1.5e3`, `true`, `false`, `[]`, `{"id":7}`},
		// encoding/json does not pass these.
		snowflake.ErrSyntax: {``, `"`, `"\x"`, `tru`, `nul`},
		sqltypes.ErrPrefix:  {`"order\u005f04W86BB0G4007"`, `order_04W86BB0G4007`},
	}
	test.scans = []scanTest[userID]{
		{src: uint64(7), want: 7},
		{src: nil, err: snowflake.ErrNull, message: "snowflake: NULL is not an ID: use *sqltypes.Typed or sql.Null[sqltypes.Typed] for a column that may be NULL"},
		{src: (*snowflake.ID)(nil), err: snowflake.ErrNull, message: "snowflake: nil *snowflake.ID is not an ID: use *sqltypes.Typed"},
		{src: (*userID)(nil), err: snowflake.ErrNull, message: "snowflake: nil *sqltypes.Typed["},
		{src: orderID(7), err: snowflake.ErrType},
		{src: new(orderID), err: snowflake.ErrType},
		{src: "9223372036854775808", err: snowflake.ErrRange},
		{src: uint64(math.MaxUint64), err: snowflake.ErrRange},
		{src: "user_0000000000007", err: snowflake.ErrSyntax, message: `snowflake: string "user_0000000000007" is not an ID: ` +
			`the column holds text with a prefix, want the number; make the column BIGINT (INTEGER on SQLite)`},
		{
			src: []byte("user_" + strings.Repeat("7", 1000)), err: snowflake.ErrSyntax,
			message: `snowflake: []byte "user_` + strings.Repeat("7", 32) + `..." is`,
		},
		{src: "007", err: snowflake.ErrSyntax, message: `snowflake: string "007" is not an ID: a number starts without a zero`},
	}
	testColumn(t, test)
	id, want := userID(175928847299117063), "user_04W86BB0G4007"
	if text, err := id.AppendText([]byte("id=")); string(text) != "id="+want || err != nil {
		t.Errorf("AppendText of %d = %q, %v, want %q", id, text, err, "id="+want)
	}
	if got := fmt.Sprintf("%v %s %d", id, id, id); got != want+" "+want+" 175928847299117063" {
		t.Errorf("fmt prints %q", got)
	}
}

// The compiler rejects what mixes them, and a Kind that is no empty struct: K{} needs it.
func TestTypedIDsOfTwoKindsDoNotMix(t *testing.T) {
	user, order, id := reflect.TypeFor[userID](), reflect.TypeFor[orderID](), reflect.TypeFor[snowflake.ID]()
	if user.AssignableTo(order) || user.AssignableTo(id) || id.AssignableTo(user) || !user.ConvertibleTo(id) {
		t.Error("a userID is an orderID, or an ID, without a conversion")
	}
}

func TestTypedInAJSONObject(t *testing.T) {
	type post struct {
		Author userID                   `json:"author"`
		Editor *userID                  `json:"editor"`
		Hidden userID                   `json:"hidden,omitzero"`
		Quoted userID                   `json:"quoted,string"` // not needed, and harmless where it is written
		Note   sqltypes.Typed[noteKind] `json:"note,string"`
		Likes  map[userID]int           `json:"likes"`
	}
	editor := userID(2)
	in := post{Author: 1, Editor: &editor, Quoted: 3, Note: 4, Likes: map[userID]int{5: 6}}
	text, err := json.Marshal(in)
	const want = `{"author":"user_0000000000001","editor":"user_0000000000002","quoted":"user_0000000000003",` +
		`"note":"note_0000000000004","likes":{"user_0000000000005":6}}`
	got := post{Author: 42, Quoted: 42}
	if string(text) != want || err != nil || json.Unmarshal(text, &got) != nil || !reflect.DeepEqual(got, in) {
		t.Errorf("Marshal = %s, %v, want %s, read back as %+v", text, err, want, got)
	}
	if err := json.Unmarshal([]byte(`"\u0075ser\u005f04W86BB0G4007"`), &editor); editor != 175928847299117063 || err != nil {
		t.Errorf("with escapes: %d, %v", editor, err)
	}
	for _, text := range []string{
		`{"editor":"order_0000000000001"}`, `{"quoted":"order_0000000000001"}`, `{"quoted":"true_0000000000001"}`,
		`{"likes":{"order_0000000000001":1}}`,
	} {
		if err := json.Unmarshal([]byte(text), &got); !errors.Is(err, sqltypes.ErrPrefix) {
			t.Errorf("Unmarshal(%s): %v, want %v", text, err, sqltypes.ErrPrefix)
		}
	}
}
