//go:build !race

package libraries

import (
	"encoding"
	"reflect"
	"regexp"
	"testing"

	"github.com/danielgtaylor/huma/v2"
	"github.com/go-playground/validator/v10"
	"github.com/invopop/jsonschema"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/types/known/wrapperspb"

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

// stringOf makes strings of all types that read text. The tag `jsonschema:"type=string"` does so for one field.
func stringOf(t reflect.Type) *jsonschema.Schema {
	if reflect.PointerTo(t).Implements(reflect.TypeFor[encoding.TextUnmarshaler]()) {
		return &jsonschema.Schema{Type: "string"}
	}
	return nil
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
		if got := schemaType(&jsonschema.Reflector{Mapper: stringOf}, box); got != want {
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

// An int64 is a decimal string in the JSON of protobuf. A Typed and a token are strings.
func TestProtobuf(t *testing.T) {
	for _, id := range samples {
		out, err := protojson.Marshal(wrapperspb.Int64(int64(id)))
		var back wrapperspb.Int64Value
		if string(out) != `"`+id.String()+`"` || err != nil || protojson.Unmarshal(out, &back) != nil || snowflake.ID(back.GetValue()) != id {
			t.Errorf("the JSON of %d is %s, %v, and read back as %d", id, out, err, back.GetValue())
		}
	}
}

type required[T any] struct {
	ID T `validate:"required"`
}

func TestRequiredRejectsZero(t *testing.T) {
	plain, structs := validator.New(), validator.New(validator.WithRequiredStructEnabled()) // a Null is a struct
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
		if structs.Struct(test.zero) == nil {
			t.Errorf("%T: with the option 0 is accepted", test.zero)
		}
		if err := structs.Struct(test.set); err != nil {
			t.Errorf("%T: %v", test.set, err)
		}
	}
}
