//go:build !unix

package testdb

// HideBinaries does nothing where throwaway clusters do not exist.
func HideBinaries() {}
