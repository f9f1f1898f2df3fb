package sqltypes

import (
	"encoding/binary"

	"github.com/sqlflake/sqlflake/snowflake"
)

// elementSizes has the OIDs of the element types that can be read, with the size of an element, 0 for text (pg_type.dat
// in PostgreSQL's source).
var elementSizes = map[uint32]int{
	20: 8, 21: 2, 23: 4, // int8, int2, int4
	25: 0, 1043: 0, // text, varchar
}

const (
	arrayHeader   = 12 // dimensions, flags, type of the elements
	arrayBounds   = 8  // length and first subscript, for each dimension
	maxDimensions = 6  // MAXDIM in PostgreSQL
)

// readArray reads text or an image. The image starts with the number of dimensions, an int4 of at most 6, so its first
// byte is 0. Text starts with a brace or a bracket.
func readArray[T ~int64, S string | []byte](source string, src S) ([]T, error) {
	if len(src) > 0 && src[0] == 0 {
		return readArrayBinary[T](source, []byte(src))
	}
	return readArrayText[T](source, string(src))
}

// readArrayBinary reads the image that PostgreSQL's array_send writes (src/backend/utils/adt/arrayfuncs.c), in big
// endian: a header, the bounds, then each element after its length. It does not trust the header: it allocates only for
// elements that fit into the rest of the image.
func readArrayBinary[T ~int64](source string, image []byte) ([]T, error) {
	malformed := func(format string, args ...any) ([]T, error) {
		return nil, newArrayError(snowflake.ErrSyntax, source, image, format, args...)
	}
	if len(image) < arrayHeader {
		return malformed("its header is cut off")
	}

	dimensions := binary.BigEndian.Uint32(image)
	flags := binary.BigEndian.Uint32(image[4:]) // 1 if there may be a NULL; the elements decide
	oid := binary.BigEndian.Uint32(image[8:])
	rest := image[arrayHeader:]
	elementSize, readable := elementSizes[oid]
	size := 0
	switch {
	case dimensions > maxDimensions || flags > 1:
		return malformed("its header is not the header of an array")
	case !readable:
		return nil, newArrayError(snowflake.ErrType, source, image,
			"its elements have the type of OID %d; read column::bigint[] instead", oid)
	case dimensions > 1:
		return nil, newArrayError(snowflake.ErrType, source, image, "it has more than one dimension")
	case dimensions == 1:
		if len(rest) < arrayBounds {
			return malformed("its header is cut off")
		}
		size, rest = int(int32(binary.BigEndian.Uint32(rest))), rest[arrayBounds:]
		if size < 0 || size > len(rest)/4 { // each element has at least a length of four bytes
			return malformed("it announces %d elements in %d bytes", size, len(rest))
		}
	}

	ids := make([]T, size)
	for i := range ids {
		element, after, err := nextElement(source, image, rest, i, elementSize)
		if err != nil {
			return nil, err
		}
		id, err := readElement(elementSize, element)
		if err != nil {
			return nil, elementError(i, err)
		}
		ids[i], rest = T(id), after
	}

	if len(rest) > 0 {
		return malformed("%d bytes follow its last element", len(rest))
	}
	return ids, nil
}

// nextElement cuts the next element off the rest of an image: its length, then that many bytes. index is its place in
// the array, for errors.
func nextElement(source string, image, rest []byte, index, size int) (element, after []byte, err error) {
	malformed := func(format string, args ...any) ([]byte, []byte, error) {
		return nil, nil, newArrayError(snowflake.ErrSyntax, source, image, format, args...)
	}
	if len(rest) < 4 {
		return malformed("it ends before the element at index %d", index)
	}

	length := int(int32(binary.BigEndian.Uint32(rest)))
	rest = rest[4:]
	switch {
	case length == -1:
		return nil, nil, nullElement(source, image, index)
	case length < 0 || length > len(rest):
		return malformed("the element at index %d has a length of %d, %d bytes are left", index, length, len(rest))
	case size > 0 && length != size:
		return malformed("the element at index %d has %d bytes, which does not fit its type", index, length)
	}
	return rest[:length], rest[length:], nil
}

func readElement(size int, element []byte) (id snowflake.ID, err error) {
	switch size {
	case 8:
		return snowflake.ID(binary.BigEndian.Uint64(element)), nil
	case 4:
		return snowflake.ID(int32(binary.BigEndian.Uint32(element))), nil
	case 2:
		return snowflake.ID(int16(binary.BigEndian.Uint16(element))), nil
	}
	err = id.UnmarshalText(element)
	return id, err
}
