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
//   - keys of other types, such as int64 or a UUID;
//   - keys with `gorm:"snowflake:-"`. A child whose primary key is its parent's needs this if only the parent declares
//     the relation.
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
// plugin. If other rows are about to refer by this key to a record whose row is not known, Create fails with
// [ErrKeyUnknown] before they are written. That concerns the associations of such a record, and the records of a
// belongs-to or many-to-many relation, which GORM saves with DO NOTHING: new ones that meet another unique value. It does
// not concern relations by other columns than the key (the tag references), nor children that were skipped, to which
// nothing refers.
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
// # Limits
//
// A table that is written without its model, as in db.Table("users").Create(map), is not filled. Keys that the database
// counts up should not be made by the application as well: on MySQL and SQLite the counter follows the largest key, and
// then hands out numbers that the generator will use.
package gormplugin
