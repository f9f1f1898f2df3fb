package sqltypes_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/sqlflake/sqlflake/snowflake"
	"github.com/sqlflake/sqlflake/sqltypes"
)

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
