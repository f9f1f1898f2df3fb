package sqltypes_test

import (
	"encoding/json"
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
			`byte 12 is "o", which is not in the alphabet`,
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

// typedText writes and reads an ID of any kind.
type typedText struct {
	format func() (text string, err error)
	parse  func(text string) error
}

func textOf[K sqltypes.Kind]() typedText {
	return typedText{
		func() (string, error) {
			text, err := sqltypes.Typed[K](7).MarshalText()
			return string(text), err
		},
		func(text string) error {
			id := sqltypes.Typed[K](42)
			err := id.UnmarshalText([]byte(text))
			if err == nil && id != 7 || err != nil && id != 0 {
				return errors.New("read " + id.String())
			}
			return err
		},
	}
}

// A prefix may have underscores, so the last one ends it.
func TestPrefixesWithUnderscoresAreReadBack(t *testing.T) {
	for want, kind := range map[string]typedText{
		"my_api__key_0000000000007":                       textOf[apiKeyKind](),
		"x_0000000000007":                                 textOf[shortestKind](),
		"a" + strings.Repeat("_", 61) + "z_0000000000007": textOf[longestKind](),
	} {
		text, err := kind.format()
		if text != want || err != nil {
			t.Errorf("7 is written as %q, %v, want %q", text, err, want)
		}
		if err := kind.parse(text); err != nil {
			t.Errorf("%q: %v", text, err)
		}
		if err := kind.parse("user_" + text); strings.HasPrefix(want, "a_") {
			if !errors.Is(err, snowflake.ErrSyntax) { // a prefix has at most 63 characters
				t.Errorf("%q: %v, want an ErrSyntax", "user_"+text, err)
			}
		} else if !errors.Is(err, sqltypes.ErrPrefix) {
			t.Errorf("%q: %v, want an ErrPrefix", "user_"+text, err)
		}
	}
	_, err := sqltypes.ParseTyped[userKind]("my_api__key_0000000000007")
	if !errors.Is(err, sqltypes.ErrPrefix) || !strings.Contains(err.Error(), `"my_api__key", want`) {
		t.Errorf("error %v, want one that names the prefix my_api__key", err)
	}
}

type (
	emptyKind    struct{}
	upperKind    struct{}
	digitKind    struct{}
	leadingKind  struct{}
	trailingKind struct{}
	accentKind   struct{}
	longKind     struct{}
	blankKind    struct{}
)

func (emptyKind) Prefix() string    { return "" }
func (upperKind) Prefix() string    { return "User" }
func (digitKind) Prefix() string    { return "user2" }
func (leadingKind) Prefix() string  { return "_user" }
func (trailingKind) Prefix() string { return "user_" }
func (accentKind) Prefix() string   { return "usér" }
func (longKind) Prefix() string     { return strings.Repeat("a", 64) }
func (blankKind) Prefix() string    { return "_" }

func TestInvalidPrefixIsErrKind(t *testing.T) {
	t.Run("empty", func(t *testing.T) { testBadKind[emptyKind](t) })
	t.Run("upper case", func(t *testing.T) { testBadKind[upperKind](t) })
	t.Run("digit", func(t *testing.T) { testBadKind[digitKind](t) })
	t.Run("leading underscore", func(t *testing.T) { testBadKind[leadingKind](t) })
	t.Run("trailing underscore", func(t *testing.T) { testBadKind[trailingKind](t) })
	t.Run("accent", func(t *testing.T) { testBadKind[accentKind](t) })
	t.Run("64 letters", func(t *testing.T) { testBadKind[longKind](t) })
	t.Run("underscore only", func(t *testing.T) { testBadKind[blankKind](t) })
}

func testBadKind[K interface {
	sqltypes.Kind
	comparable
}](t *testing.T) {
	id := sqltypes.Typed[K](7)
	text := K{}.Prefix() + "_0000000000007"
	check := func(what string, err error) {
		t.Helper()
		if err == nil || !strings.Contains(err.Error(), "Kind has the prefix \"") || len(err.Error()) > 400 {
			t.Errorf("%s: error %v does not name the type and the prefix", what, err)
		}
	}
	_, err := id.MarshalText()
	check("MarshalText", err)
	_, err = json.Marshal(id)
	check("Marshal", err)
	_, err = sqltypes.ParseTyped[K](text)
	check("ParseTyped", err)
	check("UnmarshalText", id.UnmarshalText([]byte(text)))
	check("UnmarshalParam", id.UnmarshalParam(text))
	check("Unmarshal", json.Unmarshal([]byte(`"`+text+`"`), &id))
	check("Unmarshal of a number", json.Unmarshal([]byte(`7`), &id))
	if id != 0 {
		t.Errorf("the ID is %d after an error", id)
	}

	printed := sqltypes.Typed[K](7).String()
	if !strings.HasPrefix(printed, "!(sqltypes_test.") || !strings.HasSuffix(printed, "Kind)_0000000000007") {
		t.Errorf("printed as %q", printed)
	}
	if _, err := sqltypes.ParseTyped[userKind](printed); !errors.Is(err, snowflake.ErrSyntax) {
		t.Errorf("%q: %v, want an ErrSyntax", printed, err)
	}
	// The database does not see the prefix.
	value, err := sqltypes.Typed[K](7).Value()
	if scanErr := id.Scan(value); value != int64(7) || err != nil || scanErr != nil || id != 7 {
		t.Errorf("stored as %v, %v, read back as %d, %v", value, err, id, scanErr)
	}
}
