package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// rootModule matches the go.mod in the top directory of the repository.
var rootModule = regexp.MustCompile(`(?m)^module github\.com/sqlflake/sqlflake\s*$`)

// findRoot returns the top directory of the repository, from the working directory or a parent of it.
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
			return "", fmt.Errorf("%s is not in the repository: neither it nor a parent has the go.mod", start)
		}
	}
}

// findModules returns the directories with a go.mod, as slash-separated paths relative to root. The first is ".".
func findModules(root string) ([]string, error) {
	var modules []string
	err := filepath.WalkDir(root, func(file string, entry fs.DirEntry, err error) error {
		switch name := entry.Name(); {
		case err != nil:
			return err
		case file == root:
		case entry.IsDir() && (strings.HasPrefix(name, ".") || strings.HasPrefix(name, "_") || name == "testdata" || name == "vendor"):
			return fs.SkipDir // as the go command does
		}
		if entry.Name() != "go.mod" || entry.IsDir() {
			return nil
		}
		dir, err := filepath.Rel(root, filepath.Dir(file))
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

// suite is the packages that go test tests in one module.
type suite struct {
	module   string   // directory of the module, slash-separated, relative to the top directory
	packages []string // patterns relative to that directory
}

// plan turns patterns relative to the top directory into suites. In the go command a pattern matches packages of one
// module only.
func plan(modules, patterns []string) ([]suite, error) {
	suites := make([]suite, len(modules))
	for i, module := range modules {
		suites[i].module = module
	}
	for _, pattern := range patterns {
		dir, below := strings.CutSuffix(strings.TrimPrefix(pattern, "./"), "...")
		dir = path.Clean(dir)
		if !strings.HasPrefix(pattern, "./") && pattern != "." || strings.HasPrefix(dir, "..") || strings.Contains(dir, "...") {
			return nil, fmt.Errorf("package %q: want a path such as ./snowflake/... or ./snowflake", pattern)
		}
		home := homeOf(modules, dir)
		for i, module := range modules {
			switch {
			case i == home:
				suites[i].packages = append(suites[i].packages, relative(dir, module, below))
			case below && inside(module, dir):
				suites[i].packages = append(suites[i].packages, "./...")
			}
		}
	}
	return slices.DeleteFunc(suites, func(s suite) bool { return len(s.packages) == 0 }), nil
}

// homeOf returns the index of the innermost module that contains dir.
func homeOf(modules []string, dir string) int {
	home, depth := 0, 0
	for i, module := range modules {
		if n := len(strings.TrimPrefix(module, ".")); n > depth && inside(dir, module) {
			home, depth = i, n
		}
	}
	return home
}

// inside reports whether dir is outer or below it.
func inside(dir, outer string) bool {
	return outer == "." || dir == outer || strings.HasPrefix(dir, outer+"/")
}

// relative returns the pattern for dir, relative to the directory of the module.
func relative(dir, module string, below bool) string {
	switch {
	case dir == module:
		dir = "."
	case module != ".":
		dir = "./" + strings.TrimPrefix(dir, module+"/")
	default:
		dir = "./" + dir
	}
	if below {
		return dir + "/..."
	}
	return dir
}
