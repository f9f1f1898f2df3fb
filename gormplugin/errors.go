package gormplugin

import (
	"errors"

	"github.com/sqlflake/sqlflake/gormplugin/internal/model"
	"github.com/sqlflake/sqlflake/gormplugin/internal/upsert"
)

var (
	// ErrOption is wrapped by the errors of [Plugin.Initialize], and so of gorm.Open and db.Use, and of [Open], for an
	// option that is nil or invalid, and for a generator that is nil or a nil pointer.
	ErrOption = errors.New("gormplugin: invalid option")

	// ErrTag is wrapped by the error of a Create, and of [DisableAutoIncrement], for a model with a tag that the plugin
	// cannot follow: a snowflake tag on a field that cannot hold an ID, whose column is too small, that another row or
	// the database sets, that GORM does not write, or that is an embedded struct; one that names no generator; a
	// default tag by which all rows would get the same key; and type:int without size:64 on a [Key].
	ErrTag = model.ErrTag

	// ErrKeyUnknown is wrapped by the error of a Create with a conflict clause, if a record conflicted with an existing
	// row whose key is not known, and other rows are about to refer to the record: its associations, or the row or join
	// row that has the record as an association. They would be orphans. Create returns it before they are written. The
	// default transaction is rolled back; under SkipDefaultTransaction the rows that were written before stay.
	ErrKeyUnknown = upsert.ErrKeyUnknown

	// ErrRepeated is wrapped by the error of a Create, Save or Association if a row has an ID already that was
	// generated for the statement, in any column that the plugin fills: two generators make the same IDs, as after a
	// restore of the database, a clone, or with a worker that is used twice. It wraps gorm.ErrDuplicatedKey. The row
	// stays as it is, even where the conflict clause of an association or the caller would update or keep it. The
	// default transaction is rolled back. Under SkipDefaultTransaction the rows of earlier statements stay, and those
	// that DO NOTHING inserted. The records of the statement lose their generated IDs.
	//
	// gorm.io/driver/postgres 1.6.0 drops the database's error if gorm.Config.TranslateError is set. A repeated ID that
	// violates a unique index is then gorm.ErrDuplicatedKey alone.
	ErrRepeated = upsert.ErrRepeated

	// ErrCondition is wrapped by the error of a statement with an invalid [Created] or [Page], which is not executed,
	// and by the error of [NextPage] and [Each] for rows that do not lead to a next page.
	ErrCondition = errors.New("gormplugin: invalid condition")
)
