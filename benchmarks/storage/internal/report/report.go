// Package report writes the figures of a measurement: as a document with a picture, as a table for READMEs, and as
// text.
package report

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/sqlflake/sqlflake/benchmarks/internal/measure"
	"github.com/sqlflake/sqlflake/benchmarks/storage/internal/key"
	"github.com/sqlflake/sqlflake/benchmarks/storage/internal/scenario"
)

// Report is the figures of all runs.
type Report struct {
	Environment measure.Environment
	Baseline    string
	Groups      []measure.Group // by scenario, then by engine
	Notes       []string        // what could not be measured, and the limits of what could
}

// engines are in the order of RESULTS.md: most readers ask about the first.
var engines = []string{"postgres", "postgres18", "mariadb", "mysql", "sqlite"}

// New computes the figures.
func New(env measure.Environment, records []measure.Record) Report {
	r := Report{Environment: env, Baseline: env.Baseline}
	var timed []string
	for _, s := range scenario.All() {
		if s.Timed {
			timed = append(timed, s.Name)
		}
	}

	var measured []measure.Record
	for _, one := range records {
		if len(one.Values) > 0 {
			measured = append(measured, one)
		}
		if one.Note != "" {
			r.addNote(fmt.Sprintf("%s, %s, %s: %s", r.title(one.Engine), one.Scenario, kindTitle(one.Kind), one.Note))
		}
	}

	for _, name := range slices.Sorted(maps.Keys(env.Notes)) {
		for _, note := range env.Notes[name] {
			r.addNote(note)
		}
	}

	r.Groups = measure.Summarize(measured, env.Baseline, timed...)
	known := append([]string{env.Baseline, measure.Again}, key.Names(key.Kinds())...)
	for _, g := range r.Groups {
		slices.SortStableFunc(g.Kinds, func(a, b string) int { return cmp.Compare(place(known, a), place(known, b)) })
	}

	names := scenario.Names()
	slices.SortStableFunc(r.Groups, func(a, b measure.Group) int {
		return cmp.Or(cmp.Compare(place(names, a.Scenario), place(names, b.Scenario)),
			cmp.Compare(place(engines, a.Engine), place(engines, b.Engine)))
	})

	return r
}

// addNote adds the beginning of a note, which may contain a server's long answer, unless it is known.
func (r *Report) addNote(note string) {
	const most = 240
	if runes := []rune(note); len(runes) > most {
		note = string(runes[:most]) + "…"
	}
	if !slices.Contains(r.Notes, note) {
		r.Notes = append(r.Notes, note)
	}
}

func place(list []string, name string) int {
	if i := slices.Index(list, name); i >= 0 {
		return i
	}
	return len(list)
}

// engines returns those with figures.
func (r Report) engines() []string {
	var found []string
	for _, g := range r.Groups {
		if !slices.Contains(found, g.Engine) {
			found = append(found, g.Engine)
		}
	}
	slices.SortStableFunc(found, func(a, b string) int { return cmp.Compare(place(engines, a), place(engines, b)) })
	return found
}

// title returns the usual name of a database, with the version if there are two PostgreSQL servers.
func (r Report) title(engine string) string {
	version := measure.Get(r.Environment.Database[engine], "version")
	switch engine {
	case "sqlite":
		return "SQLite"
	case "mariadb":
		return "MariaDB"
	case "mysql":
		return "MySQL"
	case "postgres", "postgres18":
		if len(r.Environment.Database["postgres18"]) == 0 || len(r.Environment.Database["postgres"]) == 0 {
			return "PostgreSQL"
		}
		major, _, _ := strings.Cut(strings.TrimPrefix(version, "PostgreSQL "), ".")
		return strings.TrimSpace("PostgreSQL " + major)
	}

	return engine
}

// scenarioOf returns the scenario with a name, one with only a name if this version does not have it.
func scenarioOf(name string) scenario.Scenario {
	for _, s := range scenario.All() {
		if s.Name == name {
			return s
		}
	}
	return scenario.Scenario{Name: name, Title: name}
}

// kindTitle returns the title of a kind of key.
func kindTitle(name string) string {
	for _, k := range key.Kinds() {
		if k.Name == name {
			return k.Title
		}
	}

	if name == measure.Again {
		return "auto-increment, again"
	}

	return name
}

// groups returns the groups of a scenario on an engine.
func (r Report) groups(engine, scenario string) []measure.Group {
	return slices.DeleteFunc(slices.Clone(r.Groups), func(g measure.Group) bool {
		return g.Engine != engine || g.Scenario != scenario
	})
}

// main returns the group of a scenario with the most rows, then with the most rows a statement, in which a metric has a
// verdict. Speeds of large cases have none: they are measured once. Without verdicts it is the largest with the metric.
func (r Report) main(engine, scenario, metric string) (best measure.Group, found bool) {
	size := func(g measure.Group, name string) int { n, _ := strconv.Atoi(g.Params.Get(name)); return n }
	most := -1
	for _, g := range r.groups(engine, scenario) {
		name, judged := lastPoint(g, metric), 0
		for _, kind := range g.Kinds {
			if f, ok := g.Figure(kind, name); ok && f.Verdict > measure.Few {
				judged = 1
			}
		}

		if _, ok := g.Figure(r.Baseline, name); !ok {
			continue
		}

		if rank := judged<<50 + size(g, "rows")<<16 + size(g, "batch"); rank > most {
			best, most, found = g, rank, true
		}
	}

	return best, found
}

// lastPoint returns the metric, or its last point if it is a curve.
func lastPoint(g measure.Group, metric string) string {
	for _, m := range slices.Backward(g.Metrics) {
		if m.Name == metric || strings.HasPrefix(m.Name, metric+"@") {
			return m.Name
		}
	}
	return metric
}

// chance says how often the baseline, measured a second time, was called different from itself.
func (r Report) chance() string {
	called, tested := measure.ByChance(r.Groups)
	if tested == 0 {
		return ""
	}
	return fmt.Sprintf("Of %d comparisons of %s with itself, %d showed a difference.",
		tested, kindTitle(r.Baseline), called)
}

// WriteFolder writes RESULTS.md into a folder and replaces an existing one.
func (r Report) WriteFolder(dir string) error {
	return writeFiles(dir, map[string]func(io.Writer) error{"RESULTS.md": r.writeMarkdown})
}

// writeFiles creates the folder, if need be, and writes each file by its function.
func writeFiles(dir string, files map[string]func(io.Writer) error) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}

	for name, write := range files {
		var text bytes.Buffer
		if err := write(&text); err != nil {
			return err
		}
		err := os.WriteFile(filepath.Join(dir, name), text.Bytes(), 0o644) //nolint:gosec // for all to read
		if err != nil {
			return err
		}
	}

	return nil
}
