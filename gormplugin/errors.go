package gormplugin

import "errors"

var (
	// ErrNilGenerator is returned by [Plugin.Initialize], and so by gorm.Open and db.Use, if [New], [WithModel] or
	// [WithNamed] got no generator: nil, or a nil pointer in the interface. It is the error of a Create in a session whose
	// [SessionGenerator] is one of these.
	ErrNilGenerator = errors.New("gormplugin: nil generator")

	// ErrOption is wrapped by the errors of [Plugin.Initialize], and so of gorm.Open and db.Use, for options that cannot be
	// right, and is the error of a Create in a session whose [SessionGenerator] is not a [Generator].
	ErrOption = errors.New("gormplugin: invalid option")

	// ErrTag is wrapped by the error of a Create whose model has a snowflake tag where it cannot be followed, and by that
	// of [Prepare]: on a field of another type, on one that another row or the database sets, or with an unknown name.
	ErrTag = errors.New("gormplugin: invalid snowflake tag")

	// ErrNoPlugin is returned by [Prepare] and [AutoMigrate] for a handle without a [Plugin].
	ErrNoPlugin = errors.New("gormplugin: the handle has no plugin")

	// ErrZeroID is the error of a Create whose generator left an element of the slice at 0 although it reported success.
	// No key of the statement is set then.
	ErrZeroID = errors.New("gormplugin: the generator returned the ID 0")

	// ErrKeyUnknown is the error of a Create whose conflict clause kept a record from being written under its own key,
	// if other rows are about to refer to that record by this key and the key of the row that stands for it is not known.
	// Those rows would become orphans: associations of the record, or the row or join row of a belongs-to or many-to-many
	// relation that has the record as its association. It is returned before they are written; the default transaction
	// is rolled back, and under SkipDefaultTransaction the rows before them stay.
	ErrKeyUnknown = errors.New("gormplugin: key unknown after a conflict")
)
