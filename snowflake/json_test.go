package snowflake_test

import (
	"encoding/json"
	"errors"
	"strconv"
	"testing"

	"github.com/sqlflake/sqlflake/snowflake"
)

func TestJSONOfAnIDIsAString(t *testing.T) {
	for text, id := range acceptedTexts {
		out, err := json.Marshal(id)
		if want := `"` + text + `"`; string(out) != want || err != nil {
			t.Errorf("Marshal(%d) = %s, %v, want %s", id, out, err, want)
		}
	}
}

func TestJSONStringsAndIntegersAreRead(t *testing.T) {
	for text, want := range acceptedTexts {
		for _, in := range []string{`"` + text + `"`, text, " " + text + "\n"} {
			id := snowflake.ID(42)
			if err := json.Unmarshal([]byte(in), &id); id != want || err != nil {
				t.Errorf("Unmarshal(%s) = %d, %v, want %d", in, id, err, want)
			}
		}
	}
}

func TestJSONEscapesAreDecodedFirst(t *testing.T) {
	for in, want := range map[string]snowflake.ID{
		`"\u0031"`:                       1,
		`"1\u0032\u0033"`:                123,
		`"\u002d5"`:                      -5,
		`"\u002D5"`:                      -5,
		`"175928847299117\u00306\u0033"`: 175928847299117063,
	} {
		id := snowflake.ID(42)
		if err := json.Unmarshal([]byte(in), &id); id != want || err != nil {
			t.Errorf("Unmarshal(%s) = %d, %v, want %d", in, id, err, want)
		}
	}
}

func TestJSONNullLeavesTheIDAlone(t *testing.T) {
	id := snowflake.ID(42)
	if err := json.Unmarshal([]byte("null"), &id); id != 42 || err != nil {
		t.Errorf("Unmarshal(null) = %d, %v, want 42", id, err)
	}
	pointer := &id
	if err := json.Unmarshal([]byte("null"), &pointer); pointer != nil || err != nil {
		t.Errorf("Unmarshal(null) into *ID = %v, %v, want nil", pointer, err)
	}
}

func TestJSONOfOtherKindsIsRefusedAndKeepsTheID(t *testing.T) {
	for in, want := range map[string]error{
		`""`:                         snowflake.ErrSyntax,
		`" "`:                        snowflake.ErrSyntax,
		`1.5`:                        snowflake.ErrSyntax,
		`5.0`:                        snowflake.ErrSyntax,
		`1e3`:                        snowflake.ErrSyntax,
		`1E+18`:                      snowflake.ErrSyntax,
		`-0`:                         snowflake.ErrSyntax,
		`"-0"`:                       snowflake.ErrSyntax,
		`"+5"`:                       snowflake.ErrSyntax,
		`"007"`:                      snowflake.ErrSyntax,
		`" 5"`:                       snowflake.ErrSyntax,
		`"5\n"`:                      snowflake.ErrSyntax,
		`"\u0035\u0020"`:             snowflake.ErrSyntax,
		`"\"5\""`:                    snowflake.ErrSyntax,
		`"null"`:                     snowflake.ErrSyntax,
		`"\u006eull"`:                snowflake.ErrSyntax,
		`"\ud800"`:                   snowflake.ErrSyntax,
		`9223372036854775808`:        snowflake.ErrRange,
		`-9223372036854775809`:       snowflake.ErrRange,
		`"9223372036854775808"`:      snowflake.ErrRange,
		`"922337203685477580\u0038"`: snowflake.ErrRange,
		`true`:                       snowflake.ErrType,
		`false`:                      snowflake.ErrType,
		`[]`:                         snowflake.ErrType,
		`[1]`:                        snowflake.ErrType,
		`{}`:                         snowflake.ErrType,
		`{"id":"1"}`:                 snowflake.ErrType,
	} {
		id := snowflake.ID(42)
		err := json.Unmarshal([]byte(in), &id)
		wantError(t, in, err, want)
		if id != 42 {
			t.Errorf("Unmarshal(%s) changed the ID to %d on an error", in, id)
		}
	}
}

