package publicid

import (
	"database/sql/driver"
	"errors"
	"fmt"
	"log/slog"

	"github.com/sqlflake/sqlflake/snowflake"
	"github.com/sqlflake/sqlflake/sqltypes/internal/column"
)

// Kind connects an [ID] with the codec of its tokens. It is an empty struct of the program:
//
//	type userKind struct{}
//
//	func (userKind) Codec() *publicid.Codec { return users } // a variable that main sets
//
//	type UserID = publicid.ID[userKind]
//
// Codec is called for each token that is written or read, by any number of goroutines. It may return nil while there
// are no keys; methods of the ID then return [ErrNoCodec].
type Kind interface {
	~struct{} // a pointer or an interface could be nil
	Codec() *Codec
}

// ID is a snowflake ID whose text is a token. JSON, other text and binary formats, URL parameters, logs and the verbs
// of fmt write and read the token of K's codec and never the number. The column is a bigint with the number, as for
// [snowflake.ID].
//
// IDs compare with == and are keys of maps. Different kinds are different types, which do not convert into each other.
// An encoder that uses none of the methods finds an array without a number, so it needs a line of the program:
// sqltypes/README.md links to a table of libraries. MongoDB's driver returns an error: store [ID.SnowflakeID]. What
// reads memory shows the number: debuggers, the packages reflect and unsafe, fmt for an ID in a field that is not
// exported. So do logs of SQL statements with their parameters, such as GORM's.
//
// The zero value means "no ID yet" and has no token: writing it as JSON or text is [ErrNoToken], since all new rows
// would share it. Omit an unset ID with the JSON option omitzero.
//
// Read a nullable column or JSON value into a *ID. GORM does not call Scan for NULL: in a new variable a plain field is
// 0, and a variable that is used again keeps its old value. GORM's Scan and Pluck read a single value into an ID, and
// one that may be NULL into an sql.Null[ID]; a *ID is not enough there.
//
// Methods that read text or JSON return [ErrToken] for anything but a token, including the number; with those that
// write, they return [ErrNoCodec] if K has no codec. After an error of a method that reads, the ID is 0. The GORM
// plugin fills primary keys of this type; with the tag `type:int` they also need `size:64`, since GORM takes an array
// for a small integer. Methods with a pointer receiver write to the ID, all others are safe for concurrent use.
type ID[K Kind] [1]hiddenID[K]

// hiddenID is an ID out of sight of encoders. The array around it keeps those away that look into structs, even into
// unexported fields (the encoder of github.com/gorilla/schema).
type hiddenID[K Kind] struct {
	_  [0]*K // no conversion between kinds, and encoding/binary rejects pointers
	id snowflake.ID
}

var errElement = errors.New("publicid: the encoder uses no method of an ID")

// MarshalText fails, for encoders that try the elements of an array first, and MarshalBSON for both versions of
// MongoDB's driver, which would write an empty document.
func (hiddenID[K]) MarshalText() ([]byte, error) { return nil, errElement }
func (hiddenID[K]) MarshalBSON() ([]byte, error) { return nil, errElement }

// Format prints the token, for encoders that print the elements of an array.
func (h hiddenID[K]) Format(state fmt.State, verb rune) { ID[K]{h}.Format(state, verb) }

// Equal is for github.com/google/go-cmp, which panics at a field that is not exported.
func (h hiddenID[K]) Equal(other hiddenID[K]) bool { return h == other }

// Scan is for GORM, which reads a query of one column into the elements of an array, and makes the array where a
// pointer to it is nil.
func (h *hiddenID[K]) Scan(src any) error {
	var id ID[K]
	err := id.Scan(src)
	*h = id[0]
	if src == nil {
		return column.Reject(snowflake.ErrNull, "NULL", "",
			"use sql.Null[publicid.ID] for a single value that may be NULL")
	}
	return err
}

// IDFrom returns the ID of a number, which may be any.
func IDFrom[K Kind](id snowflake.ID) ID[K] { return ID[K]{{id: id}} }

