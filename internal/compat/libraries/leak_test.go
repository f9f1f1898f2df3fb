//go:build !race

package libraries

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"slices"

	"github.com/sqlflake/sqlflake/snowflake"
)

// forms returns what shows the number of an ID in text or in bytes, by name.
func forms(id snowflake.ID) map[string][]byte {
	n := uint64(id)
	big := binary.BigEndian.AppendUint64(nil, n)
	little := binary.LittleEndian.AppendUint64(nil, n)
	return map[string][]byte{
		"decimal digits":     []byte(id.String()),
		"hexadecimal digits": fmt.Appendf(nil, "%x", n),
		"Base 32":            []byte(id.Base32()),
		"Base64, big":        []byte(base64.RawStdEncoding.EncodeToString(big)),
		"Base64, little":     []byte(base64.RawStdEncoding.EncodeToString(little)),
		"big endian":         bytes.TrimLeft(big, "\x00"),
		"little endian":      bytes.TrimRight(little, "\x00"),
		"varint":             binary.AppendUvarint(nil, n),
		"zigzag varint":      binary.AppendVarint(nil, int64(id)),
		"gob":                bytes.TrimLeft(binary.BigEndian.AppendUint64(nil, n<<1), "\x00"),
		"float64":            fmt.Appendf(nil, "%g", float64(id)),
	}
}

// shown returns the forms of the number in the output of a library. Only an ID of many digits can be told from other
// output.
func shown(id snowflake.ID, out []byte) []string {
	if id < 1<<53 {
		return nil
	}

	var names []string
	for name, form := range forms(id) {
		if bytes.Contains(out, form) {
			names = append(names, name)
		}
	}

	slices.Sort(names)
	return names
}
