//go:build !unix

package filelock

import "os"

// Lock does nothing: for these systems the standard library has no file locks.
func Lock(*os.File) error { return nil }
