//go:build !race

package libraries

import (
	"cmp"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/danielgtaylor/huma/v2"
	"github.com/go-playground/validator/v10"
	google "github.com/google/jsonschema-go/jsonschema"
	"github.com/invopop/jsonschema"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/sqlflake/sqlflake/snowflake"
	"github.com/sqlflake/sqlflake/sqltypes"
	"github.com/sqlflake/sqlflake/sqltypes/publicid"
)

func humaType(t reflect.Type) string {
	s := huma.SchemaFromType(huma.NewMapRegistry("#/", huma.DefaultSchemaNamer), t)
	if s.Items != nil {
		return s.Type + " of " + s.Items.Type
	}
	return s.Type
}

func schemaType(box any) string {
	r := jsonschema.Reflector{ExpandedStruct: true, DoNotReference: true, Anonymous: true}
	s, _ := r.Reflect(box).Properties.Get("id")
	if s.Items != nil {
		return s.Type + " of " + s.Items.Type
	}
	return s.Type
}

// patterns are those of the README, for the fields of described.
var patterns = []struct {
	field, pattern string
	text           func(id snowflake.ID) string
}{
	{"id", `^(0|[1-9][0-9]{0,18})$`, snowflake.ID.String},
	{"strict", `^(0|[1-9][0-9]{0,18})$`, func(id snowflake.ID) string { return sqltypes.Strict(id).String() }},
	{"typed", `^user_[0-7][0-9A-HJKMNP-TV-Z]{12}$`, func(id snowflake.ID) string { return userID(id).String() }},
	{
		"token", `^[0-7][0-9A-HJKMNP-TV-Z]{25}$`,
		func(id snowflake.ID) string { return publicid.IDFrom[user](id).String() },
	},
}

// described has the tags of invopop/jsonschema, which takes a comma for the end, and of huma.
type described struct {
	ID     snowflake.ID    `json:"id" jsonschema:"pattern=^(0|[1-9][0-9]{0\\,18})$" pattern:"^(0|[1-9][0-9]{0,18})$"`
	Strict sqltypes.Strict `json:"strict" jsonschema:"pattern=^(0|[1-9][0-9]{0\\,18})$" pattern:"^(0|[1-9][0-9]{0,18})$"`
	Typed  userID          `json:"typed" jsonschema:"pattern=^user_[0-7][0-9A-HJKMNP-TV-Z]{12}$" pattern:"^user_[0-7][0-9A-HJKMNP-TV-Z]{12}$"`
	Token  publicID        `json:"token" jsonschema:"pattern=^[0-7][0-9A-HJKMNP-TV-Z]{25}$" pattern:"^[0-7][0-9A-HJKMNP-TV-Z]{25}$"`
}

func TestALineGivesEachTypeItsPattern(t *testing.T) {
	readme, err := os.ReadFile("../README.md")
	must(t, err)

	fields := reflect.TypeFor[described]()
	types := map[reflect.Type]*google.Schema{}
	plain := []reflect.StructField{} // the same without tags that google/jsonschema-go refuses
	for i, p := range patterns {
		f := fields.Field(i)
		types[f.Type] = &google.Schema{Type: "string", Pattern: p.pattern}
		plain = append(plain, reflect.StructField{
			Name: f.Name, Type: f.Type,
			Tag: reflect.StructTag(`json:"` + p.field + `"`),
		})
	}

	fromGoogle, err := google.ForType(reflect.StructOf(plain), &google.ForOptions{TypeSchemas: types})
	must(t, err)

	registry := huma.NewMapRegistry("#/", huma.DefaultSchemaNamer)
	fromHuma := huma.SchemaFromType(registry, fields)
	reflector := jsonschema.Reflector{ExpandedStruct: true, DoNotReference: true, Anonymous: true}
	fromInvopop := reflector.Reflect(described{})
	for _, p := range patterns {
		property, _ := fromInvopop.Properties.Get(p.field)
		got := [...]string{
			fromGoogle.Properties[p.field].Type, fromGoogle.Properties[p.field].Pattern,
			fromHuma.Properties[p.field].Type, fromHuma.Properties[p.field].Pattern, property.Type, property.Pattern,
		}

		if want := [...]string{"string", p.pattern, "string", p.pattern, "string", p.pattern}; got != want {
			t.Errorf("%s: %q, want %q", p.field, got, want)
		}
		if !strings.Contains(string(readme), "`"+p.pattern+"`") {
			t.Errorf("README.md does not have %s", p.pattern)
		}
	}

	nullable := &google.Schema{Types: []string{"null", "string"}, Pattern: patterns[0].pattern}
	resolved, err := nullable.Resolve(nil)
	if err != nil || resolved.Validate(nil) != nil || resolved.Validate("12") != nil || resolved.Validate("x") == nil {
		t.Errorf("the line for a Null: %v", err)
	}
	if want := `Types: []string{"null", "string"}`; !strings.Contains(string(readme), want) {
		t.Errorf("README.md does not have %s", want)
	}
}

// Without a line, google/jsonschema-go looks at the kind of a type only.
func TestWithoutALineGoogleSaysNoString(t *testing.T) {
	others := map[string]string{"Null": "object", "publicid.ID": "array"}
	for _, k := range kinds {
		s, err := google.ForType(reflect.TypeOf(field(k.box(1))), nil)
		must(t, err)

		if isArray(k) {
			s = s.Items
		}
		if want := cmp.Or(others[k.label], "integer"); s.Type != want && !slices.Contains(s.Types, want) {
			t.Errorf("%s is %q %q, want %s", k.label, s.Type, s.Types, want)
		}
	}
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
		if got := schemaType(box); got != want {
			t.Errorf("jsonschema: %s is %s, want %s", k.label, got, want)
		}
	}
}

func TestPatternsMatchTheTexts(t *testing.T) {
	for _, p := range patterns {
		pattern := regexp.MustCompile(p.pattern)
		for _, id := range samples[1:] {
			if text := p.text(id); !pattern.MatchString(text) {
				t.Errorf("%s of %s does not match %s", text, p.field, p.pattern)
			}
		}

		for _, text := range []string{
			"", "007", "user_", "1e3", "user_04w86bb0m4007",
			"2e8c1b52-7d0a-7c3f-9b64-10c2f5a7d3e8",
		} {
			if pattern.MatchString(text) {
				t.Errorf("%s matches %s", text, p.pattern)
			}
		}

		for _, other := range patterns {
			if text := other.text(samples[3]); other.pattern != p.pattern && pattern.MatchString(text) {
				t.Errorf("%s of %s matches %s", text, other.field, p.pattern)
			}
		}
	}
}

// An int64 is a decimal string in the JSON of protobuf. A Typed and a token are strings.
func TestProtobuf(t *testing.T) {
	for _, id := range samples {
		out, err := protojson.Marshal(wrapperspb.Int64(int64(id)))
		var back wrapperspb.Int64Value
		if string(out) != `"`+id.String()+`"` || err != nil || protojson.Unmarshal(out, &back) != nil ||
			snowflake.ID(back.GetValue()) != id {
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
		{required[publicID]{}, required[publicID]{publicid.IDFrom[user](1)}},
		{required[sqltypes.Strict]{}, required[sqltypes.Strict]{1}},
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
