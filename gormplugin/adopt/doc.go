// Package adopt moves existing tables from auto-increment keys to keys that the application fills.
//
//	// The last step of the rollout, when no process of the old version runs any more:
//	err := adopt.DropAutoIncrement(db, &User{}, &Order{})
//
//	// Old rows keep their small keys. New rows get IDs from gormplugin, and ORDER BY id stays the order of creation.
//	err = db.Create(&User{Name: "new"}).Error
//
// Tables that AutoMigrate creates for models whose key is a [snowflake.ID] have no counter and need nothing of this.
//
// # When to call it
//
// Call it last: afterwards a process that leaves the key to the database can insert no row. The safe order is:
//
//  1. Prepare the readers. A client that reads JSON keys as numbers rounds snowflakes, and old processes with 32-bit
//     keys in Go cannot read them. Widen columns of 32 bits (serial, int) by hand, together with the columns that refer
//     to them; otherwise the first snowflake is out of range.
//  2. Replace the processes by new ones that use the plugin and models whose key is a snowflake.ID. The next paragraphs
//     cover the time in which both versions insert rows. Give the plugin gormplugin.WithMinID with the greatest key of all
//     tables plus 1, or a larger number if the old processes still insert rows: see Old keys below.
//  3. After the last old process has ended, call DropAutoIncrement.
//
// On PostgreSQL old and new processes may insert rows side by side for any time: given keys do not change the sequence,
// which goes on with small numbers.
//
// On MySQL, MariaDB and SQLite the counter follows the largest key. After a new process has written a snowflake, rows
// of old processes get the numbers after it, and a generator issues the same numbers in that millisecond. No row is
// overwritten, but one of the two inserts fails with a duplicate key. So stop the old writers before the first new one
// starts, or let both retry on gorm.ErrDuplicatedKey. The counter never comes down: processes that are rolled back to
// the old version continue above the largest snowflake.
//
// Old keys and snowflakes do not collide: with the default layout an ID that is made in 2026 or later exceeds 10^17.
//
// # Old keys
//
// An old key tells no time. gormplugin.CreatedBefore, CreatedSince and CreatedBetween would find the rows at the epoch of the layout: a
// retention job that deletes what was made Before a day would delete all of them. With gormplugin.WithMinID they find
// none, whenever the rows were made: select these by `id < ?` and their created_at column, in addition. If the handle has
// the plugin and the table has smaller keys, DropAutoIncrement returns [ErrAutoIncrementKept], which names the number to
// give. It does so too if the counter has been dropped before. Any number between old keys and IDs will do: with the
// default layout 1,000,000,000,000 is four minutes after the epoch.
//
// gormplugin.Page reads old rows first, in the order of their creation. A reader that follows a table with
// gormplugin.Settled begins after the last old process has ended: on PostgreSQL its rows have keys below those that the
// reader has passed.
//
// # Rows without a key
//
// Afterwards PostgreSQL rejects a row without a key (a NOT NULL violation). MySQL and MariaDB reject it in strict mode,
// their default; in other modes they store the key 0, once. SQLite cannot reject it: a key of type integer is the
// rowid, and SQLite assigns the largest rowid plus 1, with or without AUTOINCREMENT. A key without AUTOINCREMENT needs
// no change on SQLite.
//
// # What it does
//
//   - PostgreSQL: DROP DEFAULT and DROP SEQUENCE for a serial key, DROP IDENTITY for an identity column, for all tables
//     in one transaction, or in the transaction of the handle. A sequence that the column does not own is kept. The
//     lock is exclusive but short. A column of 16 or 32 bits becomes a bigint, and so do the columns that refer to it
//     by a foreign key. This rewrites these tables under the lock, and prepared statements of other processes fail once
//     ("cached plan must not change result type"). Tables that inherit from it lose the default too. To bound the wait
//     for the locks, set lock_timeout in a transaction and pass that transaction.
//   - MySQL, MariaDB: ALTER TABLE ... MODIFY with the column's own definition without AUTO_INCREMENT. The type stays,
//     unsigned or not, since foreign keys must match it; both hold a snowflake. If foreign keys refer to the column,
//     foreign_key_checks is off for this session meanwhile. A column of less than 64 bits becomes bigint if it takes
//     part in no foreign key. MariaDB changes the table in place unless it widens the column; MySQL may copy the table.
//     Each table is changed on its own: if one fails, the error names those that are done. The change waits for
//     transactions that use the table, and later statements wait for the change. Bound this with a context, whose end
//     takes the change back, or with lock_wait_timeout on the handle of db.Connection.
//   - SQLite: copies the table into a new one with its indexes and triggers
//     (https://www.sqlite.org/lang_altertable.html#otheralter), all tables in one transaction. This takes the time and
//     the space of the rows. The wait for other writers is bounded by the driver's busy timeout, not by the context.
//     Only tables of the main file are changed. Statistics of ANALYZE for the table are lost. References of another
//     type in the new models, such as the bigint of an ID without a tag, make AutoMigrate rebuild the table again, and
//     that rebuild of GORM loses triggers; see gormplugin.Model for the tag of keys, which references inherit.
//
// [snowflake.ID]: https://pkg.go.dev/github.com/sqlflake/sqlflake/snowflake#ID
package adopt
