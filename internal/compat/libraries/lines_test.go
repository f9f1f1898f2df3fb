//go:build !race

package libraries

import (
	"encoding"
	"fmt"
	"reflect"

	"github.com/99designs/gqlgen/graphql"
	"github.com/go-playground/form/v4"
	"github.com/go-playground/validator/v10"
	"github.com/go-viper/mapstructure/v2"
	"github.com/gorilla/schema"
	"github.com/invopop/jsonschema"
	"github.com/spf13/viper"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/sqlflake/sqlflake/snowflake"
	"github.com/sqlflake/sqlflake/sqltypes"
)

// The page shows each part that starts with such a comment as the next one.

// lines: gorillaSchema

// The decoder needs no line.
func gorillaSchema() *schema.Encoder {
	encoder := schema.NewEncoder()
	text := func(id reflect.Value) string { return fmt.Sprint(id.Interface()) }
	encoder.RegisterEncoder(sqltypes.Null{}, text)
	encoder.RegisterEncoder(userID(0), text)
	encoder.RegisterEncoder(publicID{}, text)
	return encoder
}

// lines: playgroundForm

func playgroundForm() (*form.Encoder, *form.Decoder) {
	encoder, decoder := form.NewEncoder(), form.NewDecoder()
	write := func(id any) ([]string, error) { return []string{fmt.Sprint(id)}, nil }
	encoder.RegisterCustomTypeFunc(write, sqltypes.Null{}, userID(0), publicID{})
	decoder.RegisterCustomTypeFunc(read[sqltypes.Null], sqltypes.Null{})
	decoder.RegisterCustomTypeFunc(read[userID], userID(0))
	decoder.RegisterCustomTypeFunc(read[publicID], publicID{})
	return encoder, decoder
}

func read[T any, P interface {
	*T
	encoding.TextUnmarshaler
}](values []string) (any, error) {
	var id T
	err := P(&id).UnmarshalText([]byte(values[0]))
	return id, err
}

// lines: mapStructure

func mapStructure(from map[string]any, to any) error {
	decoder, err := mapstructure.NewDecoder(&mapstructure.DecoderConfig{
		Result:     to,
		DecodeHook: mapstructure.TextUnmarshallerHookFunc(),
	})
	if err != nil {
		return err
	}
	return decoder.Decode(from)
}

// lines: viperUnmarshal

func viperUnmarshal(v *viper.Viper, to any) error {
	return v.Unmarshal(to, viper.DecodeHook(mapstructure.TextUnmarshallerHookFunc()))
}

// lines: jsonSchema

// The tag `jsonschema:"type=string"` does it for one field. This is for all types that read text.
func jsonSchema() *jsonschema.Reflector {
	return &jsonschema.Reflector{Mapper: func(t reflect.Type) *jsonschema.Schema {
		if reflect.PointerTo(t).Implements(reflect.TypeFor[encoding.TextUnmarshaler]()) {
			return &jsonschema.Schema{Type: "string"}
		}
		return nil
	}}
}

// lines: graphQL

// A scalar of gqlgen is a pair of functions: in gqlgen.yml, "model: your/package.ID" for these two. Those of other types
// differ in the type only.
func MarshalID(id snowflake.ID) graphql.Marshaler { return graphql.MarshalString(id.String()) }

func UnmarshalID(value any) (id snowflake.ID, err error) {
	text, err := graphql.UnmarshalString(value)
	if err == nil {
		err = id.UnmarshalText([]byte(text))
	}
	return id, err
}

// lines: protobuf

// An int64 is a decimal string in the JSON of protobuf. A Typed and a publicid.ID are strings.
func protobuf(id snowflake.ID, typed userID) (*wrapperspb.Int64Value, *wrapperspb.StringValue) {
	return wrapperspb.Int64(id.Int64()), wrapperspb.String(typed.String())
}

func fromProtobuf(number *wrapperspb.Int64Value, text *wrapperspb.StringValue) (snowflake.ID, userID, error) {
	typed, err := sqltypes.ParseTyped[user](text.GetValue())
	return snowflake.ID(number.GetValue()), typed, err
}

// lines: validate

// The tag required rejects an ID of 0. For a Null, which is a struct, it needs the option.
func validate(v any) error {
	return validator.New(validator.WithRequiredStructEnabled()).Struct(v)
}
