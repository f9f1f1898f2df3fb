package sqltypes_test

import (
	"encoding/json"
	"errors"
	"testing"

	"github.com/sqlflake/sqlflake/snowflake"
	"github.com/sqlflake/sqlflake/sqltypes"
)

func TestTypedJSONIsAStringAndIsReadBack(t *testing.T) {
	for want, text := range typedTexts {
		encoded, err := json.Marshal(want)
		if string(encoded) != `"`+text+`"` || err != nil {
			t.Errorf("Marshal of %d = %s, %v, want %q", want, encoded, err, text)
		}
		got := userID(42)
		if err := json.Unmarshal(encoded, &got); got != want || err != nil {
			t.Errorf("Unmarshal(%s) = %d, %v, want %d", encoded, got, err, want)
		}
	}
	got := userID(42)
	if err := json.Unmarshal([]byte(`"\u0075ser\u005f04W86BB0G4007"`), &got); got != 175928847299117063 || err != nil {
		t.Errorf("with escapes: %d, %v", got, err)
	}
}

func TestTypedJSONRejectsNumbersAndOtherKindsAndIsReset(t *testing.T) {
	for in, want := range map[string]error{
		`7`:                          snowflake.ErrType,
		`175928847299117063`:         snowflake.ErrType,
		`0`:                          snowflake.ErrType,
		`-5`:                         snowflake.ErrType,
		`1.5e3`:                      snowflake.ErrType,
		`true`:                       snowflake.ErrType,
		`false`:                      snowflake.ErrType,
		`[]`:                         snowflake.ErrType,
		`{"id":7}`:                   snowflake.ErrType,
		`"175928847299117063"`:       snowflake.ErrSyntax,
		`""`:                         snowflake.ErrSyntax,
		`"null"`:                     snowflake.ErrSyntax,
		`"04W86BB0G4007"`:            snowflake.ErrSyntax,
		`"user_04w86bb0g4007"`:       snowflake.ErrSyntax,
		`"user_G000000000000"`:       snowflake.ErrRange,
		`"order_04W86BB0G4007"`:      sqltypes.ErrPrefix,
		`"order\u005f04W86BB0G4007"`: sqltypes.ErrPrefix,
	} {
		got := userID(42)
		if err := json.Unmarshal([]byte(in), &got); !errors.Is(err, want) || got != 0 {
			t.Errorf("Unmarshal(%s) = %d, %v, want 0, %v", in, got, err, want)
		}
	}
	for _, in := range []string{"", `"`, `"\x"`, "order_04W86BB0G4007", "tru", "nul"} { // encoding/json never passes these
		got := userID(42)
		if err := got.UnmarshalJSON([]byte(in)); err == nil || got != 0 {
			t.Errorf("UnmarshalJSON(%s) = %d, %v", in, got, err)
		}
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
	want := post{Author: 1, Editor: &editor, Quoted: 3, Note: 4, Likes: map[userID]int{5: 6}}
	text, err := json.Marshal(want)
	if string(text) != `{"author":"user_0000000000001","editor":"user_0000000000002","quoted":"user_0000000000003",`+
		`"note":"note_0000000000004","likes":{"user_0000000000005":6}}` || err != nil {
		t.Errorf("Marshal = %s, %v", text, err)
	}
	got := post{Author: 42, Quoted: 42}
	if err := json.Unmarshal(text, &got); err != nil || got.Author != 1 || *got.Editor != 2 || got.Quoted != 3 ||
		got.Note != 4 || len(got.Likes) != 1 || got.Likes[5] != 6 {
		t.Errorf("Unmarshal(%s) = %+v, %v", text, got, err)
	}

	for in, wantErr := range map[string]error{
		`{"editor":"order_0000000000001"}`:    sqltypes.ErrPrefix,
		`{"quoted":"order_0000000000001"}`:    sqltypes.ErrPrefix,
		`{"quoted":"true_0000000000001"}`:     sqltypes.ErrPrefix,
		`{"likes":{"order_0000000000001":1}}`: sqltypes.ErrPrefix,
		`{"likes":{"1":1}}`:                   snowflake.ErrSyntax,
	} {
		got := post{Author: 42, Quoted: 42}
		if err := json.Unmarshal([]byte(in), &got); !errors.Is(err, wantErr) {
			t.Errorf("Unmarshal(%s): %v, want %v", in, err, wantErr)
		}
	}
	// Version 1 of encoding/json passes the text without its quotes, version 2 the string.
	err = json.Unmarshal([]byte(`{"quoted":"1"}`), &got)
	if !errors.Is(err, snowflake.ErrType) && !errors.Is(err, snowflake.ErrSyntax) {
		t.Errorf("Unmarshal of a quoted number: %v, want %v or %v", err, snowflake.ErrType, snowflake.ErrSyntax)
	}
}

// encoding/json prescribes it for all types that have no NULL.
func TestTypedJSONNullLeavesTheIDUnchanged(t *testing.T) {
	got := userID(42)
	if err := json.Unmarshal([]byte(`null`), &got); got != 42 || err != nil {
		t.Errorf("Unmarshal(null) = %d, %v, want it unchanged", got, err)
	}
	pointer := &got
	if err := json.Unmarshal([]byte(`null`), &pointer); pointer != nil || err != nil {
		t.Errorf("Unmarshal(null) = %d, %v, want a nil pointer", pointer, err)
	}
}

// The only effect of the option string, which the comment documents: version 1 of encoding/json rejects the text.
func TestTypedPointerWithOptionStringAndPrefixN(t *testing.T) {
	var got struct {
		Note *sqltypes.Typed[noteKind] `json:"note,string"`
	}
	if err := json.Unmarshal([]byte(`{"note":"note_0000000000004"}`), &got); err == nil && (got.Note == nil || *got.Note != 4) {
		t.Errorf("read %v, want an error, or the ID", got.Note)
	}
	got.Note = nil
	if err := json.Unmarshal([]byte(`{"note":null}`), &got); got.Note != nil || err != nil {
		t.Errorf("null is read as %v, %v", got.Note, err)
	}
}
