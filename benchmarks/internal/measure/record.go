// Package measure has the records of single runs, the file that keeps them, and the figures computed from them.
package measure

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Again is the kind of the A/A row: the baseline measured once more, as if it were another kind. A difference between
// the two is chance.
const Again = "again"

// Record is one run: one kind of key in one scenario with one set of parameters on one database, once.
type Record struct {
	Engine, Scenario string // no Engine if it is about no database
	Params           Params
	Kind             string
	Beside           string // of a run of the baseline: the kind that it is compared with
	Round            int    // from 1
	Values           map[string]float64
	Note             string // why there are no values, or a remark on them
}

// Params are the settings of a run, in reading order.
type Params []Setting

// P makes Params from alternating names and values.
func P(pairs ...any) Params {
	var p Params
	for i := 0; i+1 < len(pairs); i += 2 {
		p = append(p, Setting{fmt.Sprint(pairs[i]), fmt.Sprint(pairs[i+1])})
	}
	return p
}

// String returns "rows=100000 batch=1".
func (p Params) String() string {
	parts := make([]string, len(p))
	for i, param := range p {
		parts[i] = param.Name + "=" + param.Value
	}
	return strings.Join(parts, " ")
}

// Get returns the value of a setting, "" if it is missing.
func (p Params) Get(name string) string { return Get(p, name) }

// Metric is a quantity that is measured.
type Metric struct {
	Name  string // in files: "bytes_primary"
	Title string // "index of the primary key, bytes a row"
	Unit  string
	// More is true if more is better, as with rows a second.
	More bool
	// Exact figures repeat. Others depend on the load of the machine.
	Exact  bool
	Digits int // after the decimal point; a Figure with a small value has more
}

// Find returns the metric with a name. A name may end in @ and a number of rows, the size of the table at that moment.
func Find(name string) Metric {
	m := Metric{Title: name, Digits: 2}
	if i := place(name); i >= 0 {
		m = metrics[i]
	}
	m.Name = name
	return m
}

// place returns the index of a metric in metrics, -1 if there is none.
func place(name string) int {
	base, _, _ := strings.Cut(name, "@")
	return slices.IndexFunc(metrics, func(m Metric) bool { return m.Name == base })
}

// Metrics returns all metrics in the order of reports.
func Metrics() []Metric { return slices.Clone(metrics) }

var metrics = []Metric{
	{Name: "rate", Title: "rows a second", Unit: "1/s", More: true},
	{Name: "bytes_primary", Title: "index of the primary key, bytes a row", Unit: "B", Exact: true, Digits: 1},
	{Name: "bytes_secondary", Title: "secondary indexes, bytes a row", Unit: "B", Exact: true, Digits: 1},
	{Name: "bytes_table", Title: "table with all indexes, bytes a row", Unit: "B", Exact: true, Digits: 1},
	{Name: "time", Title: "time", Unit: "ms", Digits: 2},
	{Name: "round_trips", Title: "round trips", Exact: true},
}

// Environment describes where the figures come from.
type Environment struct {
	Time     string               // of the start, RFC 3339
	Command  string               // the flags
	Baseline string               // the kind that the others are compared with
	Settings []Setting            // of the tool: seed, rows
	Machine  []Setting            // with goos, goarch and cpu, which benchstat knows
	Database map[string][]Setting // by engine
	Notes    map[string][]string  // by engine: what could not be measured
}

// Setting is a name, of lower-case letters without spaces, and a value.
type Setting struct{ Name, Value string }

// Get returns the value of a setting, "" if it is missing.
func Get(list []Setting, name string) string {
	for _, s := range list {
		if s.Name == name {
			return s.Value
		}
	}
	return ""
}

// addNote adds a note, unless it is there.
func (e *Environment) addNote(engine, note string) {
	if !slices.Contains(e.Notes[engine], note) {
		e.Notes[engine] = append(e.Notes[engine], note)
	}
}

// tool is the section of the tool's settings. A setting of a section is written as "section.name", one of the machine
// without a section.
const tool = "tool"

// set adds a setting that was read, unless it is there. A file may have several runs of the tool: the first one's
// settings count, and a note names each setting of a server that differs in a later one.
func (e *Environment) set(key, value string) {
	section, name, ok := strings.Cut(key, ".")
	was := Get(e.lines(), key)
	if was != "" {
		ofServer := ok && section != tool
		if key == "command" {
			e.Command += "; " + value
		} else if ofServer && was != value {
			e.addNote(section, name+" of "+section+" is "+value+" in a later command")
		}
		return
	}

	switch {
	case key == "time":
		e.Time = value
	case key == "command":
		e.Command = value
	case key == "baseline":
		e.Baseline = value
	case !ok:
		e.Machine = append(e.Machine, Setting{key, value})
	case section == tool:
		e.Settings = append(e.Settings, Setting{name, value})
	default:
		e.Database[section] = append(e.Database[section], Setting{name, value})
	}
}

// lines returns all settings, with their sections.
func (e Environment) lines() (all []Setting) {
	put := func(section string, list ...Setting) {
		for _, s := range list {
			if s.Value = oneLine(s.Value); s.Value != "" {
				all = append(all, Setting{section + strings.ReplaceAll(strings.ToLower(s.Name), " ", "-"), s.Value})
			}
		}
	}
	put("", Setting{"time", e.Time}, Setting{"command", e.Command}, Setting{"baseline", e.Baseline})
	put(tool+".", e.Settings...)
	put("", e.Machine...)

	for _, engine := range slices.Sorted(maps.Keys(e.Database)) {
		put(engine+".", e.Database[engine]...)
	}

	return all
}