// Callers other than encoding/json may pass what is not JSON.
func TestUnmarshalJSONRefusesWhatIsNotJSON(t *testing.T) {
	for _, in := range []string{``, `"`, `""`, `"5`, `5"`, `15"`, `"15`, `'15"`, `'5'`, ` 5`, `"5" `, `007`, `+5`, `nul`, `nulll`, `NULL`, `"\u003"`, `"\5"`, `"1\"`} {
		id := snowflake.ID(42)
		wantError(t, strconv.Quote(in), id.UnmarshalJSON([]byte(in)), snowflake.ErrSyntax)
		if id != 42 {
			t.Errorf("UnmarshalJSON(%q) changed the ID to %d on an error", in, id)
		}
	}
}

// encoding/json takes the quotes off a value of a field with this option before it calls UnmarshalJSON.
func TestJSONTagStringRoundTrips(t *testing.T) {
	type record struct {
		ID     snowflake.ID  `json:"id,string"`
		Parent *snowflake.ID `json:"parent,string"`
	}
	parent := snowflake.ID(9007199254740993)
	for _, in := range []record{{ID: 1234567890123456789, Parent: &parent}, {ID: 0}, {ID: -5}} {
		text, err := json.Marshal(in)
		if err != nil {
			t.Fatal(err)
		}
		var out record
		if err := json.Unmarshal(text, &out); err != nil {
			t.Fatalf("Unmarshal(%s): %v", text, err)
		}
		if out.ID != in.ID || (out.Parent == nil) != (in.Parent == nil) || in.Parent != nil && *out.Parent != *in.Parent {
			t.Errorf("%s was read back as %+v", text, out)
		}
	}
	for _, in := range []string{`{"id":"007"}`, `{"id":""}`, `{"id":"1.5"}`, `{"id":" 5"}`} {
		out := record{ID: 42}
		if err := json.Unmarshal([]byte(in), &out); err == nil || out.ID != 42 {
			t.Errorf("Unmarshal(%s) = %d, %v, want 42 and an error", in, out.ID, err)
		}
	}
}

func TestJSONLeavesOutAbsentIDsWithOmitzero(t *testing.T) {
	type record struct {
		ID snowflake.ID `json:"id,omitzero"`
	}
	for in, want := range map[snowflake.ID]string{0: `{}`, 5: `{"id":"5"}`} {
		if out, err := json.Marshal(record{in}); string(out) != want || err != nil {
			t.Errorf("Marshal of %d = %s, %v, want %s", in, out, err, want)
		}
	}
}

func TestJSONKeysAreIDs(t *testing.T) {
	in := map[snowflake.ID]string{1234567890123456789: "a", -5: "b", 0: "c"}
	text, err := json.Marshal(in)
	if want := `{"-5":"b","0":"c","1234567890123456789":"a"}`; string(text) != want || err != nil {
		t.Fatalf("Marshal = %s, %v, want %s", text, err, want)
	}
	var out map[snowflake.ID]string
	if err := json.Unmarshal(text, &out); err != nil || len(out) != 3 || out[1234567890123456789] != "a" || out[-5] != "b" {
		t.Errorf("Unmarshal = %v, %v", out, err)
	}
	err = json.Unmarshal([]byte(`{"007":"a"}`), &out)
	if !errors.Is(err, snowflake.ErrSyntax) {
		t.Errorf("key 007: error %v, want ErrSyntax", err)
	}
}

// JavaScript holds numbers as float64. These two users were made in one millisecond.
func TestIDsThatCollapseInJavaScriptStayDistinctInJSON(t *testing.T) {
	alice, bob := snowflake.ID(2226605825995046912), snowflake.ID(2226605825995046913)
	if float64(alice) != float64(bob) {
		t.Fatal("the IDs do not collapse as numbers, so this test tests nothing")
	}
	text, err := json.Marshal([]snowflake.ID{alice, bob})
	if err != nil {
		t.Fatal(err)
	}
	var seen []any // what JSON.parse gives: strings, and float64 for numbers
	if err := json.Unmarshal(text, &seen); err != nil {
		t.Fatal(err)
	}
	if seen[0] == seen[1] || seen[0] != alice.String() || seen[1] != bob.String() {
		t.Errorf("%s is read by JavaScript as %v and %v", text, seen[0], seen[1])
	}
}
