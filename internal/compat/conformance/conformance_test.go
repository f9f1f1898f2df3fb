package conformance

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"gorm.io/gorm/logger"

	"github.com/sqlflake/sqlflake/internal/testdb"
)

func TestMain(m *testing.M) {
	logger.Default = logger.Discard // GORM writes complaints about models to it regardless of the handle's logger
	os.Exit(testdb.Main(m))
}

// TestConformance runs every check of every type on every target.
func TestConformance(t *testing.T) {
	for _, target := range targets {
		t.Run(target.name, func(t *testing.T) {
			t.Parallel()
			runTarget(t, target)
		})
	}
}

func runTarget(t *testing.T, target target) {
	s := connect(t, target)
	if err := s.makeWrong(); err != nil {
		t.Fatal(err)
	}

	types, checks := subjects, checks
	if target.dialect == postgres { // the others have no arrays
		types, checks = slices.Concat(types, arraySubjects), slices.Concat(checks, arrayChecks)
	}

	for _, subject := range types {
		for _, check := range checks {
			var listed exception
			at := slices.IndexFunc(exceptions,
				func(e exception) bool { return e.covers(subject.name(), target.name, check) })
			if at >= 0 {
				listed = exceptions[at]
			}

			failures := subject.run(check, s)
			if at >= 0 && len(failures) == 0 {
				t.Errorf("%s, %s: it passes, but is listed as an exception", subject.name(), check)
			}

			for _, failure := range failures {
				if !slices.ContainsFunc(listed.fails,
					func(text string) bool { return strings.Contains(failure, text) }) {
					t.Errorf("%s, %s: %s (expected: %q)", subject.name(), check, failure, listed.fails)
				}
			}
		}
	}
}

var scanMethod = regexp.MustCompile(`(?m)^func \(\w+ \*([A-Z]\w*)(?:\[\w+\])?\) Scan\(`)

// TestEveryColumnTypeIsChecked finds a type of package sqltypes that no list has.
func TestEveryColumnTypeIsChecked(t *testing.T) {
	files, _ := filepath.Glob("../../../sqltypes/*.go") // the pattern is valid
	found := 0
	for _, file := range files {
		source, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}

		for _, scan := range scanMethod.FindAllSubmatch(source, -1) {
			found++
			name := "sqltypes." + string(scan[1])
			has := func(s subject) bool { return strings.HasPrefix(s.name(), name) }
			if !slices.ContainsFunc(slices.Concat(subjects, arraySubjects), has) {
				t.Errorf("%s: subjects lacks %s", filepath.Base(file), name)
			}
		}
	}

	if found == 0 {
		t.Error("no type has a method Scan")
	}
}