// ParseID reads a token of K's codec, with the errors of [Codec.Parse].
func ParseID[K Kind](token string) (ID[K], error) { return read[K](token) }

// SnowflakeID returns the ID as a number, for gormplugin.Key.
func (id ID[K]) SnowflakeID() snowflake.ID { return id[0].id }

// SetSnowflakeID replaces the ID, for gormplugin.Key.
func (id *ID[K]) SetSnowflakeID(number snowflake.ID) { id[0].id = number }

// String returns the token, or "" if there is none; [ID.MarshalText] returns the error.
func (id ID[K]) String() string {
	token, _ := codec[K]().Token(id[0].id)
	return token
}

// Format prints the token. The verbs %s, %q, %x and %X print it as they print a string, and all others as %s, also %d.
func (id ID[K]) Format(state fmt.State, verb rune) {
	if verb != 'q' && verb != 'x' && verb != 'X' {
		verb = 's'
	}
	fmt.Fprintf(state, fmt.FormatString(state, verb), id.String())
}

// MarshalText returns the token, or [ErrNoToken]. encoding/json calls it for values and for keys of objects.
func (id ID[K]) MarshalText() ([]byte, error) {
	token, err := codec[K]().append(nil, id[0].id)
	if err != nil {
		return nil, explain[K](err)
	}
	return token, nil
}

// UnmarshalText reads a token.
func (id *ID[K]) UnmarshalText(text []byte) (err error) {
	*id, err = read[K](text)
	return err
}

// UnmarshalParam reads a parameter of a URL or form: gin and echo call it when they bind a request.
func (id *ID[K]) UnmarshalParam(param string) (err error) {
	*id, err = read[K](param)
	return err
}

// UnmarshalJSON reads a JSON string with a token. The value null leaves the ID unchanged, as encoding/json prescribes.
func (id *ID[K]) UnmarshalJSON(data []byte) (err error) {
	if string(data) == "null" {
		return nil
	}

	*id, err = read[K](column.Unquote(data)) // the JSON option string removes the quotes
	return err
}

// MarshalBinary returns what [ID.MarshalText] does, for encoding/gob, encoders of CBOR and MessagePack, and parameters
// of go-redis. Readers need the key, as for any token.
func (id ID[K]) MarshalBinary() ([]byte, error) { return id.MarshalText() }

// UnmarshalBinary reads what MarshalBinary writes.
func (id *ID[K]) UnmarshalBinary(data []byte) error { return id.UnmarshalText(data) }

// LogValue returns what [ID.String] does. Log [ID.SnowflakeID] for the number.
func (id ID[K]) LogValue() slog.Value { return slog.StringValue(id.String()) }

// Value returns the number as an int64, 0 for the zero ID. The error is always nil.
func (id ID[K]) Value() (driver.Value, error) { return int64(id[0].id), nil }

// Scan reads a column, for [sql.Scanner]: what [snowflake.ID.Scan] reads, with the same errors, and an ID[K] or *ID[K],
// which bulk builders pass. It does not read tokens, which no column holds. NULL is [snowflake.ErrNull].
func (id *ID[K]) Scan(src any) error {
	number, err := column.ScanInteger[ID[K]](src)
	id.SetSnowflakeID(number)
	return err
}

// GormDataType returns "bigint", as [snowflake.ID.GormDataType] does.
func (ID[K]) GormDataType() string { return "bigint" }

// JSONSchemaAlias returns "", as [snowflake.ID.JSONSchemaAlias] does.
func (ID[K]) JSONSchemaAlias() any { return "" }

func codec[K Kind]() *Codec { return K{}.Codec() }

func read[K Kind, T ~string | ~[]byte](token T) (ID[K], error) {
	id, _, err := parse(codec[K](), token)
	return IDFrom[K](id), explain[K](err)
}

// explain names the kind that has no codec.
func explain[K Kind](err error) error {
	if err == ErrNoCodec { //nolint:errorlint // only the error itself, so that it is explained once
		return fmt.Errorf("%w: %T.Codec returned none", ErrNoCodec, K{})
	}
	return err
}
