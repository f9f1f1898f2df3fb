package progress

import (
	"strings"
	"testing"
	"time"

	"github.com/sqlflake/sqlflake/benchmarks/storage/internal/engine"
	"github.com/sqlflake/sqlflake/benchmarks/storage/internal/key"
	"github.com/sqlflake/sqlflake/benchmarks/storage/internal/measure"
	"github.com/sqlflake/sqlflake/benchmarks/storage/internal/run"
	"github.com/sqlflake/sqlflake/benchmarks/storage/internal/scenario"
)

// named is an engine that has only a name.
type named struct {
	engine.Engine
	name string
}

func (n named) Name() string { return n.name }

func steps(n, rows int) []run.Step {
	list := make([]run.Step, n)
	for i := range list {
		list[i] = run.Step{
			Engine: named{name: "sqlite"}, Scenario: scenario.Scenario{Name: "load"},
			Params: measure.P("rows", rows), Kind: key.Kinds()[0], Round: i + 1,
		}
	}
	return list
}

// play runs steps of the given durations with its own clock.
func play(p *Progress, list []run.Step, took time.Duration) {
	now := time.Unix(0, 0)
	p.now = func() time.Time { return now }
	p.Start(len(list)+2, 2)
	for _, s := range list {
		p.Step(s)
		now = now.Add(took / 2)
		p.Rows(500)
		now = now.Add(took / 2)
		p.Finished(s.Record())
	}
	p.Stop()
}

func TestPipeGetsALineEveryFewSeconds(t *testing.T) {
	var b strings.Builder
	list := steps(10, 1000)
	play(New(&b, list, nil), list, 2*time.Second)
	lines := strings.Split(strings.TrimSuffix(b.String(), "\n"), "\n")
	want := []string{
		"12 runs, 2 of them done before",
		"4 of 12, 15 s left, sqlite load rows=1000 auto, 500 rows",
		"7 of 12, 10 s left", "9 of 12, 5 s left, sqlite load rows=1000 auto, 500 rows", "12 of 12, 0 s left",
		"12 of 12 runs are done",
	}
	if strings.Join(lines, "\n") != strings.Join(want, "\n") {
		t.Errorf("the lines are\n%s\nwant\n%s", strings.Join(lines, "\n"), strings.Join(want, "\n"))
	}
	if strings.ContainsAny(b.String(), "\r\x1b") {
		t.Error("a pipe got what only terminals understand")
	}
}

func TestBarIsRedrawnInPlace(t *testing.T) {
	var b strings.Builder
	list := steps(4, 1000)
	p := New(&b, list, func() int { return 60 })
	play(p, list, 2*time.Second)
	frames := strings.Split(b.String(), "\r")
	if len(frames) < 8 {
		t.Fatalf("%d frames: %q", len(frames), b.String())
	}
	for _, frame := range frames[1:] {
		line, after, ok := strings.Cut(frame, "\x1b[K")
		if !ok || len(line) > 59 {
			t.Errorf("a frame is not cut to the terminal and cleared: %q", frame)
		}
		if after != "" && after != "4 of 6 runs are done\n" && after != "6 of 6 runs are done\n" {
			t.Errorf("after a frame there is %q", after)
		}
	}
	if !strings.Contains(b.String(), "[########................] 2 of 6") {
		t.Errorf("no bar of a third in %q", b.String())
	}
}

func TestEstimateKnowsScenariosApart(t *testing.T) {
	step := func(engineName, name string, rows int) run.Step {
		return run.Step{Engine: named{name: engineName}, Scenario: scenario.Scenario{Name: name}, Params: measure.P("rows", rows)}
	}
	e := newEstimate([]run.Step{
		step("sqlite", "load", 1000), step("sqlite", "load", 1000), step("sqlite", "load", 3000), step("postgres", "load",
			1000), step("sqlite", "commit", 100),
	})
	if _, ok := e.left(0); ok {
		t.Error("it foretells from nothing")
	}
	e.finished(step("sqlite", "load", 1000), 2*time.Second)
	// One more of 2 s, one of three times the rows, one on another database, and one of another scenario by its rows.
	if left, ok := e.left(0); !ok || left != 2*time.Second+6*time.Second+2*time.Second+200*time.Millisecond {
		t.Errorf("left %v, %v", left, ok)
	}
	e.finished(step("sqlite", "commit", 100), 7*time.Second)
	if left, _ := e.left(time.Second); left != 9*time.Second {
		t.Errorf("left %v after all commits", left)
	}
	if left, _ := e.left(time.Hour); left != 0 {
		t.Errorf("left %v in a step that takes too long", left)
	}
}

func TestDuration(t *testing.T) {
	for want, d := range map[string]time.Duration{
		"0 s": 0, "59 s": 59 * time.Second, "2 min": 100 * time.Second,
		"1 h 30 min": 90 * time.Minute,
	} {
		if got := duration(d); got != want {
			t.Errorf("%v is %q, want %q", d, got, want)
		}
	}
}
