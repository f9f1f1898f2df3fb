package snowflake

import "cmp"

// ID is a Snowflake ID: a 64-bit integer that carries the time of its making in its high bits, so that IDs sort by age.
//
// Zero value: 0 means "no ID yet". No generator issues it, and the GORM plugin fills a key that holds it.
//
// Order: IDs compare as integers, with <, == and [ID.Compare]. Of two IDs of one layout the larger one is the younger,
// to the accuracy of the clocks that made them.
//
// Range: a generator issues 1 to 2^63-1, since a layout leaves the sign bit 0. The type itself holds every int64, so that
// old rows with other numbers can be read; [Layout.Validate] is the place to refuse them.
//
// Concurrency: an ID is a plain value. Its methods with a value receiver may run at any time; those with a pointer
// receiver write to the ID as an assignment does.
//
// What the bits mean depends on a [Layout], and no method of ID depends on one: ask layout.Time(id), not the ID.
//
// Outside of Go an ID is text in JSON and other text formats and an integer in SQL:
//
//   - JSON and text write decimal digits in a string, because a JavaScript number holds integers exactly only up to
//     2^53-1 (Number.MAX_SAFE_INTEGER in ECMA-262). Each kind of text is accepted if and only if it is what the ID prints.
//   - SQL writes an int64, for a column of type BIGINT (INTEGER on SQLite).
//
// To leave an absent ID out of a JSON object use the option omitzero: encoding/json version 2 does not take "0" for empty,
// so that omitempty would write it there.
//
// A defined type such as
//
//	type UserID snowflake.ID
//
// loses all methods, and with them the string in JSON. Embed the ID in a struct instead.
//
// The verbs %d, %v and %s print decimal digits. ID is a [fmt.Stringer], so %x prints the digits' ASCII codes: use
// id.Int64() with it.
type ID int64

// Int64 returns the ID as an integer, for APIs that know nothing of the type.
func (id ID) Int64() int64 { return int64(id) }

// IsZero reports whether id is 0, which means "no ID yet". The JSON option omitzero asks it.
func (id ID) IsZero() bool { return id == 0 }

// Compare returns -1 if id is smaller than other, 0 if they are equal, and +1 if it is larger. It fits
// [slices.SortFunc] as the method expression ID.Compare.
func (id ID) Compare(other ID) int { return cmp.Compare(id, other) }
