//go:build !race

package libraries

import (
	"bytes"
	"encoding/json"
	"reflect"
	"regexp"
	"testing"

	"github.com/danielgtaylor/huma/v2"
	"github.com/go-playground/validator/v10"
	"github.com/invopop/jsonschema"
	"google.golang.org/protobuf/encoding/protojson"

	"github.com/sqlflake/sqlflake/snowflake"
	"github.com/sqlflake/sqlflake/sqltypes"
)

func humaType(t reflect.Type) string {
	s := huma.SchemaFromType(huma.NewMapRegistry("#/", huma.DefaultSchemaNamer), t)
	if s.Items != nil {
		return s.Type + " of " + s.Items.Type
	}
	return s.Type
}

func schemaType(r *jsonschema.Reflector, box any) string {
	r.ExpandedStruct, r.DoNotReference, r.Anonymous = true, true, true
	s, _ := r.Reflect(box).Properties.Get("id")
	if s.Items != nil {
		return s.Type + " of " + s.Items.Type
	}
	return s.Type
}

// patterns are those of the README for schemas that people write.
var patterns = []struct{ kind, pattern string }{
	{"ID", `^(0|[1-9][0-9]{0,18})$`},
	{"Typed", `^user_[0-7][0-9A-HJKMNP-TV-Z]{12}$`},
	{"publicid.ID", `^[0-7][0-9A-HJKMNP-TV-Z]{25}$`},
}

func TestSchemasSayString(t *testing.T) {
	for _, k := range kinds {
		box, want := k.box(samples[3]), "string"
		if isArray(k) {
			want = "array of string"
		}
		if got := humaType(reflect.TypeOf(field(box))); got != want {
			t.Errorf("huma: %s is %s, want %s", k.label, got, want)
		}
		if got := schemaType(jsonSchema(), box); got != want {
			t.Errorf("jsonschema: %s is %s, want %s", k.label, got, want)
		}
	}
}

func TestATagMakesAStringOfAFieldInAJSONSchema(t *testing.T) {
	type tagged struct {
		ID snowflake.ID `json:"id" jsonschema:"type=string"`
	}
	if got := schemaType(&jsonschema.Reflector{}, &tagged{}); got != "string" {
		t.Errorf("the type is %s", got)
	}
}

func kindNamed(name string) kind {
	for _, k := range kinds {
		if k.label == name {
			return k
		}
	}
	panic("there is no kind " + name)
}

func TestPatternsMatchTheTexts(t *testing.T) {
	for _, p := range patterns {
		for _, id := range samples[1:] {
			if text := kindNamed(p.kind).text(id); !regexp.MustCompile(p.pattern).MatchString(text) {
				t.Errorf("%s of %s does not match %s", text, p.kind, p.pattern)
			}
		}
		for _, text := range []string{"", "007", "user_", "1e3", "user_04w86bb0m4007"} {
			if regexp.MustCompile(p.pattern).MatchString(text) {
				t.Errorf("%s matches %s", text, p.pattern)
			}
		}
	}
}

func TestGraphQL(t *testing.T) {
	for _, id := range samples {
		var out bytes.Buffer
		MarshalID(id).MarshalGQL(&out)
		if want := `"` + id.String() + `"`; out.String() != want {
			t.Errorf("%d is written as %s, want %s", id, &out, want)
		}
		for _, in := range []any{id.String(), json.Number(id.String()), int64(id)} {
			if back, err := UnmarshalID(in); back != id || err != nil {
				t.Errorf("%T %v is read as %d, %v", in, in, back, err)
			}
		}
	}
	for _, in := range []any{nil, "", "x", 1.5, true, []any{}} {
		if id, err := UnmarshalID(in); err == nil {
			t.Errorf("%v is read as %d", in, id)
		}
	}
}

func TestProtobuf(t *testing.T) {
	for _, id := range samples {
		number, text := protobuf(id, userID(id))
		out, err := protojson.Marshal(number)
		if want := `"` + id.String() + `"`; string(out) != want || err != nil {
			t.Errorf("the JSON of %d is %s, %v", id, out, err)
		}
		if back, typed, err := fromProtobuf(number, text); back != id || typed != userID(id) || err != nil {
			t.Errorf("%d is read back as %d, %d, %v", id, back, typed, err)
		}
	}
}

type required[T any] struct {
	ID T `validate:"required"`
}

func TestRequiredRejectsZero(t *testing.T) {
	plain := validator.New()
	for _, test := range []struct{ zero, set any }{
		{required[snowflake.ID]{}, required[snowflake.ID]{1}},
		{required[userID]{}, required[userID]{1}},
		{required[publicID]{}, required[publicID]{field(kindNamed("publicid.ID").box(1)).(publicID)}},
		{required[sqltypes.Text]{}, required[sqltypes.Text]{1}},
		{required[sqltypes.Null]{}, required[sqltypes.Null]{sqltypes.NullFrom(1)}},
	} {
		_, null := test.zero.(required[sqltypes.Null])
		if err := plain.Struct(test.zero); (err == nil) != null {
			t.Errorf("%T: %v", test.zero, err)
		}
		if validate(test.zero) == nil {
			t.Errorf("%T: with the option 0 is accepted", test.zero)
		}
		if err := validate(test.set); err != nil {
			t.Errorf("%T: %v", test.set, err)
		}
	}
}
