package gormplugin

import "errors"

var (
	// ErrNilGenerator is returned by [Plugin.Initialize], and so by gorm.Open and db.Use, if [New] got no generator: nil,
	// or a nil pointer in the interface.
	ErrNilGenerator = errors.New("gormplugin: nil generator")

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
