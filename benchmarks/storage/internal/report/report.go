// Package report turns figures into tables, charts with sentences, and files for other programs.
package report

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/sqlflake/sqlflake/benchmarks/storage/internal/key"
	"github.com/sqlflake/sqlflake/benchmarks/storage/internal/measure"
	"github.com/sqlflake/sqlflake/benchmarks/storage/internal/scenario"
)

// Report is the content of all forms of output.
type Report struct {
	Environment measure.Environment
	Baseline    string // the kind that ratios refer to
	Groups      []measure.Group
	// Missing are runs that an engine does not support, with the reason.
	Missing []measure.Record
	// Noted are runs with figures and a note; of several rounds the first.
	Noted []measure.Record
	// Unfinished is the number of runs that are not done, as after Ctrl-C.
	Unfinished int
}

// New makes a report from records.
func New(env measure.Environment, records []measure.Record, baseline string) Report {
	env, records = asMySQL(env, records)
	r := Report{Environment: env, Baseline: baseline}
	seen := map[string]bool{}
	var measured []measure.Record
	for _, record := range records {
		into := &r.Missing
		if len(record.Values) > 0 {
			measured = append(measured, record)
			into = &r.Noted
		}
		record.Round, record.Values = 0, nil
		id := fmt.Sprintf("%s/%t", record.ID(), into == &r.Noted)
		if (record.Note != "" || into == &r.Missing) && !seen[id] {
			seen[id] = true
			*into = append(*into, record)
		}
	}
	r.Groups = measure.Summarize(measured, baseline, timed()...)
	for i := range r.Groups {
		sortKinds(r.Groups[i].Kinds)
		sortMetrics(r.Groups[i].Metrics)
	}
	names := scenarioNames()
	for _, g := range r.Groups { // of another version of the tool: last
		if !slices.Contains(names, g.Scenario) {
			names = append(names, g.Scenario)
		}
	}
	slices.SortStableFunc(r.Groups, func(a, b measure.Group) int {
		return cmp.Or(
			cmp.Compare(place(names, a.Scenario), place(names, b.Scenario)),
			cmp.Compare(engineOrder(a.Engine), engineOrder(b.Engine)),
		)
	})
	return r
}

// sortKinds sorts kinds in the order of key.Kinds. Unknown ones, of another version, are last.
func sortKinds(kinds []string) {
	known := key.Names(key.Kinds())
	slices.SortStableFunc(kinds, func(a, b string) int { return cmp.Compare(place(known, a), place(known, b)) })
}

func place(list []string, name string) int {
	if i := slices.Index(list, name); i >= 0 {
		return i
	}
	return len(list)
}

func scenarioNames() []string {
	var names []string
	for _, s := range scenario.All() {
		names = append(names, s.Name)
	}
	return names
}

// timed returns the scenarios whose sizes depend on timing.
func timed() []string {
	var names []string
	for _, s := range scenario.All() {
		if s.Timed {
			names = append(names, s.Name)
		}
	}
	return names
}

// asMySQL renames the engine for MariaDB and MySQL if the server was MySQL.
func asMySQL(env measure.Environment, records []measure.Record) (measure.Environment, []measure.Record) {
	const from, to = "mariadb", "mysql"
	settings := env.Database[from]
	if !isMySQL(settings) {
		return env, records
	}
	env.Database, env.Notes = maps.Clone(env.Database), maps.Clone(env.Notes)
	env.Database[to] = settings
	delete(env.Database, from)
	if notes, ok := env.Notes[from]; ok {
		env.Notes[to] = notes
		delete(env.Notes, from)
	}
	records = slices.Clone(records)
	for i := range records {
		if records[i].Engine == from {
			records[i].Engine = to
		}
	}
	return env, records
}

// isMySQL reports whether settings are those of MySQL.
func isMySQL(settings []measure.Setting) bool {
	return slices.ContainsFunc(settings, func(s measure.Setting) bool {
		return s.Name == "version" && strings.HasPrefix(s.Value, "MySQL ")
	})
}

// isInnoDB reports whether an engine keeps its tables in InnoDB.
func isInnoDB(engine string) bool { return engine == "mariadb" || engine == "mysql" }

var engineNames = []string{"sqlite", "postgres", "mariadb", "mysql"}

func engineOrder(name string) int { return place(engineNames, name) }

// sortMetrics puts "rate@200000" before "rate@1000000", and such metrics after all others.
func sortMetrics(metrics []measure.Metric) {
	at := func(m measure.Metric) (string, int) {
		base, point, found := strings.Cut(m.Name, "@")
		if !found {
			return "", 0
		}
		n, _ := strconv.Atoi(point)
		return base, n
	}
	slices.SortStableFunc(metrics, func(a, b measure.Metric) int {
		aBase, aPoint := at(a)
		bBase, bPoint := at(b)
		return cmp.Or(cmp.Compare(aBase, bBase), cmp.Compare(aPoint, bPoint))
	})
}

// scenarioOf returns the scenario of a group, one with only a name if this version does not have it.
func scenarioOf(name string) scenario.Scenario {
	for _, s := range scenario.All() {
		if s.Name == name {
			return s
		}
	}
	return scenario.Scenario{Name: name, Title: name}
}

// parts splits the groups into those of one scenario on one engine.
func (r Report) parts() [][]measure.Group {
	var parts [][]measure.Group
	for at := 0; at < len(r.Groups); {
		end := at
		for end < len(r.Groups) && r.Groups[end].Scenario == r.Groups[at].Scenario && r.Groups[end].Engine == r.Groups[at].Engine {
			end++
		}
		parts = append(parts, r.Groups[at:end])
		at = end
	}
	return parts
}

// engineTitle returns the usual name of a database.
func engineTitle(name string) string {
	titles := map[string]string{"sqlite": "SQLite", "postgres": "PostgreSQL", "mariadb": "MariaDB", "mysql": "MySQL"}
	if title := titles[name]; title != "" {
		return title
	}
	return name
}

// kindTitle returns the title of a kind of key.
func kindTitle(name string) string {
	for _, k := range key.Kinds() {
		if k.Name == name {
			return k.Title
		}
	}
	return name
}

// kindText returns the title in a form without a comma, for sentences.
func kindText(name string) string {
	if name == "explicit" {
		return "numbers sent by the client"
	}
	if title, detail, found := strings.Cut(kindTitle(name), ", "); found {
		return title + " (" + detail + ")"
	}
	return kindTitle(name)
}

// family returns the CSS class for the colour of a kind.
func family(name string) string {
	for _, k := range key.Kinds() {
		if k.Name != name {
			continue
		}
		switch {
		case k.Store == key.Text:
			return "text"
		case k.Store == key.UUID:
			return "uuid"
		case strings.HasPrefix(name, "snowflake"):
			return "snow"
		}
	}
	return "auto"
}
