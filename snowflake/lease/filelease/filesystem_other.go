//go:build !linux

package filelease

// networkFileSystem knows none: what statfs(2) says differs from system to system.
func networkFileSystem(string) (string, error) { return "", nil }
