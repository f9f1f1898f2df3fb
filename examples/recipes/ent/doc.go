// Package ent shows Snowflake IDs as primary keys with ent. Copy schema/key.go, use its mixin Key in the schemas,
// generate the code, and register its hook Keys with the client. The columns are then plain bigint (integer on SQLite),
// and Create, CreateBulk and upserts need nothing else.
//
// The generated code is not in the repository. In examples/recipes:
//
//	go generate ./ent && go run ./ent/testdata/shop
package ent

//go:generate go tool ent generate --feature sql/upsert --target ./ent ./schema
