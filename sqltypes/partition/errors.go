package partition

import "errors"

// Errors of this package, for errors.Is. The text of a returned error names the value and the limit. Errors of the
// layout, such as snowflake.ErrFieldOrder and snowflake.ErrTimeExhausted, and errors of the database are wrapped too.
var (
	// ErrOption is returned by New for an invalid table, unit or option, by MoveDefault for a batch below 1, and by Run
	// for an invalid interval.
	ErrOption = errors.New("partition: invalid option")

	// ErrTable is returned by all methods that use the database if the table can't be maintained: it does not exist, is
	// a view, has no partitions, is partitioned by something else than ranges of the key, or its key is no bigint.
	// Adopt returns it for a table that can't be partitioned by its key.
	ErrTable = errors.New("partition: unsuitable table")

	// ErrName is returned by Plan and Maintain if the name of a new partition is empty, longer than the database
	// allows, or no UTF-8, and by Maintain if the name of WithKeep is. If another table has the name of WithKeep,
	// Maintain returns it on MySQL and MariaDB, and the error of the database on PostgreSQL.
	ErrName = errors.New("partition: name not usable")

	// ErrBlocked is matched by the problems of a Plan. Maintain returns each of them.
	ErrBlocked = errors.New("partition: step blocked")

	// ErrLocked is returned by Maintain, MoveDefault and Adopt if a step did not get its locks within the patience,
	// each time waiting for them for at most the lock timeout. On PostgreSQL its text says who holds the lock of a drop
	// or an adoption.
	ErrLocked = errors.New("partition: lock not available")
)
