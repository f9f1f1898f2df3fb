// Package gormplugin fills the primary keys of GORM models with Snowflake IDs:
//
//	plugin, err := gormplugin.Open(ctx, db) // db of gorm.Open; it leases a worker in this database
//	...
//	defer plugin.Close(context.Background())
//
//	type User struct {
//		gormplugin.Model // ID, CreatedAt, UpdatedAt
//		Name string
//	}
//	db.Create(&users) // the keys are set before the rows are written
//
// With a generator of your own, use gorm.Open(dialector, gormplugin.New(gen)) or db.Use(gormplugin.New(gen)). A model
// whose primary key is a [snowflake.ID] needs no hook, with or without [Model]. Hooks see the key, and associations
// refer to it.
//
// # What is filled
//
// A key that is 0 (or nil, for a *snowflake.ID) gets an ID when the record is created: by Create, CreateInBatches,
// Save, FirstOrCreate, Association(...).Append, with the generics API, in structs, slices, arrays, pointers to them and
// maps, and in associations of any depth. One statement draws all its IDs in one call of the generator, with the
// context of the statement, and they ascend in the order of the records. If the generator fails, Create fails with its
// error, no key is set, and the parents of an association are rolled back.
//
// A key that is set stays, also a negative one: only 0 means "no ID yet". A dry run, as of ToSQL, shows the keys and
// takes them back, from associations and references too. If a statement fails, the keys that it gave
// to its records are cleared, also if an association or an AfterCreate hook fails and the statement's own transaction
// is rolled back. As GORM's auto-increment keys do, they stay after a rollback by the caller, and if the commit itself
// fails. They also stay, whether or not the rows are rolled back,
//
//   - in associations whose own INSERT succeeded, even if something fails after it: a hook of theirs, another
//     association, or the statement that saves them;
//   - in the batches of CreateInBatches or CreateBatchSize before the one that fails;
//   - without any transaction, if the context has ended or the connection was lost: the row may be there.
//
// The key is GORM's prioritized primary field: the field ID, or the only primary key. Of the key (TenantID, ID) that is
// ID, and of two ID fields with other names neither. Never filled are:
//
//   - keys that are the foreign key of a belongs-to relation, halves of join tables, and ID columns that are no key;
//   - keys with a default or autoIncrement tag, without permission to create, or omitted by Omit: the database makes
//     them. A default that is a number, such as default:0, is an error ([ErrTag]);
//   - keys of other types, such as int64 or a UUID, without a tag or [IntegerKeys]. If one is not set, and is an integer
//     of 64 bits or a string, the plugin logs a warning, once for each model, which the next tag silences;
//   - keys with `gorm:"snowflake:-"`. A child whose primary key is its parent's needs this if only the parent declares
//     the relation.
//
// # Tags
//
// `gorm:"snowflake"` fills any other field, key or not, and any number of them in a model: snowflake.ID, int64, uint64,
// a [Key], a string, which gets the decimal digits and is unset if it is empty, and pointers to these.
//
//	type Invoice struct {
//		ID       snowflake.ID
//		PublicID string `gorm:"snowflake;size:19;uniqueIndex"`
//		Number   int64  `gorm:"snowflake:invoices"` // from the generator of WithNamed("invoices", gen)
//	}
//
// Fields whose tag names no generator have that of [New] or [Open]. All fields of a statement that have one generator
// share one call; within a record the key comes first, and then the fields in their order. If one of several generators
// fails, no field of the statement is set. A tag that the plugin cannot follow is an error that wraps [ErrTag], at
// every Create of the model: on a type that cannot hold an ID or a column that is too small, beside default or
// autoIncrement, on the foreign key of a belongs-to relation, on a field that GORM does not write, on an embedded
// struct instead of a field of it, or with the name of no generator.
//
// # References
//
// Make foreign keys the parent's own key type. For keys that are numbers in the database a snowflake.ID or a uint64
// works as well, but not for a sqltypes.Text, Binary or uuidkey.ID. GORM would convert the ID to a single character in a
// string, such as the OwnerID of a polymorphic relation, drop its high bits in a smaller integer, write a number beside
// a key of text, and store that without an error. Create and Update of the model that declares such a relation fail
// with schema.ErrUnsupportedDataType, whatever they write: change the type, or remove the relation from the model, as
// `gorm:"-"` does.
//
// # Integer keys
//
// [IntegerKeys] fills the keys of models that have an int64 or a uint, such as gorm.Model. GORM treats such a key as
// auto-increment, tagged ones too: it creates a sequence or an AUTO_INCREMENT column, from which rows that others
// insert get numbers that may collide with IDs, and reads the key back after each Create. [AutoMigrate] creates plain
// columns instead, [DisableAutoIncrement] serves tables that are made otherwise, and package gormplugin/adopt changes
// existing ones. The tag autoIncrement:false does the same for one model. Without any of these the plugin logs a
// warning for each such model, once for a handle, and Create of a []map[string]any is an error that wraps
// gorm.ErrInvalidData.
//
// # Values
//
// Maps are filled in place, under the name of the column; they may hold a key under the name of the column or the
// field. Select("Name") still writes the key. SkipHooks skips hooks, not keys. Structs and arrays by value cannot take
// a key, and get an error that wraps gorm.ErrInvalidValue instead of a row; so do nil maps. So do values of another
// type than the model, unless they have an ID wherever the model has a field to fill: GORM goes by the positions of the
// fields, not by their names. The ID may be of another type there, but not text for a number or the reverse.
//
// A pointer that is more than once in a slice is one record, and one record has one key. Create returns an error that
// wraps gorm.ErrInvalidData, where auto-increment keys would make several rows of it. With a DO UPDATE clause, as in
// Save, it becomes one row.
//
// # Conflicts
//
// After ON CONFLICT DO UPDATE (ON DUPLICATE KEY UPDATE) has updated a row, the record has the key of that row, and its
// associations refer to it. After DO NOTHING or INSERT IGNORE has skipped a record, its key is 0 again if it came from
// the plugin. The same is true of generated fields beside the key, such as a public ID: if the plugin has filled such a
// field in a record, UpdateAll and AssignmentColumns leave its column as it is in the row, and the record has the row's
// value. Fields that are set, by the caller or a hook, and assignments of other values are written, whatever the other
// records of the statement lack.
//
// GORM assigns the rows of RETURNING to the records by their order, so records would have values of other rows if DO
// NOTHING has skipped some of them or the WHERE of a DO UPDATE has excluded their rows. Columns that the database fills,
// and those of a clause.Returning, are then read again from each record's own row, and stay as they were in a record
// without one.
//
// If other rows are about to refer by such a key or field to a record whose row is not known, Create fails with
// [ErrKeyUnknown] before they are written. That concerns the associations of such a record, and new records of a
// belongs-to or many-to-many relation, which GORM saves with DO NOTHING, that conflict with an existing row by another
// unique value. It does not concern relations by columns that the plugin has not filled, nor children that were
// skipped, to which nothing refers.
//
// On SQLite, PostgreSQL and MariaDB the key comes back with the statement itself (RETURNING). Further queries are run
// only if records were skipped (one), and for slices of maps and if the WHERE of a DO UPDATE has excluded rows (one for
// the keys that the plugin gave, and one for each 100 of the other rows). On MySQL the same queries are run if a record
// conflicted with an existing row, except that a single record with an integer key and no other generated field needs
// the first one only. For text and binary keys and for records with another generated field the first one is always
// run. These queries find rows by the columns of the clause's target and its TargetWhere. If they cannot find a row, a
// key that the plugin gave is 0 again, one that was set stays, and generated fields beside it are 0 or empty:
//
//   - without such columns on MySQL, for batches, as in Save of a slice, for records whose key is text or binary, and
//     for records with another generated field;
//   - if the target has a column that was left to the database to fill with a default;
//   - if the row has another value than Go, such as a time with more digits than its column.
//
// # Limits
//
// On a handle without a plugin, Create of a [Model] whose key is 0 is an error. GORM has no place for such a check in other
// models with a [snowflake.ID]: they store the key 0.
//
// A table that is written without its model, as in db.Table("users").Create(map), is not filled, nor is a struct
// without the key: db.Table("users").Create(&dto). Save of an existing record writes all its fields, as GORM does, also
// a generated one that is 0. A key that a client sent in JSON is a key that is set: decode requests into a type without
// it.
//
// Reading needs no plugin. But First, Find, Take, Last and Delete take a string that is not a number for SQL:
//
//	db.First(&user, c.Param("id"))     // SQL injection
//
//	id, err := snowflake.Parse(c.Param("id"))
//	...
//	db.First(&user, id)
//
// gorm.io/sharding knows keys of the type int64 only, and rewrites no query without a sharding key or with names of
// tables, such as those of [Created] and [Page]. If DO NOTHING skips one of several records there, Create returns an
// error, and the records keep their keys; no transaction is around a single statement. The README has the
// settings.
package gormplugin
