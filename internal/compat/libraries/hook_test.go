//go:build !race

package libraries

import (
	"fmt"
	"reflect"
)

// decodeID is a DecodeHook of mapstructure, viper and koanf. It reads an ID from text or an integer; a float64 has lost
// digits above 2^53.
func decodeID(from, to reflect.Type, data any) (any, error) {
	pointer := reflect.New(to)
	id, isID := reflect.TypeAssert[interface{ UnmarshalParam(text string) error }](pointer)
	if !isID || from == to {
		return data, nil
	}

	switch from.Kind() {
	case reflect.String, reflect.Int, reflect.Int64, reflect.Uint64:
		err := id.UnmarshalParam(fmt.Sprint(data))
		return pointer.Elem().Interface(), err
	}

	return nil, fmt.Errorf("want a string or an integer for a %v, got the %v %v", to, from, data)
}

// formID is a CustomTypeFunc of go-playground/form for IDs of type T.
func formID[T any, P interface {
	*T
	UnmarshalParam(text string) error
}](texts []string) (any, error) {
	var id T
	err := P(&id).UnmarshalParam(texts[0])
	return id, err
}

// schemaID is an encoder of gorilla/schema for a Typed and a Null.
func schemaID(id reflect.Value) string { return fmt.Sprint(id) }
