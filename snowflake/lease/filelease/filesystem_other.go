//go:build !linux

package filelease

// networkFileSystem knows none: the result of statfs(2) differs between systems.
func networkFileSystem(string) (string, error) { return "", nil }
