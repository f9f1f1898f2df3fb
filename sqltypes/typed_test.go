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

// idValue and idPointer are the interfaces of Typed, Text and uuidkey.ID.
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

func TestTypedErrorsNameTheInputAndTheRule(t *testing.T) {
	for text, want := range map[string]string{
		"7": `snowflake: text "7" is not an ID: it has no prefix, want "user_" and 13 characters of base 32`,
		"user_7": `snowflake: text "user_7" is not an ID: in the base 32 after its last underscore: ` +
			`want 13 characters, got 1`,
		"user_000000000000o": `snowflake: text "user_000000000000o" is not an ID: in the base 32 after its last underscore: ` +
			`want digits and capitals without I, L, O and U`,
		"order_0000000000007": `snowflake: text "order_0000000000007" is not an ID: it has the prefix "order", want "user"`,
		"User_0000000000007":  `snowflake: text "User_0000000000007" is not an ID: want the prefix "user", this one is invalid`,
		"_0000000000007":      `snowflake: text "_0000000000007" is not an ID: want the prefix "user", this one is invalid`,
		strings.Repeat("z", 40): `snowflake: text "` + strings.Repeat("z", 40) + `" is not an ID: ` +
			`it has no prefix, want "user_" and 13 characters of base 32`,
		strings.Repeat("z", 41): `snowflake: text "` + strings.Repeat("z", 37) + `..." is not an ID: ` +
			`it has no prefix, want "user_" and 13 characters of base 32`,
	} {
		if _, err := sqltypes.ParseTyped[userKind](text); err == nil || err.Error() != want {
			t.Errorf("ParseTyped(%.50q): %v\nwant %s", text, err, want)
		}
	}
}

// A prefix may have underscores, so the last one ends it.
func TestPrefixesWithUnderscoresAreReadBack(t *testing.T) {
	t.Run("inside", testGoodKind[apiKeyKind])
	t.Run("one letter", testGoodKind[shortestKind])
	t.Run("63 letters", testGoodKind[longestKind])
	_, err := sqltypes.ParseTyped[userKind]("my_api__key_0000000000007")
	if !errors.Is(err, sqltypes.ErrPrefix) || !strings.Contains(err.Error(), `"my_api__key", want`) {
		t.Errorf("error %v, want one that names the prefix my_api__key", err)
	}
}

func testGoodKind[K sqltypes.Kind](t *testing.T) {
	want := K{}.Prefix() + "_0000000000007"
	text, err := sqltypes.Typed[K](7).MarshalText()
	if id, parseErr := sqltypes.ParseTyped[K](want); string(text) != want || err != nil || id != 7 || parseErr != nil {
		t.Errorf("7 is written as %q, %v, read back as %d, %v", text, err, id, parseErr)
	}
	wantErr := sqltypes.ErrPrefix
	if len(want) > 70 {
		wantErr = snowflake.ErrSyntax // a prefix has at most 63 characters
	}
	if id, err := sqltypes.ParseTyped[K]("user_" + want); id != 0 || !errors.Is(err, wantErr) {
		t.Errorf("%q is read as %d, %v, want %v", "user_"+want, id, err, wantErr)
	}
}

type (
	emptyKind    struct{}
	upperKind    struct{}
	leadingKind  struct{}
	trailingKind struct{}
	accentKind   struct{}
	longKind     struct{}
)

func (emptyKind) Prefix() string    { return "" }
func (upperKind) Prefix() string    { return "User" }
func (leadingKind) Prefix() string  { return "_user" }
func (trailingKind) Prefix() string { return "user_" }
func (accentKind) Prefix() string   { return "usér" }
func (longKind) Prefix() string     { return strings.Repeat("a", 64) }

func TestInvalidPrefixIsAnError(t *testing.T) {
	t.Run("empty", testBadKind[emptyKind])
	t.Run("upper case", testBadKind[upperKind])
	t.Run("leading underscore", testBadKind[leadingKind])
	t.Run("trailing underscore", testBadKind[trailingKind])
	t.Run("accent", testBadKind[accentKind])
	t.Run("64 letters", testBadKind[longKind])
}

func testBadKind[K sqltypes.Kind](t *testing.T) {
	id := sqltypes.Typed[K](7)
	text := K{}.Prefix() + "_0000000000007"
	_, marshalErr := id.MarshalText()
	appended, appendErr := id.AppendText([]byte("id="))
	_, parseErr := sqltypes.ParseTyped[K](text)
	for i, err := range []error{
		marshalErr, appendErr, parseErr, id.UnmarshalText([]byte(text)), id.UnmarshalParam(text),
		id.UnmarshalJSON([]byte(`"` + text + `"`)), id.UnmarshalJSON([]byte(`7`)),
	} {
		if err == nil || !strings.Contains(err.Error(), "Kind has the prefix \"") || len(err.Error()) > 400 {
			t.Errorf("error %d is %v, want one that names the type and the prefix", i, err)
		}
	}

	if id != 0 || string(appended) != "id=" {
		t.Errorf("after errors the ID is %d, and %q was appended", id, appended)
	}

	printed := sqltypes.Typed[K](7).String()
	if !strings.HasPrefix(printed, "!(sqltypes_test.") || !strings.HasSuffix(printed, "Kind)_0000000000007") {
		t.Errorf("printed as %q", printed)
	}

	// The database does not see the prefix.
	value, err := sqltypes.Typed[K](7).Value()
	if scanErr := id.Scan(value); value != int64(7) || err != nil || scanErr != nil || id != 7 {
		t.Errorf("stored as %v, %v, read back as %d, %v", value, err, id, scanErr)
	}
}
