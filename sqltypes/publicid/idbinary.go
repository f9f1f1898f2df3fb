package publicid

import (
	"encoding/binary"
	"fmt"
	"math"

	"github.com/sqlflake/sqlflake/sqltypes/internal/refuse"
)

// MarshalBinary returns the text of the token, with the errors of [ID.AppendText]. The package encoding/gob and encoders
// of CBOR and MessagePack use it, and go-redis for parameters. Its readers need the key, as those of any token.
func (id ID[K]) MarshalBinary() ([]byte, error) { return id.MarshalText() }

// UnmarshalBinary reads the text of a token, with the errors of [ID.UnmarshalText].
func (id *ID[K]) UnmarshalBinary(data []byte) error { return id.UnmarshalText(data) }

const (
	bsonString = 0x02 // https://bsonspec.org/spec.html
	bsonNull   = 0x0a
)

// MarshalBSONValue returns the token as a BSON string, with the errors of [ID.AppendText], for the MongoDB driver
// go.mongodb.org/mongo-driver/v2. A field that is stored in MongoDB should be a [snowflake.ID], which is an int64 there:
// tokens have no order, and end with their key.
func (id ID[K]) MarshalBSONValue() (kind byte, data []byte, err error) {
	token, err := id.MarshalText()
	if err != nil {
		return 0, nil, err
	}
	data = binary.LittleEndian.AppendUint32(make([]byte, 0, 4+len(token)+1), uint32(len(token)+1))
	return bsonString, append(append(data, token...), 0), nil
}

// UnmarshalBSONValue reads a BSON string with a token, with the errors of [ID.UnmarshalText], and rejects other values
// with [ErrToken]; the ID is then 0. A null leaves the ID unchanged, as that of JSON.
func (id *ID[K]) UnmarshalBSONValue(kind byte, data []byte) error {
	switch {
	case kind == bsonNull:
		return nil
	case kind == bsonString && len(data) > 4 && len(data) <= math.MaxInt32 &&
		binary.LittleEndian.Uint32(data) == uint32(len(data)-4) && data[len(data)-1] == 0:
		return id.UnmarshalText(data[4 : len(data)-1])
	}
	*id = ID[K]{}
	return refuse.Input(ErrToken, "BSON", data, fmt.Sprintf("it has type 0x%02x, want a string (0x02) with a token", kind))
}
