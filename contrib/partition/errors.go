package partition

import "github.com/sqlflake/sqlflake/contrib/partition/internal/engine"

// Errors of this package, for errors.Is. The text of a returned error names the value and the limit. Errors of the
// layout, such as snowflake.ErrFieldOrder and snowflake.ErrTimeExhausted, and errors of the database are wrapped too.
var (
	// ErrOption is returned by New for an invalid table, unit or option, by Run for an invalid interval, and by all
	// methods if WithStart asks for too many partitions.
	ErrOption = engine.ErrOption

	// ErrTable is returned by all methods that use the database if the table can't be maintained: it does not exist, is
	// a view, has no partitions, is partitioned by something else than ranges of the key, or its key is no bigint.
	// Adopt returns it for a table that can't be partitioned by its key, and on MySQL and MariaDB. Maintain returns it
	// there if WithKeep or WithArchive can't make a table of a partition, because another table has its name.
	ErrTable = engine.ErrTable

	// ErrBlocked is matched by the problems of a Plan. Maintain returns each of them.
	ErrBlocked = engine.ErrBlocked

	// ErrLocked is returned by Maintain and Adopt if a step did not get its locks within a minute, each time waiting for
	// them for at most the lock timeout. On PostgreSQL its text says who holds the lock of a drop
	// or an adoption.
	ErrLocked = engine.ErrLocked
)
