package progress

import (
	"strconv"
	"time"

	"github.com/sqlflake/sqlflake/benchmarks/storage/internal/run"
)

// estimate predicts the duration of steps from finished ones: from steps with the same parameters if there are any,
// else from the same scenario by the number of rows, else from all.
type estimate struct {
	ahead                  map[string]pending // by engine, scenario and parameters
	cases, scenarios, ways map[string]spent
	all                    spent
}

// pending are steps of one case.
type pending struct {
	scenario string // with the engine
	name     string // of the scenario
	rows     int    // of each step
	steps    int
}

// spent is the total duration of steps.
type spent struct {
	time  time.Duration
	rows  int
	steps int
}

func (s spent) add(d time.Duration, rows int) spent {
	return spent{s.time + d, s.rows + rows, s.steps + 1}
}

// of predicts the duration of a step with a number of rows.
func (s spent) of(rows int) time.Duration {
	if rows > 0 && s.rows > 0 {
		return time.Duration(float64(s.time) * float64(rows) / float64(s.rows))
	}
	return s.time / time.Duration(s.steps)
}

func newEstimate(ahead []run.Step) *estimate {
	e := &estimate{
		ahead: map[string]pending{}, cases: map[string]spent{}, scenarios: map[string]spent{},
		ways: map[string]spent{},
	}
	for _, s := range ahead {
		id, p := caseOf(s)
		p.steps = e.ahead[id].steps + 1
		e.ahead[id] = p
	}
	return e
}

func caseOf(s run.Step) (string, pending) {
	rows, _ := strconv.Atoi(s.Params.Get("rows"))
	scenario := s.Engine.Name() + "/" + s.Scenario.Name
	return scenario + "/" + s.Params.String(), pending{scenario: scenario, name: s.Scenario.Name, rows: rows}
}

// finished removes a step.
func (e *estimate) finished(s run.Step, took time.Duration) {
	if s.Engine == nil {
		return
	}
	id, p := caseOf(s)
	if left, ok := e.ahead[id]; ok {
		left.steps--
		e.ahead[id] = left
	}
	e.cases[id] = e.cases[id].add(took, p.rows)
	e.scenarios[p.scenario] = e.scenarios[p.scenario].add(took, p.rows)
	e.ways[p.name] = e.ways[p.name].add(took, p.rows)
	e.all = e.all.add(took, p.rows)
}

// left returns the time for the remaining steps, without the part of the running one that has passed; false until one
// is finished.
func (e *estimate) left(running time.Duration) (time.Duration, bool) {
	if e.all.steps == 0 {
		return 0, false
	}
	var sum time.Duration
	for id, p := range e.ahead {
		known := e.all
		for _, s := range []spent{e.ways[p.name], e.scenarios[p.scenario], e.cases[id]} {
			if s.steps > 0 {
				known = s
			}
		}
		sum += time.Duration(p.steps) * known.of(p.rows)
	}
	return max(sum-running, 0), true
}
