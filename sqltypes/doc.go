// Package sqltypes has column types around [snowflake.ID] for what an ID alone cannot say.
//
// [Null] is an ID that may be NULL: an optional foreign key, a parent of a tree, the result of an outer join.
//
// A column that is NOT NULL needs nothing of this package: use [snowflake.ID] itself.
package sqltypes
