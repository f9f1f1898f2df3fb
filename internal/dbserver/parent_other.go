//go:build unix && !linux

package dbserver

import "syscall"

// endWithParent does nothing: only Linux ends a child with its parent.
func endWithParent(*syscall.SysProcAttr, syscall.Signal) {}
