package partition

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sqlflake/sqlflake/snowflake/sqldb"
)

// catalog is a table whose partitions a test makes, and the keys of its rows.
type catalog struct {
	state
	keys  []int64
	idle  bool // has no other rows than keys; otherwise there is one of now
	taken []string
}

func (c *catalog) probe() probe {
	return probe{
		key: func(p part, lo, hi int64, n int) (key int64, found bool, err error) {
			if n == greatest && !c.idle {
				return hi - 1, true, nil
			}
			for _, k := range c.keys {
				if p.lo <= k && k < p.hi && lo <= k && k < hi && (!found || k < key == (n != greatest)) {
					key, found = k, true
				}
			}
			return key, found, nil
		},
		taken: func(table string) (bool, error) { return slices.Contains(c.taken, table), nil },
	}
}

// plan returns the plan with both clocks at the time.
func (c *catalog) plan(t *testing.T, s *Set, now time.Time) *Plan {
	t.Helper()
	c.now = now
	plan, err := makePlan(s, &c.state, now, c.probe())
	if err != nil {
		t.Fatal(err)
	}
	return plan
}

// apply does what the databases do with created and dropped partitions.
func (c *catalog) apply(s *Set, plan *Plan) {
	for _, step := range plan.Steps {
		switch {
		case step.Action == actionDrop:
			c.parts = slices.DeleteFunc(c.parts, func(p part) bool { return p.table == step.Partition })
		case step.isDefault():
			c.defaultPart = &part{name: name{"", step.Partition}, lo: noLow, hi: noHigh}
		default:
			c.parts = append(c.parts, part{name: name{"", step.Partition}, lo: int64(step.Lo), hi: int64(step.Hi)})
		}
	}
	slices.SortFunc(c.parts, func(a, b part) int { return int(min(max(a.lo/2-b.lo/2, -1), 1)) })
	if s.dialect == sqldb.MySQL {
		lo := int64(noLow)
		for i := range c.parts {
			c.parts[i].lo, lo = lo, c.parts[i].hi
		}
	}
}

// add adds a partition for the IDs of a span of time; an empty time is no bound.
func (c *catalog) add(s *Set, table, from, to string) {
	p := part{name: name{"", table}, lo: noLow, hi: noHigh}
	if from != "" {
		p.lo = s.first(from)
	}
	if to != "" {
		p.hi = s.first(to)
	}
	c.parts = append(c.parts, p)
}

// first returns the least ID of a time.
func (s *Set) first(text string) int64 {
	t := date(text)
	return s.calendar.Bound(t)
}

// date parses the start of a time in UTC: 2026-02, 2026-02-28, 2026-02-28 23:59.
func date(text string) time.Time {
	t, err := time.Parse("2006-01-02 15:04:05.999999999", text+"0000-01-01 00:00:00"[min(len(text), 19):])
	if err != nil {
		panic(err)
	}
	return t
}

func newSet(t *testing.T, dialect sqldb.Dialect, unit Unit, options ...Option) *Set {
	t.Helper()
	s, err := New(dialect, "t", unit, options...)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func mustSet(t *testing.T, unit Unit, options ...Option) *Set {
	t.Helper()
	return newSet(t, sqldb.Postgres, unit, options...)
}

// both runs a test with the Sets of both engines.
func both(t *testing.T, unit Unit, options []Option, f func(t *testing.T, s *Set)) {
	t.Helper()
	for _, dialect := range []sqldb.Dialect{sqldb.Postgres, sqldb.MySQL} {
		t.Run(string(dialect), func(t *testing.T) { f(t, newSet(t, dialect, unit, options...)) })
	}
}

// steps returns the actions and the partitions of a plan.
func steps(plan *Plan) string {
	var words []string
	for _, step := range plan.Steps {
		words = append(words, step.Action+" "+step.Partition)
	}
	return strings.Join(words, ", ")
}

func want(t *testing.T, plan *Plan, want string, problems ...string) {
	t.Helper()
	if got := steps(plan); got != want {
		t.Errorf("steps: %s\nwant: %s", got, want)
	}
	if len(plan.Problems) != len(problems) {
		t.Errorf("problems: %v, want %q", plan.Problems, problems)
		return
	}
	for i, problem := range plan.Problems {
		if !errors.Is(problem, ErrBlocked) || !strings.Contains(problem.Error(), problems[i]) {
			t.Errorf("problem: %v, want %q", problem, problems[i])
		}
	}
}

// makePlan returns the whole plan for a state.
func makePlan(s *Set, st *state, local time.Time, probe probe) (*Plan, error) {
	p := s.newPlanner(st, local, probe)
	return p.plan, p.make()
}
