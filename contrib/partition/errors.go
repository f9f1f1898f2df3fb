package partition

import "github.com/sqlflake/sqlflake/contrib/partition/internal/engine"

// Errors of this package, for errors.Is. The text of a returned error names the value and the limit. Errors of the
// layout, such as snowflake.ErrFieldOrder and snowflake.ErrTimeExhausted, and errors of the database are wrapped too.
var (
	// ErrOption is returned by New for an invalid table, unit or option, by MoveDefault for a batch below 1, by Run
	// for an invalid interval, and by all methods for the name of a new partition that is empty, longer than the
	// database allows, or no UTF-8. Maintain also returns it for such a name of WithKeep, and on MySQL and MariaDB for
	// one that another table has; on PostgreSQL that is an error of the database.
	ErrOption = engine.ErrOption

	// ErrTable is returned by all methods that use the database if the table can't be maintained: it does not exist, is
	// a view, has no partitions, is partitioned by something else than ranges of the key, or its key is no bigint.
	// Adopt returns it for a table that can't be partitioned by its key.
	ErrTable = engine.ErrTable

	// ErrBlocked is matched by the problems of a Plan. Maintain returns each of them.
	ErrBlocked = engine.ErrBlocked

	// ErrLocked is returned by Maintain, MoveDefault and Adopt if a step did not get its locks within the patience,
	// each time waiting for them for at most the lock timeout. On PostgreSQL its text says who holds the lock of a drop
	// or an adoption.
	ErrLocked = engine.ErrLocked
)
