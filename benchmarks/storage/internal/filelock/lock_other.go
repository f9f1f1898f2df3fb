//go:build !unix

package filelock

import "os"

// Lock does nothing: these systems have no lock of this kind in the standard library.
func Lock(*os.File) error { return nil }
