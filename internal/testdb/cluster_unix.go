//go:build unix && !linux

package testdb

import "syscall"

// endWithParent does nothing: only Linux ends a child with its parent.
func endWithParent(*syscall.SysProcAttr) {}
