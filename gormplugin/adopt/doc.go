// Package adopt moves existing tables from auto-increment keys to keys that the application fills.
//
//	// The last step of the rollout, when no process of the old version runs any more:
//	err := adopt.DropAutoIncrement(db, &User{}, &Order{})
//
//	// Old rows keep their small keys. New rows get IDs from gormplugin, and ORDER BY id stays the order of creation.
//	err = db.Create(&User{Name: "new"}).Error
//
// Tables that AutoMigrate creates for models whose key is a snowflake.ID have no counter and need none of this. The
// [README] has the safe order of a rollout, and what becomes of old keys.
//
// [README]: https://github.com/sqlflake/sqlflake/blob/main/gormplugin/adopt/README.md
package adopt
