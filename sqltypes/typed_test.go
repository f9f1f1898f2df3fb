package sqltypes_test

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/sqlflake/sqlflake/snowflake"
	"github.com/sqlflake/sqlflake/sqltypes"
)

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
	for name, read := range typedReaders {
		for _, test := range []struct {
			text string
			want error
		}{
			{"", snowflake.ErrSyntax},
			{"user", snowflake.ErrSyntax},
			{"user_", snowflake.ErrSyntax},
			{"_", snowflake.ErrSyntax},
			{"null", snowflake.ErrSyntax},
			{"175928847299117063", snowflake.ErrSyntax},      // decimal digits of any ID
			{"04W86BB0G4007", snowflake.ErrSyntax},           // no prefix
			{"_04W86BB0G4007", snowflake.ErrSyntax},          // an empty one
			{"__04W86BB0G4007", snowflake.ErrSyntax},         // an invalid one
			{"user__04W86BB0G4007", snowflake.ErrSyntax},     // the prefix "user_"
			{"User_04W86BB0G4007", snowflake.ErrSyntax},      // upper case
			{"USER_04W86BB0G4007", snowflake.ErrSyntax},      //
			{"user-04W86BB0G4007", snowflake.ErrSyntax},      // another separator
			{"user_04w86bb0g4007", snowflake.ErrSyntax},      // lower case
			{"user_O4W82HKRZRX07", snowflake.ErrSyntax},      // a letter that Crockford reads as 0
			{"user_04W86BB0G400", snowflake.ErrSyntax},       // 12 characters
			{"user_004W86BB0G4007", snowflake.ErrSyntax},     // 14
			{"user_04W86BB0G4007 ", snowflake.ErrSyntax},     //
			{" user_04W86BB0G4007", snowflake.ErrSyntax},     //
			{"user_04W86BB0G400\u00e9", snowflake.ErrSyntax}, //
			{"user_175928847299117063", snowflake.ErrSyntax}, // decimal digits
			{"user_G000000000000", snowflake.ErrRange},       // 2^64
			{"user_ZZZZZZZZZZZZZ", snowflake.ErrRange},       //
			{"order_G000000000000", snowflake.ErrRange},      // an ID of another kind
			{"order_04w86bb0g4007", snowflake.ErrSyntax},     //
			{"order_04W86BB0G4007", sqltypes.ErrPrefix},      // other kinds
			{"use_04W86BB0G4007", sqltypes.ErrPrefix},        //
			{"users_04W86BB0G4007", sqltypes.ErrPrefix},      //
			{"my_user_04W86BB0G4007", sqltypes.ErrPrefix},    //
			{"user_user_04W86BB0G4007", sqltypes.ErrPrefix},  //
		} {
			got := userID(42)
			err := read(&got, test.text)
			if !errors.Is(err, test.want) || got != 0 {
				t.Fatalf("%s of %q = %d, %v, want 0, %v", name, test.text, got, err, test.want)
			}
			wantOneReason(t, name, err)
		}
	}
}

func TestTypedTextsSortAsTheIDs(t *testing.T) {
	var ids []userID
	for id := range typedTexts {
		if id >= 0 {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	texts := make([]string, len(ids))
	for i, id := range ids {
		texts[i] = id.String()
	}
	if !slices.IsSorted(ids) || !slices.IsSorted(texts) {
		t.Errorf("IDs %d, texts %s", ids, texts)
	}
	if last := texts[len(texts)-1]; !strings.HasPrefix(last, "user_7") || userID(-1).String() < last {
		t.Errorf("negative IDs come before %s", last)
	}
}

func TestTypedConvertsFromAndToAnID(t *testing.T) {
	id := snowflake.ID(1234567890123456789)
	typed := userID(id)
	if snowflake.ID(typed) != id || typed.SnowflakeID() != id {
		t.Errorf("%d was converted to %d", id, typed)
	}
	typed.SetSnowflakeID(7)
	if typed != 7 {
		t.Errorf("SetSnowflakeID(7) made it %d", typed)
	}
	if got, err := userID(id).Value(); got != int64(id) || err != nil {
		t.Errorf("Value of %d = %T %v, %v", id, got, got, err)
	}
	if got := typed.GormDataType(); got != "bigint" {
		t.Errorf("GormDataType() = %q, want bigint", got)
	}
}
