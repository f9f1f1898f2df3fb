package partition

import (
	"context"
	"database/sql"
	"errors"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sqlflake/sqlflake/contrib/partition/internal/engine"
	"github.com/sqlflake/sqlflake/contrib/partition/internal/postgres"
	"github.com/sqlflake/sqlflake/internal/testdb"
	"github.com/sqlflake/sqlflake/snowflake/sqldb"
)

// WithNow sets the clock of this process.
func WithNow(now func() time.Time) Option {
	return option(true, func(c *config) { c.now = now }, "")
}

// WithPatience sets for how long a call repeats steps that do not get their locks, 0 for one attempt.
func WithPatience(d time.Duration) Option {
	return option(true, func(c *config) { c.patience = d }, "")
}

// WithStalls sets how long the server lets a step's transaction be idle, and how long a statement of Adopt's swap may
// take, on PostgreSQL.
func WithStalls(idle, swap time.Duration) Option {
	return option(true, func(c *config) { c.table.IdleTimeout, c.table.SwapTimeout = idle, swap }, "")
}

// Alone calls f in the transaction or the session of a step.
func (s *Set) Alone(ctx context.Context, db *sql.DB, f func(engine.Querier) error) error {
	return s.connect(ctx, db, true, func(_ *Set, q engine.Querier) error { return f(q) })
}

// ArchiveAfter plans, calls between, and then archives the table of the first step.
func (s *Set) ArchiveAfter(ctx context.Context, db *sql.DB, between func()) error {
	var p *planner
	err := s.connect(ctx, db, false, func(s *Set, q engine.Querier) (err error) {
		p, err = s.survey(ctx, q, func(Step) bool { return true })
		return err
	})
	if err != nil {
		return err
	}
	between()
	return s.engine.Archive(ctx, db, &p.table, p.State, p.chosen.change.Part)
}

// Session calls f on a connection with the lock of Archive, on PostgreSQL.
func (s *Set) Session(ctx context.Context, db *sql.DB, f func(*sql.Conn) error) error {
	return postgres.Engine{}.WithSession(ctx, db, &s.table, engine.ArchiveLock, f)
}

func TestMain(m *testing.M) {
	os.Exit(testdb.Main(m))
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// catalog is a table whose partitions a test makes, and the keys of its rows.
type catalog struct {
	engine.State
	keys  []int64
	idle  bool // has no other rows than keys; otherwise there is one of now
	taken []string
}

func (c *catalog) probe() probe {
	return probe{
		key: func(p engine.Part, lo, hi int64, order string) (key int64, found bool, err error) {
			if order == engine.Greatest && !c.idle {
				return hi - 1, true, nil
			}
			for _, k := range c.keys {
				if p.Lo <= k && k < p.Hi && lo <= k && k < hi && (!found || k < key == (order != engine.Greatest)) {
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
	c.Now = now
	plan, err := makePlan(s, &c.State, now, c.probe())
	must(t, err)
	return plan
}

// apply does what the databases do with created and dropped partitions.
func (c *catalog) apply(s *Set, plan *Plan) {
	for _, step := range plan.Steps {
		switch step.Action {
		case engine.Drop:
			c.Parts = slices.DeleteFunc(c.Parts, func(p engine.Part) bool { return p.Table == step.Partition })
		default:
			c.Parts = append(c.Parts, engine.Part{Name: named(step.Partition), Lo: int64(step.Lo), Hi: int64(step.Hi)})
		}
	}

	slices.SortFunc(c.Parts, func(a, b engine.Part) int { return int(min(max(a.Lo/2-b.Lo/2, -1), 1)) })
	if s.engine.Adjoins() {
		lo := int64(engine.NoLow)
		for i := range c.Parts {
			c.Parts[i].Lo, lo = lo, c.Parts[i].Hi
		}
	}
}

// add adds a partition for the IDs of a span of time; an empty time is no bound.
func (c *catalog) add(s *Set, table, from, to string) {
	p := engine.Part{Name: named(table), Lo: engine.NoLow, Hi: engine.NoHigh}
	if from != "" {
		p.Lo = s.first(from)
	}
	if to != "" {
		p.Hi = s.first(to)
	}
	c.Parts = append(c.Parts, p)
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
	must(t, err)
	return s
}

func mustSet(t *testing.T, unit Unit, options ...Option) *Set {
	t.Helper()
	return newSet(t, sqldb.Postgres, unit, options...)
}

// dialectOf returns the dialect of a Set.
func dialectOf(s *Set) sqldb.Dialect {
	if s.engine.Adjoins() {
		return sqldb.MySQL
	}
	return sqldb.Postgres
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

// stepsUnless returns the steps that a plan has unless it has a problem, with which it has none.
func stepsUnless(problem, steps string) string { return map[bool]string{true: steps}[problem == ""] }

// want checks the steps and the problems of a plan. An empty problem is none. "drop ..." stands for any steps that begin
// with a drop.
func want(t *testing.T, plan *Plan, want string, problems ...string) {
	t.Helper()
	begin, isPrefix := strings.CutSuffix(want, "...")
	got := steps(plan)
	begins := isPrefix && strings.HasPrefix(got, begin)
	if got != want && !begins {
		t.Errorf("steps: %s\nwant: %s", got, want)
	}

	problems = slices.DeleteFunc(problems, func(text string) bool { return text == "" })
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
func makePlan(s *Set, st *engine.State, local time.Time, probe probe) (*Plan, error) {
	p := s.newPlanner(st, local, probe)
	return p.plan, p.make()
}
