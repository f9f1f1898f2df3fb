package publicid

import (
	"database/sql/driver"

	"github.com/sqlflake/sqlflake/snowflake"
)

// Value returns the number as an int64, for [driver.Valuer]: the column is a bigint. It is 0 for the zero ID and never
// NULL, as for [snowflake.ID.Value]. The error is always nil.
func (id ID[K]) Value() (driver.Value, error) {
	return int64(id), nil
}

// Scan reads a column, for [sql.Scanner]: what [snowflake.ID.Scan] takes, with the same errors, and an ID[K] or *ID[K],
// which bulk builders hand over. It does not read tokens, which no column holds. NULL and nil pointers are refused with
// [snowflake.ErrNull]. On an error the ID is 0.
func (id *ID[K]) Scan(src any) error {
	var number snowflake.ID
	var err error
	switch src := src.(type) {
	case nil:
		err = nullError("NULL")
	case ID[K]:
		number = snowflake.ID(src)
	case *ID[K]:
		if src == nil {
			err = nullError("nil *publicid.ID")
		} else {
			number = snowflake.ID(*src)
		}
	case *snowflake.ID:
		if src == nil {
			err = nullError("nil *snowflake.ID")
		} else {
			number = *src
		}
	default:
		err = number.Scan(src)
	}
	*id = ID[K](number)
	return err
}

// GormDataType returns "bigint", as [snowflake.ID.GormDataType] does.
func (ID[K]) GormDataType() string { return "bigint" }

func nullError(source string) error {
	return parseError(snowflake.ErrNull, source, "", "use *publicid.ID for a column that may be NULL")
}
