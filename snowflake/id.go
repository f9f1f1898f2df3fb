package snowflake

// ID is a Snowflake ID: a 64-bit integer with the time of its issue in the high bits, so IDs sort by age.
//
// The zero value means "no ID yet": the GORM plugin fills a key that is 0. A generator issues 1 to 2^63-1, because a
// layout leaves the sign bit 0. The type holds every int64, so that old rows with other numbers can be read; use
// [Layout.Validate] to reject them. Methods with a pointer receiver write to the ID like an assignment.
//
// Of two IDs of one layout the larger is the younger, within the accuracy of the clocks that they come from.
//
// In JSON and other text formats an ID is a string of decimal digits, because a JavaScript number holds integers
// exactly only up to 2^53-1 (Number.MAX_SAFE_INTEGER in ECMA-262). Only the text that an ID prints is accepted. In SQL
// it is an int64, for a column of type BIGINT (INTEGER on SQLite), and in gob, CBOR and BSON (version 2 of MongoDB's
// driver) too; there a float64 is an error.
//
// To omit an absent ID from a JSON object use the option omitzero: encoding/json version 2 does not treat "0" as empty,
// so omitempty would write it. A type defined as "type UserID snowflake.ID" has no methods, so it is a number in JSON:
// use sqltypes.Typed, or embed the ID in a struct.
//
// The verbs %d, %v and %s print decimal digits. ID is a [fmt.Stringer], so %x prints the digits as ASCII codes: use
// int64(id) with it.
type ID int64

// IsZero reports whether id is 0, which means "no ID yet". The JSON option omitzero calls it.
func (id ID) IsZero() bool { return id == 0 }
