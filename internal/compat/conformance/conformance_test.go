package conformance

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"sync"
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
	var mu sync.Mutex
	complete, shown := 0, map[string]bool{} // targets, and the failures of exceptions
	t.Run("targets", func(t *testing.T) {
		for _, target := range targets {
			t.Run(target.name, func(t *testing.T) {
				t.Parallel()
				mine := runTarget(t, target)
				mu.Lock()
				defer mu.Unlock()
				complete++
				maps.Copy(shown, mine)
			})
		}
	})
	for i := range exceptions {
		for _, text := range exceptions[i].fails {
			if complete == len(targets) && !shown[key(&exceptions[i], text)] {
				t.Errorf("no cell of exception %d fails with %q any more", i, text)
			}
		}
	}
}

func key(e *exception, text string) string { return fmt.Sprintf("%p %s", e, text) }

// runTarget returns the failures that exceptions expect.
func runTarget(t *testing.T, target target) map[string]bool {
	s, shown := connect(t, target), map[string]bool{}
	if err := s.makeWrong(); err != nil {
		t.Fatal(err)
	}
	for _, subject := range subjects {
		if s.noUUID && subject.name() == uuidKind.label {
			t.Log("the server has no type uuid")
			continue
		}
		for _, check := range checks {
			var listed exception
			at := slices.IndexFunc(exceptions, func(e exception) bool { return e.covers(subject.name(), target.name, check) })
			if at >= 0 {
				listed = exceptions[at]
			}
			failures := subject.run(check, s)
			if at >= 0 && len(failures) == 0 {
				t.Errorf("%s, %s: it passes, but is listed as an exception", subject.name(), check)
			}
			for _, failure := range failures {
				expected := false
				for _, text := range listed.fails {
					if strings.Contains(failure, text) {
						expected, shown[key(&exceptions[at], text)] = true, true
					}
				}
				if !expected {
					t.Errorf("%s, %s: %s (expected: %q)", subject.name(), check, failure, listed.fails)
				}
			}
		}
	}
	return shown
}
