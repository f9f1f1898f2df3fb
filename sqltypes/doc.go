// Package sqltypes has column types for snowflake IDs that a plain [snowflake.ID] does not cover.
//
//	type user struct{}
//
//	func (user) Prefix() string { return "user" }
//
//	type UserID = sqltypes.Typed[user] // "user_04W86BB0G4007" in JSON and URLs, a BIGINT in the table
//
//	type Post struct {
//		ID       snowflake.ID  `gorm:"primaryKey;type:int"` // a NOT NULL BIGINT needs nothing of this package
//		AuthorID UserID
//		EditorID *UserID       // may be NULL
//		ParentID sqltypes.Null // may be NULL, without a pointer
//	}
//	db.Where("id = ANY(?)", sqltypes.ArrayOf(ids)) // PostgreSQL: any number of IDs in one parameter
//
// All types except Array and Null are an int64, as snowflake.ID is: they convert with snowflake.ID(x) and back. They
// work with ==, <, cmp.Compare, map keys and the JSON option omitzero. The GORM plugin fills keys of the types Typed,
// Strict and Text.
//
// # NULL
//
// Read a nullable column into Null, or into a pointer, such as *UserID or *Text. Scan into one of the other types
// rejects NULL with [snowflake.ErrNull]. sql.Null works too, but after an error of Scan it has Valid true and the ID 0,
// and its JSON is an object with V and Valid.
//
// As an argument, a nil pointer makes sqlx.In panic, since it calls Value through it, as other query builders may. Pass
// a Null, a sql.Null, or nil itself there. database/sql, pgx and GORM take the pointer.
//
// GORM does not call Scan for NULL: a plain field becomes 0 without an error, while a pointer, a Null or an Array keeps
// its old value if the struct already held a row. Read each row into a new variable.
//
// # Errors and concurrency
//
// Every method that reads replaces the value: after an error it is 0, NULL or nil, never the value of an earlier row.
// The only exception is JSON null, which leaves a Typed, Strict or Text unchanged, as encoding/json prescribes.
// Unless a comment says otherwise, errors are a [*snowflake.ParseError]; match them with errors.Is and
// [snowflake.ErrSyntax], ErrRange, ErrNull or ErrType.
//
// All types are plain values. Methods with a pointer receiver write to the value, as an assignment does; all others are
// safe for concurrent use.
package sqltypes
