//go:build !unix

package measure

import "os"

// lock does nothing: for these systems the standard library has no file locks.
func lock(*os.File) error { return nil }
