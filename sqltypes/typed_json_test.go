package sqltypes_test

import (
	"encoding/json"
	"errors"
	"reflect"
	"testing"

	"github.com/sqlflake/sqlflake/sqltypes"
)

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
