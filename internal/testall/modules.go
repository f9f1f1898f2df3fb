package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// suite is the packages to test in one module.
type suite struct {
	module   string   // its folder, relative to the top one, with slashes
	packages []string // patterns relative to that folder
}

// plan turns patterns relative to the top folder, which is the working folder, into suites. A pattern of the go command
// matches packages of one module only.
func plan(patterns []string) ([]suite, error) {
	modules, err := findModules()
	if err != nil {
		return nil, err
	}
	var suites []suite
	for _, module := range modules {
		s := suite{module: module}
		for _, pattern := range patterns {
			dir, below := strings.CutSuffix(pattern, "/...")
			if dir = path.Clean(dir); pattern != "." && !strings.HasPrefix(pattern, "./") || strings.HasPrefix(dir, "..") {
				return nil, fmt.Errorf("package %q: want a path such as ./snowflake/... or ./snowflake", pattern)
			}
			switch {
			case home(modules, dir) == module:
				relative, err := filepath.Rel(filepath.FromSlash(module), filepath.FromSlash(dir))
				if err != nil {
					return nil, err
				}
				relative = strings.TrimSuffix("./"+filepath.ToSlash(relative), "/.")
				if below {
					relative += "/..."
				}
				s.packages = append(s.packages, relative)
			case below && inside(module, dir):
				s.packages = append(s.packages, "./...")
			}
		}
		if len(s.packages) > 0 {
			suites = append(suites, s)
		}
	}
	return suites, nil
}

// findModules returns the folders with a go.mod.
func findModules() (modules []string, err error) {
	content, _ := os.ReadFile("go.mod") // an error is that of another folder
	if !strings.HasPrefix(string(content), "module github.com/sqlflake/sqlflake\n") {
		return nil, errors.New("this is not the top folder of the repository")
	}
	err = filepath.WalkDir(".", func(file string, entry fs.DirEntry, err error) error {
		switch name := entry.Name(); {
		case err != nil:
			return err
		case entry.IsDir() && file != "." && (name[0] == '.' || name[0] == '_' || name == "testdata"):
			return fs.SkipDir // as the go command does
		case name == "go.mod":
			modules = append(modules, filepath.ToSlash(filepath.Dir(file)))
		}
		return nil
	})
	slices.Sort(modules)
	return modules, err
}

// home returns the innermost module that contains dir.
func home(modules []string, dir string) string {
	home := "."
	for _, module := range modules {
		if inside(dir, module) && (home == "." || len(module) > len(home)) {
			home = module
		}
	}
	return home
}

// inside reports whether dir is outer or below it.
func inside(dir, outer string) bool {
	return outer == "." || dir == outer || strings.HasPrefix(dir, outer+"/")
}
