package sqltypes

import (
	"database/sql/driver"
	"errors"
	"strings"

	"github.com/sqlflake/sqlflake/snowflake"
)

// Value returns the ID as an int64, for [driver.Valuer]: 0 for the zero ID and never NULL. The error is always nil, since
// the column does not show the prefix.
func (t Typed[K]) Value() (driver.Value, error) { return int64(t), nil }

// Scan reads a column, for [sql.Scanner]: all that [snowflake.ID.Scan] takes, with the same errors, among them a
// snowflake.ID or a pointer to one; and a Typed of the same kind or a pointer to one, which bulk builders hand over. A
// Typed of another kind is refused with [snowflake.ErrType], NULL and a nil pointer with [snowflake.ErrNull]: read a
// nullable column into a [TypedNull] or a pointer.
//
// It does not take the prefixed text: columns hold the number, and a column of texts would be one that another type wrote.
// On an error t is 0.
func (t *Typed[K]) Scan(src any) error {
	switch src := src.(type) {
	case int64:
		*t = Typed[K](src)
		return nil
	case string, []byte: // no Typed
	case Typed[K]:
		*t = src
		return nil
	case *Typed[K]:
		if src == nil {
			*t = 0
			return typedNullError(src)
		}
		*t = *src
		return nil
	}
	var id snowflake.ID
	err := id.Scan(src)
	*t = Typed[K](id) // 0 after an error
	if err != nil {
		return scanError(src, err)
	}
	return nil
}

// scanError replaces those errors of an ID that name the wrong remedy: for NULL, and for a text with a prefix, which is
// meant for outside of the database.
func scanError(src any, err error) error {
	var source, text string
	switch src := src.(type) {
	case string:
		source, text = "string", src
	case []byte:
		source, text = "[]byte", string(src)
	}
	switch {
	case errors.Is(err, snowflake.ErrNull):
		return typedNullError(src)
	case strings.Contains(text, "_"):
		return inputError(snowflake.ErrSyntax, source, text,
			"columns hold the number, and the prefix is for outside of the database; make the column BIGINT (INTEGER on SQLite)")
	}
	return err
}

func typedNullError(src any) error {
	return inputError(snowflake.ErrNull, sourceName(src), "",
		"use sqltypes.TypedNull or a pointer for a column that may be NULL")
}

// GormDataType returns "bigint", as [snowflake.ID.GormDataType] does.
func (Typed[K]) GormDataType() string { return "bigint" }
