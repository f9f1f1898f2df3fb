package sqltypes

import (
	"database/sql/driver"

	"github.com/sqlflake/sqlflake/snowflake"
	"github.com/sqlflake/sqlflake/sqltypes/internal/column"
)

// Strict is an ID that is read from JSON strings only, for APIs whose callers might round numbers: models that call
// tools, scripts, JavaScript. In all else it is like a [snowflake.ID], and it converts to one.
//
//	var in struct {
//		ID sqltypes.Strict `json:"id"`
//	}
//	err := json.Unmarshal(body, &in) // {"id":"175928847299117063"}, and an error for {"id":175928847299117063}
//	id := snowflake.ID(in.ID)
//
// An ID reads numbers, too, since old clients send them: it can't see which were rounded. A type defined from Strict
// reads numbers, too, since it has none of its methods: use an alias. The column is a bigint; one that may be NULL is a
// *Strict.
type Strict snowflake.ID

// SnowflakeID returns the ID, for gormplugin.Key.
func (s Strict) SnowflakeID() snowflake.ID { return snowflake.ID(s) }

// SetSnowflakeID replaces the ID, for gormplugin.Key: the plugin fills a primary key of this type.
func (s *Strict) SetSnowflakeID(id snowflake.ID) { *s = Strict(id) }

// String returns the ID in decimal digits.
func (s Strict) String() string { return snowflake.ID(s).String() }

// AppendText appends the text of [Strict.String] to b. The error is always nil.
func (s Strict) AppendText(b []byte) ([]byte, error) { return snowflake.ID(s).AppendText(b) }

// MarshalText returns the text of [Strict.String], which makes it a string in JSON. The error is always nil.
func (s Strict) MarshalText() ([]byte, error) { return snowflake.ID(s).MarshalText() }

// UnmarshalText reads decimal digits as [snowflake.ID.UnmarshalText] does. On an error s is 0.
func (s *Strict) UnmarshalText(text []byte) error { return (*Text)(s).UnmarshalText(text) }

// UnmarshalParam reads a parameter of a URL or form as [snowflake.ID.UnmarshalParam] does. On an error s is 0.
func (s *Strict) UnmarshalParam(param string) error { return (*Text)(s).UnmarshalParam(param) }

// UnmarshalJSON reads a JSON string as [snowflake.ID.UnmarshalJSON] does, with its errors, and null, which leaves s
// unchanged. All other values are [snowflake.ErrType]. On an error s is 0.
//
// Leave out the JSON option string: up to Go 1.26 encoding/json removes the quotes for it, and then each ID is an
// error.
func (s *Strict) UnmarshalJSON(data []byte) error {
	if !isOtherJSON(data) {
		return (*Text)(s).UnmarshalJSON(data)
	}
	*s = 0
	return column.Reject(snowflake.ErrType, "JSON", data,
		"want a string with the digits: numbers above 2^53 are rounded by JavaScript and other readers of JSON")
}

// UnmarshalBSONValue reads an integer as [snowflake.ID.UnmarshalBSONValue] does. On an error s is 0.
func (s *Strict) UnmarshalBSONValue(typ byte, data []byte) error {
	*s = 0
	return (*snowflake.ID)(s).UnmarshalBSONValue(typ, data)
}

// Value returns the ID as an int64. The error is always nil.
func (s Strict) Value() (driver.Value, error) { return int64(s), nil }

// Scan reads a column as [snowflake.ID.Scan] does, and a Strict or a pointer to one, which bulk builders pass. On an
// error s is 0.
func (s *Strict) Scan(src any) error {
	id, err := column.ScanInteger[Strict](src)
	*s = Strict(id)
	return err
}

// GormDataType returns "bigint", as [snowflake.ID.GormDataType] does.
func (Strict) GormDataType() string { return "bigint" }

// JSONSchemaAlias returns "", as [snowflake.ID.JSONSchemaAlias] does.
func (Strict) JSONSchemaAlias() any { return "" }
