// Package report turns figures into a page, a document, tables and files for other programs.
package report

import (
	"cmp"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/sqlflake/sqlflake/benchmarks/internal/measure"
	"github.com/sqlflake/sqlflake/benchmarks/storage/internal/key"
	"github.com/sqlflake/sqlflake/benchmarks/storage/internal/scenario"
)

// Report is the content of all forms of output.
type Report struct {
	Environment measure.Environment
	Baseline    string          // the kind that ratios refer to
	Groups      []measure.Group // by scenario and engine
	Notes       []string        // what could not be measured, and remarks on runs
	Unfinished  int             // runs that are not done, as after Ctrl-C
}

// New makes a report from records.
func New(env measure.Environment, records []measure.Record, baseline string) Report {
	r := Report{Environment: env, Baseline: baseline}
	var timed, names []string // scenarios and kinds whose sizes depend on timing; scenarios in order
	for _, s := range scenario.All() {
		names = append(names, s.Name)
		if s.Timed {
			timed = append(timed, s.Name)
		}
	}
	var measured []measure.Record
	var noted [][2]string // a scenario on an engine, and the note
	kinds := map[[2]string][]string{}
	for _, one := range records {
		if len(one.Values) > 0 {
			measured = append(measured, one)
		}
		note, title := [2]string{r.title(one.Engine) + ", " + one.Scenario, shortNote(one.Note)}, kindTitle(one.Kind)
		if one.Note != "" && !slices.Contains(noted, note) {
			noted = append(noted, note)
		}
		if !slices.Contains(kinds[note], title) {
			kinds[note] = append(kinds[note], title)
		}
	}
	for _, note := range noted {
		r.Notes = append(r.Notes, note[0]+", "+strings.Join(kinds[note], ", ")+": "+note[1])
	}
	for _, name := range slices.Sorted(maps.Keys(env.Notes)) {
		for _, note := range env.Notes[name] {
			switch name {
			case machine: // a warning of its own
			case "": // of no database
				r.Notes = append(r.Notes, note)
			default:
				r.Notes = append(r.Notes, r.title(name)+": "+note)
			}
		}
	}
	for _, k := range key.Kinds() {
		if k.Timed {
			timed = append(timed, k.Name)
		}
	}
	r.Groups = measure.Summarize(measured, baseline, timed...)
	known := append([]string{baseline, measure.Again}, key.Names(key.Kinds())...)
	for _, g := range r.Groups {
		slices.SortStableFunc(g.Kinds, func(a, b string) int { return cmp.Compare(place(known, a), place(known, b)) })
	}
	slices.SortStableFunc(r.Groups, func(a, b measure.Group) int {
		return cmp.Or(cmp.Compare(place(names, a.Scenario), place(names, b.Scenario)),
			cmp.Compare(place(engines, a.Engine), place(engines, b.Engine)))
	})
	return r
}

// engines are in the order of the page: most readers ask about the first.
var engines = []string{"postgres", "postgres18", "mariadb", "sqlite"}

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

// title returns the usual name of a database, with the version if there are two of PostgreSQL.
func (r Report) title(engine string) string {
	version := measure.Get(r.Environment.Database[engine], "version")
	switch engine {
	case "sqlite":
		return "SQLite"
	case "mariadb":
		if strings.HasPrefix(version, "MySQL ") {
			return "MySQL"
		}
		return "MariaDB"
	case "postgres", "postgres18":
		if len(r.Environment.Database["postgres18"]) == 0 || len(r.Environment.Database["postgres"]) == 0 {
			return "PostgreSQL"
		}
		major, _, _ := strings.Cut(strings.TrimPrefix(version, "PostgreSQL "), ".")
		return strings.TrimSpace("PostgreSQL " + major)
	}
	return engine
}

// settingText lists settings: "cores 2, memory 23.5 GiB".
func settingText(list []measure.Setting) string {
	parts := make([]string, len(list))
	for i, s := range list {
		parts[i] = s.Name + " " + s.Value
	}
	return strings.Join(parts, ", ")
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

// groups returns the groups of a scenario on an engine.
func (r Report) groups(engine, scenario string) []measure.Group {
	var found []measure.Group
	for _, g := range r.Groups {
		if g.Engine == engine && g.Scenario == scenario {
			found = append(found, g)
		}
	}
	return found
}

// group returns the largest group of a scenario whose parameters include where, such as "batch=1" or "by=key,partitions=12".
func (r Report) group(engine, scenario, where string) (measure.Group, bool) {
	return largest(r.groups(engine, scenario), func(g measure.Group) bool {
		for param := range strings.SplitSeq(where, ",") {
			if param != "" && !slices.Contains(strings.Fields(g.Params.String()), param) {
				return false
			}
		}
		return true
	})
}

// largest returns the largest of the groups that fit. It ignores rows that are loaded in bulk, by other means than INSERT.
func largest(groups []measure.Group, fits func(measure.Group) bool) (best measure.Group, found bool) {
	size := func(g measure.Group, name string) int { n, _ := strconv.Atoi(g.Params.Get(name)); return n }
	for _, g := range groups {
		if g.Params.Get("bulk") == "" && fits(g) &&
			(!found || cmp.Or(size(g, "rows")-size(best, "rows"), size(g, "batch")-size(best, "batch")) > 0) {
			best, found = g, true
		}
	}
	return best, found
}

// judged returns the largest group of a scenario in which a metric has a verdict, else the largest. Speeds of large cases
// have none: they are measured once.
func (r Report) judged(engine, scenario, metric string) (measure.Group, bool) {
	best, found := largest(r.groups(engine, scenario), func(g measure.Group) bool {
		return slices.ContainsFunc(g.Kinds, func(kind string) bool {
			f, _ := g.Figure(kind, lastPoint(g, metric))
			return f.Verdict > measure.Few
		})
	})
	if !found {
		return r.group(engine, scenario, "")
	}
	return best, found
}

// shortNote returns the beginning of a note, which may contain a server's long answer.
func shortNote(note string) string {
	const most = 160
	if runes := []rune(note); len(runes) > most {
		return string(runes[:most]) + "…"
	}
	return note
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

// family returns the CSS class for the colour of a kind.
func family(name string) string {
	switch {
	case strings.HasSuffix(name, "-text"):
		return "text"
	case strings.HasPrefix(name, "snowflake"):
		return "snow"
	case strings.HasPrefix(name, "uuidv7"):
		return "v7"
	case strings.HasPrefix(name, "uuidv4"):
		return "v4"
	}
	return "auto"
}
