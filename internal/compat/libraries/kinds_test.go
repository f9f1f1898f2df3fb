//go:build !race

package libraries

import (
	"math"
	"reflect"
	"strings"

	"github.com/sqlflake/sqlflake/snowflake"
	"github.com/sqlflake/sqlflake/sqltypes"
	"github.com/sqlflake/sqlflake/sqltypes/publicid"
	"github.com/sqlflake/sqlflake/sqltypes/uuidkey"
)

type user struct{}

func (user) Prefix() string { return "user" }

func (user) Codec() *publicid.Codec { return users }

var users = newCodec()

func newCodec() *publicid.Codec {
	keys, err := publicid.ParseKeys("k1:000102030405060708090a0b0c0d0e0f")
	if err != nil {
		panic(err)
	}

	codec, err := publicid.New("user", keys)
	if err != nil {
		panic(err)
	}

	return codec
}

type (
	userID    = sqltypes.Typed[user]
	publicID  = publicid.ID[user]
	userArray = sqltypes.Array[userID]
)

// box is the struct that every library writes or reads, with the tags of all.
type box[T any] struct {
	ID T `bson:"id" csv:"id" form:"id" json:"id" koanf:"id" mapstructure:"id" msgpack:"id" query:"id" schema:"id" url:"id" xml:"id" yaml:"id"`
}

// kind is a type to write and read.
type kind struct {
	label string
	as    string                       // the kind with the same forms, or ""
	box   func(id snowflake.ID) any    // *box[T]
	null  func() any                   // *box[T] with NULL; nil for types without
	text  func(id snowflake.ID) string // of the ID, in JSON
}

// field returns the ID of a box as a T or, if the pointer is wanted, as a *T.
func field(b any) any        { return reflect.ValueOf(b).Elem().Field(0).Interface() }
func fieldPointer(b any) any { return reflect.ValueOf(b).Elem().Field(0).Addr().Interface() }

// empty returns a pointer to a box of the same type that holds nothing.
func empty(b any) any { return reflect.New(reflect.TypeOf(b).Elem()).Interface() }

func kindOf[T any](label, as string, from func(id snowflake.ID) T, text func(id snowflake.ID) string) kind {
	return kind{label: label, as: as, text: text, box: func(id snowflake.ID) any { return &box[T]{from(id)} }}
}

var kinds = func() []kind {
	digits := snowflake.ID.String
	prefixed := func(id snowflake.ID) string { return userID(id).String() }
	token := func(id snowflake.ID) string { return publicid.IDFrom[user](id).String() }
	null := kindOf("Null", "", sqltypes.NullFrom, digits)
	null.null = func() any { return &box[sqltypes.Null]{} }
	typed := kindOf("Typed", "", func(id snowflake.ID) userID { return userID(id) }, prefixed)
	public := kindOf("publicid.ID", "", publicid.IDFrom[user], token)
	return []kind{
		kindOf("ID", "", func(id snowflake.ID) snowflake.ID { return id }, digits),
		null, typed, public,
		kindOf("Array", "", func(id snowflake.ID) sqltypes.Array[snowflake.ID] { return sqltypes.Array[snowflake.ID]{id} }, digits),
		kindOf("Strict", "ID", func(id snowflake.ID) sqltypes.Strict { return sqltypes.Strict(id) }, digits),
		kindOf("Text", "ID", func(id snowflake.ID) sqltypes.Text { return sqltypes.Text(id) }, digits),
		kindOf("UUID", "ID", func(id snowflake.ID) uuidkey.ID { return uuidkey.ID(id) }, digits),
		kindOf("Array of Typed", "Typed", func(id snowflake.ID) userArray { return userArray{userID(id)} }, prefixed),
	}
}()

func isArray(k kind) bool { return strings.HasPrefix(k.label, "Array") }

// samples are 0, the first ID, one that a float64 rounds, one that a generator made, and the last.
var samples = []snowflake.ID{0, 1, 1<<53 + 1, 175928847303311367, math.MaxInt64}
