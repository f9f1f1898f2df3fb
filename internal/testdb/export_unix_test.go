//go:build unix

package testdb

// HideBinaries makes the installed PostgreSQL binaries that are not in PATH unknown.
func HideBinaries() { binaryFolders = nil }
