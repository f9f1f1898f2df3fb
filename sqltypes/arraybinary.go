package sqltypes

import (
	"encoding/binary"
	"fmt"

	"github.com/sqlflake/sqlflake/snowflake"
)

// OIDs of the element types that can be read (pg_type.dat in the source of PostgreSQL).
const (
	int8OID    = 20
	int2OID    = 21
	int4OID    = 23
	textOID    = 25
	varcharOID = 1043
)

const (
	arrayHeader   = 12 // dimensions, flags, type of the elements
	arrayBounds   = 8  // length and first subscript, for each dimension
	maxDimensions = 6  // MAXDIM in PostgreSQL
)

// isArrayBinary tells the binary image from text. The image starts with the number of dimensions, an int4 of at most 6,
// so its first byte is 0. Text starts with a brace or a bracket.
func isArrayBinary[T string | []byte](src T) bool {
	return len(src) > 0 && src[0] == 0
}

// readArrayBinary reads the image that array_send of PostgreSQL writes (src/backend/utils/adt/arrayfuncs.c), in big
// endian: a header, the bounds, then each element after its length. It does not trust the header: it allocates only for
// elements that fit into the rest of the image.
func readArrayBinary[T ~int64](source string, image []byte) ([]T, error) {
	size, oid, elements, err := readArrayHeader(source, image)
	if err != nil {
		return nil, err
	}
	ids := make([]T, size)
	for i := range ids {
		element, rest, err := cutElement(source, image, elements, i)
		if err != nil {
			return nil, err
		}
		id, err := readElement(source, image, oid, element, i)
		if err != nil {
			return nil, err
		}
		ids[i], elements = T(id), rest
	}
	if len(elements) > 0 {
		return nil, newArrayError(snowflake.ErrSyntax, source, image,
			fmt.Sprintf("%d bytes follow its last element", len(elements)))
	}
	return ids, nil
}

// readArrayHeader returns the number of elements, their type, and the bytes that hold them.
func readArrayHeader(source string, image []byte) (size int, oid uint32, elements []byte, err error) {
	malformed := func(reason string) (int, uint32, []byte, error) {
		return 0, 0, nil, newArrayError(snowflake.ErrSyntax, source, image, reason)
	}
	if len(image) < arrayHeader {
		return malformed("its header is cut off")
	}
	dimensions := binary.BigEndian.Uint32(image)
	flags := binary.BigEndian.Uint32(image[4:]) // 1 if there may be a NULL; the elements decide
	oid = binary.BigEndian.Uint32(image[8:])
	switch {
	case dimensions > maxDimensions || flags > 1:
		return malformed("its header is not the header of an array")
	case !readsElements(oid):
		return 0, 0, nil, newArrayError(snowflake.ErrType, source, image, fmt.Sprintf(
			"its elements have the type of OID %d; read column::bigint[] instead", oid))
	case dimensions == 0: // the empty array
		return 0, oid, image[arrayHeader:], nil
	case dimensions > 1:
		return 0, 0, nil, newArrayError(snowflake.ErrType, source, image, "it has more than one dimension")
	case len(image) < arrayHeader+arrayBounds:
		return malformed("its header is cut off")
	}
	announced := int32(binary.BigEndian.Uint32(image[arrayHeader:]))
	elements = image[arrayHeader+arrayBounds:]
	if announced < 0 || int(announced) > len(elements)/4 { // each element has at least a length of four bytes
		return malformed(fmt.Sprintf("it announces %d elements in %d bytes", announced, len(elements)))
	}
	return int(announced), oid, elements, nil
}

// cutElement returns the bytes of the first element and the rest.
func cutElement(source string, image, elements []byte, index int) (element, rest []byte, err error) {
	if len(elements) < 4 {
		return nil, nil, newArrayError(snowflake.ErrSyntax, source, image,
			fmt.Sprintf("it ends before the element at index %d", index))
	}
	length := int32(binary.BigEndian.Uint32(elements))
	elements = elements[4:]
	switch {
	case length == -1:
		return nil, nil, nullElement(source, image, index)
	case length < 0 || int(length) > len(elements):
		return nil, nil, newArrayError(snowflake.ErrSyntax, source, image,
			fmt.Sprintf("the element at index %d has a length of %d, %d bytes are left", index, length, len(elements)))
	}
	return elements[:length], elements[length:], nil
}

func readsElements(oid uint32) bool {
	switch oid {
	case int8OID, int4OID, int2OID, textOID, varcharOID:
		return true
	}
	return false
}

// readElement reads an element of a type that readsElements accepts.
func readElement(source string, image []byte, oid uint32, element []byte, index int) (snowflake.ID, error) {
	switch {
	case oid == textOID || oid == varcharOID:
		var id snowflake.ID
		if err := id.UnmarshalText(element); err != nil {
			return 0, elementError(index, err)
		}
		return id, nil
	case oid == int8OID && len(element) == 8:
		return snowflake.ID(binary.BigEndian.Uint64(element)), nil
	case oid == int4OID && len(element) == 4:
		return snowflake.ID(int32(binary.BigEndian.Uint32(element))), nil
	case oid == int2OID && len(element) == 2:
		return snowflake.ID(int16(binary.BigEndian.Uint16(element))), nil
	}
	return 0, newArrayError(snowflake.ErrSyntax, source, image,
		fmt.Sprintf("the element at index %d has %d bytes, which does not fit its type", index, len(element)))
}
