package conformance

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"text/tabwriter"

	"gorm.io/gorm/logger"

	"github.com/sqlflake/sqlflake/internal/testdb"
)

func TestMain(m *testing.M) {
	logger.Default = logger.Discard // GORM writes complaints about models to it regardless of the handle's logger
	os.Exit(testdb.Main(m))
}

// TestConformance runs every cell of the table. With -v it prints the cells of each target.
func TestConformance(t *testing.T) {
	seen := &reasons{seen: map[string]bool{}}
	t.Run("targets", func(t *testing.T) {
		for _, target := range targets {
			t.Run(target.name, func(t *testing.T) {
				t.Parallel()
				runTarget(t, target, seen)
			})
		}
	})
	seen.report(t)
}

func runTarget(t *testing.T, target target, seen *reasons) {
	s := connect(t, target)
	if err := s.makeWrong(); err != nil {
		t.Fatal(err)
	}
	var matrix strings.Builder
	out := tabwriter.NewWriter(&matrix, 0, 0, 2, ' ', 0)
	fmt.Fprint(out, "\n")
	for _, check := range checks {
		fmt.Fprintf(out, "\t%s", check)
	}
	for _, subject := range subjects {
		if s.noUUID && subject.name() == uuidKind.label {
			t.Log("the server has no type uuid")
			continue
		}
		fmt.Fprintf(out, "\n%s", subject.name())
		for _, check := range checks {
			failures := subject.run(check, s)
			listed := find(exceptions, subject.name(), target.name, check)
			problems := judge(failures, listed)
			for _, problem := range problems {
				t.Errorf("%s, %s: %s", subject.name(), check, problem)
			}
			switch {
			case len(problems) > 0:
				fmt.Fprint(out, "\tFAIL")
			case listed != nil:
				fmt.Fprintf(out, "\tnote %d", note(listed))
				seen.add(listed, failures)
			default:
				fmt.Fprint(out, "\tok")
			}
		}
	}
	_ = out.Flush() // never fails: it writes to memory
	t.Log(matrix.String())
	seen.done()
}

// reasons collects the failures of the exceptions that occurred.
type reasons struct {
	mu      sync.Mutex
	seen    map[string]bool
	targets int
}

func (r *reasons) add(listed *exception, failures []string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, text := range listed.fails {
		if slices.ContainsFunc(failures, func(failure string) bool { return strings.Contains(failure, text) }) {
			r.seen[key(listed, text)] = true
		}
	}
}

func (r *reasons) done() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.targets++
}

// report fails the test for exceptions that no cell has shown, unless a target was left out.
func (r *reasons) report(t *testing.T) {
	if r.targets < len(targets) {
		return
	}
	for i := range exceptions {
		for _, text := range exceptions[i].fails {
			if !r.seen[key(&exceptions[i], text)] {
				t.Errorf("no cell of exception %d fails with %q any more", i, text)
			}
		}
	}
}

func key(e *exception, text string) string { return fmt.Sprintf("%p %s", e, text) }

// notes are the reasons of all exceptions, each once; a footnote's number is the index plus 1.
var notes = func() []string {
	var all []string
	for _, exception := range exceptions {
		if !slices.Contains(all, exception.reason) {
			all = append(all, exception.reason)
		}
	}
	return all
}()

func note(e *exception) int { return slices.Index(notes, e.reason) + 1 }
