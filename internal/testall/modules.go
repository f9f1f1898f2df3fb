package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// rootModule recognizes the go.mod in the repository's top directory.
var rootModule = regexp.MustCompile(`(?m)^module github\.com/sqlflake/sqlflake\s*$`)

// findRoot returns the top directory of the repository that the working directory is in.
func findRoot() (string, error) {
	start, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for dir := start; ; dir = filepath.Dir(dir) {
		content, err := os.ReadFile(filepath.Join(dir, "go.mod"))
		if err == nil && rootModule.Match(content) {
			return dir, nil
		}
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return "", err
		}
		if dir == filepath.Dir(dir) {
			return "", fmt.Errorf("%s is not in the repository: no go.mod of it there or above", start)
		}
	}
}

// findModules returns the directories below root that hold a go.mod, as slash-separated paths relative to it, "." first.
func findModules(root string) ([]string, error) {
	var modules []string
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		switch name := entry.Name(); {
		case err != nil:
			return err
		case path == root:
		case entry.IsDir() && (strings.HasPrefix(name, ".") || strings.HasPrefix(name, "_") || name == "testdata" || name == "vendor"):
			return fs.SkipDir // the go command does not look there either
		}
		if entry.Name() != "go.mod" || entry.IsDir() {
			return nil
		}
		dir, err := filepath.Rel(root, filepath.Dir(path))
		if err != nil {
			return err
		}
		modules = append(modules, filepath.ToSlash(dir))
		return nil
	})
	if err != nil {
		return nil, err
	}
	slices.Sort(modules)
	return modules, nil
}
