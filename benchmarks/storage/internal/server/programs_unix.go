//go:build unix

package server

import (
	"os"
	"os/exec"
	"path/filepath"
)

// findBeside finds two programs in the same folder.
func findBeside(folders []string, first, second string) (string, string, bool) {
	for _, dir := range folders {
		a, b := filepath.Join(dir, first), filepath.Join(dir, second)
		if isProgram(a) && isProgram(b) {
			return a, b, true
		}
	}
	return "", "", false
}

// findIn finds the first program with a name.
func findIn(folders []string, name string) (string, bool) {
	for _, dir := range folders {
		if path := filepath.Join(dir, name); isProgram(path) {
			return path, true
		}
	}
	return "", false
}

func isProgram(path string) bool {
	_, err := exec.LookPath(path)
	return err == nil && filepath.IsAbs(path)
}

// folders returns those of PATH and those that match patterns.
func folders(patterns ...string) []string {
	list := filepath.SplitList(os.Getenv("PATH"))
	for _, pattern := range patterns {
		matches, _ := filepath.Glob(pattern) // fails for a bad pattern only
		list = append(list, matches...)
	}
	return list
}
