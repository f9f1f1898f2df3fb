// Package gormplugin fills the primary keys of GORM models with Snowflake IDs:
//
//	plugin, err := gormplugin.Open(ctx, db) // db of gorm.Open; it leases a worker in this database
//	...
//	defer plugin.Close(context.Background())
//
//	db.Create(&users) // the keys are set before the rows are written
//
// With your own generator, use gorm.Open(dialector, gormplugin.New(gen)) or db.Use(gormplugin.New(gen)). A model whose
// primary key is a [snowflake.ID] needs no hook, with or without [Model].
//
// A key that is 0 (or nil, for a *snowflake.ID) gets an ID before BeforeCreate runs: by Create, CreateInBatches, Save,
// FirstOrCreate, Association(...).Append and the generics API, in structs, slices, arrays, pointers to them and maps,
// and in associations of any depth. A key that is set stays, also a negative one. One statement draws all its IDs in
// one call of the generator, with the statement's context; they ascend in the order of the records, except with
// [snowflake.Scattered]. If the generator fails, Create fails with its error, no field is set, and the parents of an
// association are rolled back.
//
// The key is GORM's prioritized primary field: the field ID, or the only primary key. Of the key (TenantID, ID) that is
// ID, and of two ID fields with other names neither. Never filled are
//
//   - foreign keys of belongs-to relations, halves of join tables, and ID columns that are no key;
//   - keys with a default or autoIncrement tag, without permission to create, or omitted by Omit: the database makes
//     them. A numeric default, such as default:0, is an error ([ErrTag]);
//   - keys of other types, such as int64 or a UUID, without a tag or [WithIntegerKeys]. If one is not set, and is a
//     64-bit integer or a string, the plugin logs a warning, once for each model;
//   - keys with `gorm:"snowflake:-"`, which also silences the warning. A child whose primary key is its parent's needs
//     this if only the parent declares the relation.
//
// `gorm:"snowflake"` fills any other field, and any number of them in a model: snowflake.ID, int64, uint64, a [Key], a
// string, which gets the decimal digits and is unset if it is empty, and pointers to these. `gorm:"snowflake:gen=name"`
// takes IDs from the generator of [WithNamed]. Fields that share a generator share one call; within a record the key
// comes first, then the fields in their order. If one of several generators fails, no field of the statement is set. A
// tag that the plugin cannot follow is an [ErrTag] at every Create of the model.
//
// A generated ID that a row has already is [ErrRepeated], even in associations, whose clauses would hide it.
//
// The comment of [Plugin] has the rules for upserts, invalid records, failed statements and gorm.io/sharding. The
// [README] has the key after an upsert, references, values, integer keys, and the limits.
//
// [README]: https://github.com/sqlflake/sqlflake/blob/main/gormplugin/README.md
package gormplugin
