package main

import (
	"fmt"
	"path"
	"slices"
	"strings"
)

// suite is what go test is to test in one module.
type suite struct {
	module   string   // directory of the module, slash-separated, relative to the repository
	packages []string // patterns relative to that directory
}

// plan distributes patterns, which are relative to the repository, over its modules. The go command does not cross the
// border of a module by itself.
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

// homeOf returns the index of the module that dir belongs to: the innermost one around it.
func homeOf(modules []string, dir string) int {
	home, depth := 0, 0
	for i, module := range modules {
		if n := len(strings.TrimPrefix(module, ".")); n > depth && inside(dir, module) {
			home, depth = i, n
		}
	}
	return home
}

// inside reports whether dir is outer or lies below it.
func inside(dir, outer string) bool {
	return outer == "." || dir == outer || strings.HasPrefix(dir, outer+"/")
}

// relative returns the pattern for dir as seen from the module.
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
