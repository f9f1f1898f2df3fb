// Package report writes the figures of a measurement: as a document with a picture, as a table for READMEs, and as
// text.
package report

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/sqlflake/sqlflake/benchmarks/internal/measure"
	"github.com/sqlflake/sqlflake/benchmarks/storage/internal/key"
	"github.com/sqlflake/sqlflake/benchmarks/storage/internal/scenario"
)

// Report is the figures of all runs.
type Report struct {
	Environment measure.Environment
	Groups      []measure.Group // by scenario, then by engine
	Notes       []string        // what could not be measured, and the limits of what could
}

// baseline is the kind that the others are compared with.
var baseline = key.Kinds()[0].Name

// engines are in the order of RESULTS.md: most readers ask about the first.
var engines = []string{"postgres", "postgres18", "mariadb", "mysql", "sqlite"}

// timed is the scenario whose sizes depend on timing.
const timed = "clients"

// New computes the figures.
func New(env measure.Environment, records []measure.Record) Report {
	r := Report{Environment: env, Groups: measure.Summarize(records, baseline, timed)}
	for _, one := range records {
		note := fmt.Sprintf("%s, %s, %s: %s", r.title(one.Engine), one.Scenario, kindTitle(one.Kind), one.Note)
		if one.Note != "" && !slices.Contains(r.Notes, note) {
			r.Notes = append(r.Notes, note)
		}
	}
	r.Notes = append(r.Notes, env.Notes...)

	kinds, names := slices.Insert(key.Names(key.Kinds()), 1, measure.Again), scenario.Names()
	for _, g := range r.Groups {
		slices.SortStableFunc(g.Kinds, func(a, b string) int { return slices.Index(kinds, a) - slices.Index(kinds, b) })
	}
	slices.SortStableFunc(r.Groups, func(a, b measure.Group) int {
		return cmp.Or(slices.Index(names, a.Scenario)-slices.Index(names, b.Scenario),
			slices.Index(engines, a.Engine)-slices.Index(engines, b.Engine))
	})

	return r
}

// engines returns those with figures.
func (r Report) engines() []string {
	return slices.DeleteFunc(slices.Clone(engines), func(engine string) bool {
		return !slices.ContainsFunc(r.Groups, func(g measure.Group) bool { return g.Engine == engine })
	})
}

// title returns the usual name of a database, with the version if there are two PostgreSQL servers.
func (r Report) title(engine string) string {
	hasTwo := len(r.Environment.Database("postgres")) > 0 && len(r.Environment.Database("postgres18")) > 0
	if hasTwo && strings.HasPrefix(engine, "postgres") {
		major, _, _ := strings.Cut(measure.Get(r.Environment.Database(engine), "version"), ".")
		return major
	}
	return map[string]string{
		"sqlite": "SQLite", "mariadb": "MariaDB", "mysql": "MySQL",
		"postgres": "PostgreSQL", "postgres18": "PostgreSQL",
	}[engine]
}

// kindTitle returns the title of a kind of key.
func kindTitle(name string) string {
	titles := map[string]string{measure.Again: "auto-increment, again"}
	for _, k := range key.Kinds() {
		titles[k.Name] = k.Title
	}
	return titles[name]
}

// groups returns the groups of a scenario on an engine, those with the given settings.
func (r Report) groups(engine, scenario string, only ...measure.Setting) []measure.Group {
	return slices.DeleteFunc(slices.Clone(r.Groups), func(g measure.Group) bool {
		isOther := slices.ContainsFunc(only, func(s measure.Setting) bool { return g.Params.Get(s.Name) != s.Value })
		return isOther || g.Engine != engine || g.Scenario != scenario
	})
}

// chance says how often the baseline, measured a second time, was called different from itself.
func (r Report) chance() string {
	called, tested := measure.ByChance(r.Groups)
	if tested == 0 {
		return ""
	}
	return fmt.Sprintf("Of %d comparisons of %s with itself, %d showed a difference.",
		tested, kindTitle(baseline), called)
}

// WriteFolder writes RESULTS.md into a folder and replaces an existing one.
func (r Report) WriteFolder(dir string) error {
	return writeFiles(dir, map[string]string{"RESULTS.md": r.markdown()})
}

// writeFiles creates the folder, if need be, and writes the files.
func writeFiles(dir string, files map[string]string) error {
	err := os.MkdirAll(dir, 0o755)
	for name, text := range files {
		err = errors.Join(err, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644))
	}
	return err
}
