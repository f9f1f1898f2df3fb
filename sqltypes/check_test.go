package sqltypes_test

import (
	"encoding/json"
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/sqlflake/sqlflake/snowflake"
	"github.com/sqlflake/sqlflake/sqltypes"
)

type checkedKind struct{}

func (checkedKind) Prefix() string { return "user" }
func (checkedKind) Checked()       {}

type checkedID = sqltypes.Typed[checkedKind]

// The vectors of docs/spec have more of them.
func TestCheckedTextsAreReadFromJSON(t *testing.T) {
	const id, want = checkedID(175928847299117063), "user_04W86BB0G4007F"
	for _, text := range []string{want, `user\u005f04W86BB0G4007F`} {
		var got checkedID
		if err := json.Unmarshal([]byte(`"`+text+`"`), &got); got != id || err != nil {
			t.Errorf("%s is read as %d, %v, want %d", text, got, err, id)
		}
	}
	if text, err := json.Marshal(id); string(text) != `"`+want+`"` || err != nil {
		t.Errorf("JSON of %d is %s, %v", id, text, err)
	}
}

func TestACheckedTextWithOneWrongOrTwoSwappedCharactersIsRefused(t *testing.T) {
	const alphabet = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
	refused := func(text, why string) {
		t.Helper()
		if id, err := sqltypes.ParseTyped[checkedKind](text); id != 0 || !errors.Is(err, snowflake.ErrSyntax) && !errors.Is(err, snowflake.ErrRange) {
			t.Fatalf("%q with %s is read as %d, %v", text, why, id, err)
		}
	}
	for _, id := range []checkedID{0, 1, 31, 175928847299117063, 1234567890123456789, math.MaxInt64, -5} {
		prefix, suffix := "user_", id.String()[5:]
		for i := range suffix {
			for _, c := range alphabet {
				if byte(c) != suffix[i] {
					refused(prefix+suffix[:i]+string(c)+suffix[i+1:], "another character")
				}
			}
			for j := i + 1; j < len(suffix); j++ {
				if suffix[i] != suffix[j] {
					swapped := []byte(suffix)
					swapped[i], swapped[j] = swapped[j], swapped[i]
					refused(prefix+string(swapped), "two swapped characters")
				}
			}
			refused(prefix+suffix[:i]+suffix[i+1:], "a character less")
			refused(prefix+suffix[:i]+suffix[i:i+1]+suffix[i:], "a character twice")
		}
	}
}

func TestErrorsOfCheckedTextsSayWhatToCheck(t *testing.T) {
	for text, want := range map[string]string{
		"user_00000000000013":  "its last character does not fit the others: one is wrong, or some are swapped",
		"user_0000000000001":   "want 13 characters of base 32 and a check character after the last underscore",
		"user_000000000000":    "want 13 characters, got 12",
		"user_0000000000001o":  "its last character does not fit",
		"order_00000000000012": `it has the prefix "order", want "user"`,
		"":                     "it has no prefix",
		"00000000000012":       "it has no prefix",
	} {
		if _, err := sqltypes.ParseTyped[checkedKind](text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("ParseTyped(%q): %v\nwant %s", text, err, want)
		}
	}
	_, own := sqltypes.ParseTyped[userKind]("user_00000000000012")
	_, other := sqltypes.ParseTyped[userKind]("order_00000000000012")
	_, checked := sqltypes.ParseTyped[checkedKind]("order_0000000000001")
	if !errors.Is(own, snowflake.ErrSyntax) || !errors.Is(other, sqltypes.ErrPrefix) || !errors.Is(checked, sqltypes.ErrPrefix) {
		t.Errorf("with and without the character where it is not expected: %v, %v, %v", own, other, checked)
	}
}

type pointerKind struct{}

func (pointerKind) Prefix() string { return "team" }
func (*pointerKind) Checked()      {}

func TestCheckedCountsAlsoOnAPointerReceiver(t *testing.T) {
	if got, want := sqltypes.Typed[pointerKind](1).String(), "team_00000000000012"; got != want {
		t.Errorf("String = %q, want %q", got, want)
	}
}
