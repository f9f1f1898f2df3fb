package publicid

import (
	"cmp"
	"fmt"

	"github.com/sqlflake/sqlflake/snowflake"
)

// Kind says which rows an [ID] is for, by the codec of its tokens. It is implemented by an empty struct of the program:
//
//	type userKind struct{}
//
//	func (userKind) Codec() *publicid.Codec { return users } // which main has set
//
//	type UserID = publicid.ID[userKind]
//
// Codec is called for each token that is written or read, by any number of goroutines. It may return nil as long as there
// are no keys; the ID's methods then return [ErrNoCodec].
type Kind interface {
	~struct{} // so that no pointer or interface, which could be nil, is a kind
	Codec() *Codec
}

// ID is a snowflake ID whose text is a token. In JSON, in other text formats, in parameters of URLs, in logs and with the
// verbs %v and %s of fmt it is the token of K's codec; nothing of these reads or shows the number. The column in the
// database is a bigint, as that of [snowflake.ID], and holds the number.
//
// It is an int64: a map key, compared with == and <, and converted with publicid.ID[K](id), snowflake.ID(id) and
// [ID.SnowflakeID]. Those who need the number get it by these, and with the verb %d. The same goes for all that looks
// at kinds and not at methods for text: encoding/gob, the verb %#v, fmt for a field that is not exported (it calls no
// methods there), and logs of SQL statements with their parameters, such as GORM's.
//
// The zero value means "no ID yet" and has no token: writing it as JSON or text is [ErrNoToken], as it would else be
// a name that all new rows share. Leave an unset ID out with the JSON option omitzero. IDs of different kinds are of
// different types and can't be mixed up.
//
// A column or JSON value that may be NULL is a *ID, which GORM, database/sql and encoding/json know; sql.Null takes an ID
// for the column as well, and has Valid true and the ID 0 after an error of Scan. Scan refuses NULL for a plain ID. GORM
// does not call Scan for it: a plain field is 0 then, without an error, and a pointer or a sql.Null is as it was, so read
// into a struct that is new.
//
// After an error of Scan, UnmarshalJSON, UnmarshalText or UnmarshalParam the ID is 0, never an earlier one. The plugin of
// GORM fills primary keys of this type.
//
// An ID is a plain value: its methods with a pointer receiver write to it as an assignment does, the others may run at
// any time.
type ID[K Kind] snowflake.ID

// ParseID reads a token of K's codec. It returns the errors of [Codec.Parse], and 0 with them.
func ParseID[K Kind](token string) (ID[K], error) {
	var id ID[K]
	err := id.UnmarshalParam(token)
	return id, err
}

// SnowflakeID returns the ID with the number as its text.
func (id ID[K]) SnowflakeID() snowflake.ID { return snowflake.ID(id) }

// SetSnowflakeID replaces the ID.
func (id *ID[K]) SetSnowflakeID(number snowflake.ID) { *id = ID[K](number) }

// IsZero reports whether id is 0, which means "no ID yet". The JSON option omitzero asks it.
func (id ID[K]) IsZero() bool { return id == 0 }

// Compare returns -1 if id is smaller than other, 0 if they are equal, and +1 if it is larger: the order of the column,
// which is not that of the tokens. It fits [slices.SortFunc] as the method expression ID[K].Compare.
func (id ID[K]) Compare(other ID[K]) int { return cmp.Compare(id, other) }

// Token returns the token. It returns [ErrNoToken] for 0 and negative IDs, and [ErrNoCodec] if K has no codec.
func (id ID[K]) Token() (string, error) {
	token, err := codec[K]().Token(snowflake.ID(id))
	return token, explain[K](err)
}

// String returns the token, and "" if there is none: [ID.Token] says why.
func (id ID[K]) String() string {
	token, _ := codec[K]().Token(snowflake.ID(id))
	return token
}

func codec[K Kind]() *Codec {
	return K{}.Codec()
}

// explain names the kind that has no codec.
func explain[K Kind](err error) error {
	if err == ErrNoCodec { //nolint:errorlint // this very error, so that it is explained once
		return fmt.Errorf("%w: %T.Codec has returned none", ErrNoCodec, K{})
	}
	return err
}
