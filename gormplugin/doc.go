// Package gormplugin fills the primary keys of GORM models with Snowflake IDs.
//
//	gen, err := snowflake.New(1)
//	...
//	db, err := gorm.Open(dialector, gormplugin.New(gen)) // or db.Use(gormplugin.New(gen))
//
//	type User struct {
//		gormplugin.Model // ID, CreatedAt, UpdatedAt
//		Name string
//	}
//
// A model whose primary key is a [snowflake.ID] needs no hook and no other line, with or without [Model]. The key is there
// before the row is: hooks see it, associations refer to it, and no database has to be asked for it.
//
// # What is filled
//
// A key that is 0 (or nil, for a *snowflake.ID) gets an ID when the record is created: by Create, CreateInBatches, Save,
// FirstOrCreate, Association(...).Append, with the generics API, in structs, slices, arrays, pointers to them and maps,
// and in associations of any depth. One statement draws all its IDs in one call of the generator, with the context of the
// statement, and they ascend in the order of the records. If the generator fails, Create fails with its error, no key is
// set, and the parents of an association are rolled back.
//
// A key that is set stays, also a negative one: only 0 means "no ID yet". So a record whose transaction was rolled back
// keeps its key when it is created again.
//
// The key is GORM's prioritized primary field: the field ID, or the only primary key. Of the key (TenantID, ID) that is ID,
// and of two ID fields with other names neither. Never filled are:
//
//   - keys that are the foreign key of a belongs-to relation, halves of join tables, and ID columns that are no key;
//   - keys with a default or autoIncrement tag, without permission to create, or omitted by Omit: the database makes them;
//   - keys of other types, such as int64 or a UUID, without a tag or [IntegerKeys];
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
// All fields of a statement that have one generator share one call; within a record the key comes first, and then the
// fields in their order. If one of several generators fails, no field of the statement is set. A tag that cannot be
// followed is an error that wraps [ErrTag], at every Create of the model: on a type that cannot hold an ID or a column that
// is too small, beside default or autoIncrement, on the foreign key of a belongs-to relation, on a field that GORM does not
// write, on an embedded struct instead of a field of it, or with the name of no generator.
//
// Which generator makes the ID of a field: the one that its tag names, else that of the session ([SessionGenerator]), else
// that of the model ([WithModel]), else that of [New] or [Open].
//
// # Integer keys
//
// [IntegerKeys] fills the keys of models that have an int64 or a uint, gorm.Model among them. GORM takes such a key for
// auto-increment, tagged ones too: it creates a sequence or an AUTO_INCREMENT column, from which rows that others insert
// get numbers that may collide with IDs, and asks for the key after each Create. [AutoMigrate] creates plain columns
// instead, [Prepare] serves tables that are made otherwise, and gormplugin/adopt changes those that are there. The tag
// autoIncrement:false does the same for one model. Without any of these the plugin logs a warning for each such model, once
// for a handle, and a []map[string]any cannot be created on databases with RETURNING, as without the plugin; a pointer to
// one can.
//
// # Values
//
// Maps are filled in place, under the name of the column; they may hold a key under the name of the column or the field.
// Select("Name") still writes the key. SkipHooks skips hooks, not keys. Structs and arrays by value cannot take a key, and
// get an error that wraps gorm.ErrInvalidValue instead of a row; so do nil maps, and values of another type than the
// model that have no key at the position of the model's.
//
// # Conflicts
//
// After ON CONFLICT DO UPDATE (ON DUPLICATE KEY UPDATE) has updated a row, the record has the key of that row, and its
// associations refer to it. After DO NOTHING or INSERT IGNORE has skipped a record, its key is 0 again if it came from the
// plugin.
//
// The same goes for generated fields beside the key, a public ID for instance: they are as much the identity of a row. If
// the plugin has filled such a field in a statement, an update leaves its column as it is in the row, whether UpdateAll or
// AssignmentColumns names it, for all records of the statement; and the record has the row's value afterwards.
// Assignments of other values, and fields that are set in all records, are the caller's wish and stay.
//
// If other rows are about to refer by such a key or field to a record whose row is not known, Create fails with
// [ErrKeyUnknown] before they are written. That concerns the associations of such a record, and the records of a
// belongs-to or many-to-many relation, which GORM saves with DO NOTHING: new ones that meet another unique value. It does
// not concern relations by columns that the plugin has not filled (the tag references), nor children that were skipped, to
// which nothing refers.
//
// On SQLite, PostgreSQL and MariaDB the key comes back with the statement itself (RETURNING), and without a conflict no
// other statement is run. One query is run when records were skipped. For slices of maps, and when the WHERE of a DO
// UPDATE has excluded rows, it takes one query for the keys and one for each 100 of the updated rows. MySQL takes the same
// when a row was met. These queries find rows by the columns of the clause's target and its TargetWhere, so a batch on
// MySQL needs clause.OnConflict.Columns. The key of an updated row is 0 if they cannot find it:
//
//   - without such columns, as in Save of a slice on MySQL whose record meets another unique column than the key;
//   - if the target has a column that was left to the database to fill with a default;
//   - if the row has another value than Go, as a time with more digits than its column.
//
// Generated fields beside the key are 0, or empty, in the same cases.
//
// # Limits
//
// A table that is written without its model, as in db.Table("users").Create(map), is not filled, nor is a struct without
// the key: db.Table("users").Create(&dto). Save of a record that is there writes all its fields, as GORM does, also a
// generated one that is 0. A key that a client sent in JSON is a key that is set: decode requests into a type without it.
//
// Keys that the database counts up should not be made by the application as well: on MySQL and SQLite the counter follows
// the largest key, and then hands out numbers that the generator will use.
//
// Reading needs no plugin. But First, Find, Take, Last and Delete take a string that is not a number for SQL:
//
//	db.First(&user, c.Param("id"))     // SQL injection
//
//	id, err := snowflake.Parse(c.Param("id"))
//	...
//	db.First(&user, id)
//
// gorm.io/sharding hashes sharding keys of the type int64 only: pass id.Int64() in conditions.
package gormplugin
