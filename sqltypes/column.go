package sqltypes

import (
	"cmp"
	"database/sql/driver"
	"errors"
	"strconv"

	"github.com/sqlflake/sqlflake/snowflake"
)

// Column is an ID whose column is not an integer. Its forms are [Text], [Binary] and uuidkey.ID; a program may add its
// own [Form]. They are for schemas that require such keys; otherwise use a [snowflake.ID] in a bigint, which is shorter.
//
//	Text(id)            // in
//	snowflake.ID(text)  // and out
//
// Only the column differs: JSON, URLs, logs and String have the decimal digits of the ID. The zero value is the ID 0,
// "no ID yet".
//
// Columns sort as the IDs do. (Negative IDs, which no generator issues, are stored too and come last.) Rows of a time
// range are between Text(lo) and Text(hi) of [snowflake.Layout.Range]. The conditions of gormplugin (CreatedBetween,
// Page) are for integers and reject such a column.
type Column[F Form] snowflake.ID

// Form is how a [Column] stores an ID. It is an empty struct, and its methods are called by any number of goroutines.
type Form interface {
	~struct{}
	// Store returns the value of the column.
	Store(id snowflake.ID) driver.Value
	// Load reads exactly what Store returns, as a string or a []byte, to which it keeps no reference. It returns
	// snowflake.ErrType for a type that it does not read. Column adds the source and the input to a
	// *snowflake.ParseError without a Source.
	Load(src any) (snowflake.ID, error)
	// Names returns GORM's data type, and for messages the Go type and the types of columns.
	Names() (gormType, goType, columns string)
}

// Value returns the value of the column. The error is always nil.
func (c Column[F]) Value() (driver.Value, error) {
	return F{}.Store(snowflake.ID(c)), nil
}

// Scan reads a column, for [sql.Scanner]. It takes exactly what Value writes, as a string or a []byte, and an ID, a
// Column of this form or a pointer to one, which bulk builders pass.
//
// It rejects NULL and nil pointers with [snowflake.ErrNull]; other types, numbers too, with [snowflake.ErrType]; and
// text or bytes that Value does not write with the errors of the form. On an error c is 0.
func (c *Column[F]) Scan(src any) error {
	id, err := F{}.Load(src)
	if err != nil {
		id, err = scanOther[F](src, err)
	}
	*c = Column[F](id)
	return err
}

// scanOther reads an ID or a Column, and otherwise completes the error of Load.
func scanOther[F Form](src any, err error) (snowflake.ID, error) {
	switch src := src.(type) {
	case snowflake.ID:
		return src, nil
	case *snowflake.ID:
		if src != nil {
			return *src, nil
		}
		err = snowflake.ErrNull
	case Column[F]:
		return snowflake.ID(src), nil
	case *Column[F]:
		if src != nil {
			return snowflake.ID(*src), nil
		}
		return 0, nullColumn[F]("nil *" + Column[F](0).TypeName())
	case nil:
		err = snowflake.ErrNull
	}
	var of *snowflake.ParseError
	if errors.As(err, &of) {
		if of.Source == "" {
			return 0, reject(of.Err, sourceOf(src), cmp.Or(of.Input, textOf(src)), of.Reason)
		}
		return 0, err
	}
	if errors.Is(err, snowflake.ErrNull) {
		return 0, nullColumn[F](sourceOf(src))
	}
	_, name, columns := F{}.Names()
	reason := name + " is for a column of type " + columns
	if _, ok := src.(int64); ok { // on SQLite also of text that looks like a number, if the column is declared wrongly
		reason += ", use snowflake.ID for one of integers"
	}
	return 0, reject(err, sourceOf(src), textOf(src), reason)
}

func nullColumn[F Form](source string) error {
	name := Column[F](0).TypeName()
	return reject(snowflake.ErrNull, source, "", "use *"+name+" or sql.Null["+name+"] for a column that may be NULL")
}

// textOf returns the text of a source of Scan for an error.
func textOf(src any) string {
	switch src := src.(type) {
	case string:
		return src
	case []byte:
		return string(src)
	case int64:
		return strconv.FormatInt(src, 10)
	case float64:
		return strconv.FormatFloat(src, 'g', -1, 64)
	}
	return ""
}

// GormDataType returns the data type for which GORM creates a column on every database, also for a primary key.
func (Column[F]) GormDataType() string {
	gormType, _, _ := F{}.Names()
	return gormType
}

// TypeName returns the name of the Go type for messages, such as "sqltypes.Text". Package reflect has a longer one.
func (Column[F]) TypeName() string {
	_, name, _ := F{}.Names()
	return name
}

// SnowflakeID returns the ID, for gormplugin.Key.
func (c Column[F]) SnowflakeID() snowflake.ID { return snowflake.ID(c) }

// SetSnowflakeID replaces the ID, for gormplugin.Key: the plugin fills a primary key of this type.
func (c *Column[F]) SetSnowflakeID(id snowflake.ID) { *c = Column[F](id) }

// String returns the ID in decimal digits.
func (c Column[F]) String() string { return snowflake.ID(c).String() }

// MarshalText returns the text of [Column.String], also for JSON. The error is always nil.
func (c Column[F]) MarshalText() ([]byte, error) { return snowflake.ID(c).MarshalText() }

// UnmarshalText implements [encoding.TextUnmarshaler] as [snowflake.ID.UnmarshalText] does. On an error c is 0.
func (c *Column[F]) UnmarshalText(text []byte) error {
	*c = 0
	return (*snowflake.ID)(c).UnmarshalText(text)
}

// UnmarshalJSON reads a string of decimal digits or an integer as [snowflake.ID.UnmarshalJSON] does, with the same
// errors; null leaves c unchanged. On an error c is 0.
func (c *Column[F]) UnmarshalJSON(data []byte) error {
	if string(data) == "null" {
		return nil
	}
	*c = 0
	return (*snowflake.ID)(c).UnmarshalJSON(data)
}

// UnmarshalParam reads a parameter of a URL or form as [snowflake.ID.UnmarshalParam] does. On an error c is 0.
func (c *Column[F]) UnmarshalParam(param string) error {
	*c = 0
	return (*snowflake.ID)(c).UnmarshalParam(param)
}
