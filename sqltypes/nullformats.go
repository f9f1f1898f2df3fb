package sqltypes

import (
	"encoding/binary"
	"math"
	"net/url"
	"strconv"

	"github.com/sqlflake/sqlflake/snowflake"
	"github.com/sqlflake/sqlflake/sqltypes/internal/column"
)

// The formats of libraries that take a Null for any other struct. None of the libraries is imported.

// The types of BSON values that a Null is: https://bsonspec.org/spec.html.
const (
	bsonNull  = 0x0A
	bsonInt64 = 0x12
)

// MarshalBSONValue returns a 64-bit integer, or null, for version 2 of MongoDB's driver. The error is always nil.
func (n Null) MarshalBSONValue() (typ byte, data []byte, err error) {
	if !n.Valid {
		return bsonNull, nil, nil
	}
	return bsonInt64, binary.LittleEndian.AppendUint64(nil, uint64(n.ID)), nil
}

// UnmarshalBSONValue reads null as NULL and everything else as [snowflake.ID.UnmarshalBSONValue] does. On an error n is
// NULL.
func (n *Null) UnmarshalBSONValue(typ byte, data []byte) error {
	*n = Null{}
	if typ == bsonNull {
		return nil
	}
	return n.set(n.ID.UnmarshalBSONValue(typ, data))
}

// EncodeValues adds the text of [Null.String], which [Null.UnmarshalParam] reads, for github.com/google/go-querystring.
// The error is always nil.
func (n Null) EncodeValues(key string, values *url.Values) error {
	values.Add(key, n.String())
	return nil
}

// The first byte of an item of CBOR is the major type, here that of an integer, times 32, plus the number itself below 24,
// or 24 to 27 for 1, 2, 4 or 8 bytes that follow: RFC 8949, section 3.
const (
	cborNegative  = 1 << 5
	cborNull      = 0xF6
	cborUndefined = 0xF7
)

// MarshalCBOR returns an integer in its shortest form, or null, for github.com/fxamacker/cbor. The error is always nil.
func (n Null) MarshalCBOR() ([]byte, error) {
	if !n.Valid {
		return []byte{cborNull}, nil
	}

	major, u := byte(0), uint64(n.ID)
	if n.ID < 0 {
		major, u = cborNegative, ^u
	}

	switch {
	case u < 24:
		return []byte{major | byte(u)}, nil
	case u <= math.MaxUint8:
		return []byte{major | 24, byte(u)}, nil
	case u <= math.MaxUint16:
		return binary.BigEndian.AppendUint16([]byte{major | 25}, uint16(u)), nil
	case u <= math.MaxUint32:
		return binary.BigEndian.AppendUint32([]byte{major | 26}, uint32(u)), nil
	}
	return binary.BigEndian.AppendUint64([]byte{major | 27}, u), nil
}

// UnmarshalCBOR reads an integer, or null or undefined as NULL. Integers beyond int64 are [snowflake.ErrRange], all other
// values [snowflake.ErrType], also floats and text. On an error n is NULL.
func (n *Null) UnmarshalCBOR(data []byte) error {
	*n = Null{}
	if len(data) == 1 && (data[0] == cborNull || data[0] == cborUndefined) {
		return nil
	}

	negative, u, ok := cborInteger(data)
	switch {
	case !ok:
		return column.Reject(snowflake.ErrType, "CBOR", strconv.Quote(string(data)), "want an integer or null")
	case u > math.MaxInt64:
		return column.Reject(snowflake.ErrRange, "CBOR integer", strconv.FormatUint(u, 10), "it is outside of int64")
	case negative:
		u = ^u
	}
	*n = NullFrom(snowflake.ID(u))
	return nil
}

// cborInteger reads an integer: u, or -1-u if it is negative.
func cborInteger(data []byte) (negative bool, u uint64, ok bool) {
	if len(data) == 0 || data[0] >= cborNegative<<1 {
		return false, 0, false
	}

	negative, u = data[0]&cborNegative != 0, uint64(data[0]&^cborNegative)
	if u < 24 {
		return negative, u, len(data) == 1
	}

	size := u - 24 // 1, 2, 4 or 8 bytes
	if size > 3 || len(data) != 1+1<<size {
		return false, 0, false
	}
	u = 0
	for _, b := range data[1:] {
		u = u<<8 | uint64(b)
	}
	return negative, u, true
}
