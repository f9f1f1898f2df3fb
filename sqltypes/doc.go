// Package sqltypes has column types around [snowflake.ID] for what an ID alone cannot say. A column that is NOT NULL and a
// bigint needs nothing of this package: use snowflake.ID itself.
//
//	Null, ZeroNull     an ID that may be NULL: an optional foreign key, a parent of a tree, the result of an outer join;
//	                   ZeroNull has no NULL in Go, its 0 is NULL in the table
//	Typed              the ID of one kind of thing: a UserID is not an OrderID, and reads "user_04W86BB0G4007" outside;
//	                   with TypedNull and TypedArray
//	Array              an array of IDs, a bigint[] on PostgreSQL, and lists of IDs as one parameter everywhere
//	Text, Binary, UUID for schemas whose keys are characters, bytes or UUIDs; in the order of the IDs
//
// All but the array are integers or hold one, and convert to and from snowflake.ID. What a method reads replaces the value:
// after an error it is zero, or NULL, never the value of an earlier row. The plugin of package gormplugin fills keys of the
// types Typed, Text, Binary and UUID.
//
// Package publicid has a type whose texts are tokens that say nothing of the ID, and package sqlfunc functions for the
// database, which read and issue IDs in SQL. How each type goes through each driver is listed in the table
// internal/compat/CONFORMANCE.md of the repository.
package sqltypes
