//go:build !race

package libraries

import (
	"encoding"
	"reflect"

	"github.com/99designs/gqlgen/graphql"
	"github.com/go-playground/validator/v10"
	"github.com/go-viper/mapstructure/v2"
	"github.com/invopop/jsonschema"
	"github.com/spf13/viper"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/sqlflake/sqlflake/snowflake"
	"github.com/sqlflake/sqlflake/sqltypes"
)

// mapStructure needs the hook: without it, a text for a Null, a Typed or a token is an error.
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

// viperUnmarshal needs the same hook.
func viperUnmarshal(v *viper.Viper, to any) error {
	return v.Unmarshal(to, viper.DecodeHook(mapstructure.TextUnmarshallerHookFunc()))
}

// jsonSchema makes strings of all types that read text. The tag `jsonschema:"type=string"` does so for one field.
func jsonSchema() *jsonschema.Reflector {
	return &jsonschema.Reflector{Mapper: func(t reflect.Type) *jsonschema.Schema {
		if reflect.PointerTo(t).Implements(reflect.TypeFor[encoding.TextUnmarshaler]()) {
			return &jsonschema.Schema{Type: "string"}
		}
		return nil
	}}
}

// MarshalID and UnmarshalID are a scalar of gqlgen: in gqlgen.yml, "model: your/package.ID". Those of other types differ
// in the type only.
func MarshalID(id snowflake.ID) graphql.Marshaler { return graphql.MarshalString(id.String()) }

func UnmarshalID(value any) (id snowflake.ID, err error) {
	text, err := graphql.UnmarshalString(value)
	if err == nil {
		err = id.UnmarshalText([]byte(text))
	}
	return id, err
}

// protobuf makes an int64, which is a decimal string in the JSON of protobuf. A Typed and a token are strings.
func protobuf(id snowflake.ID, typed userID) (*wrapperspb.Int64Value, *wrapperspb.StringValue) {
	return wrapperspb.Int64(int64(id)), wrapperspb.String(typed.String())
}

func fromProtobuf(number *wrapperspb.Int64Value, text *wrapperspb.StringValue) (snowflake.ID, userID, error) {
	typed, err := sqltypes.ParseTyped[user](text.GetValue())
	return snowflake.ID(number.GetValue()), typed, err
}

// validate rejects an ID of 0 by the tag required. For a Null, which is a struct, it needs the option.
func validate(v any) error {
	return validator.New(validator.WithRequiredStructEnabled()).Struct(v)
}
