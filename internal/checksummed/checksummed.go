// Package checksummed encodes values as JSON with a checksum: people may read them, but an edit is noticed.
package checksummed

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"strings"

	"github.com/sqlflake/sqlflake/snowflake/lease"
)

// form takes the place of the last brace of a value: a last field with the CRC-32C of all before it.
const (
	form   = `,"checksum":"%08x"}`
	length = len(form) - len("%08x") + 8
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// Marshal returns v as JSON with a checksum. v is a struct with at least one field, and none named checksum.
func Marshal(v any) ([]byte, error) {
	var text bytes.Buffer
	enc := json.NewEncoder(&text)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	return addChecksum(bytes.TrimSuffix(text.Bytes(), []byte("}\n"))), nil
}

// Unmarshal is the inverse of Marshal and accepts nothing else: a text that was cut off, edited, or mixed from two, is
// an error.
func Unmarshal(text []byte, v any) error {
	content := text[:max(0, len(text)-length)]
	if !bytes.Equal(addChecksum(bytes.Clone(content)), text) {
		return errors.New("cut off or edited: the checksum is missing or differs")
	}
	return json.Unmarshal(text, v)
}

// CheckFormat returns an error unless the format of a value is the one that the caller knows: a *lease.VersionError if
// they differ in the number at the end.
func CheckFormat(got, known, namespace string) error {
	version, ok := strings.CutPrefix(got, strings.TrimRight(known, "0123456789"))
	switch {
	case got == known:
		return nil
	case ok:
		return &lease.VersionError{Namespace: namespace, Version: version}
	}
	return fmt.Errorf("the format is %.40q, this version knows %q", got, known)
}

// Damaged returns the error of a value that can't be used. It is err itself if a later version wrote the value, which
// is not damage.
func Damaged(value string, err error) error {
	if later := (*lease.VersionError)(nil); errors.As(err, &later) {
		return err
	}
	return fmt.Errorf("%w: %s: %w", lease.ErrDamaged, value, err)
}

// addChecksum ends a value whose last brace is missing.
func addChecksum(text []byte) []byte {
	return fmt.Appendf(text, form, crc32.Checksum(text, castagnoli))
}
