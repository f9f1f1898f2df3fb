// Package measure has the records of single runs, the file that keeps them, and the figures computed from them.
package measure

import (
	"fmt"
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
func (p Params) String() string { return Text(p, "=", " ") }

// Get returns the value of a setting, "" if it is missing.
func (p Params) Get(name string) string { return Get(p, name) }

// Metric is a quantity that is measured.
type Metric struct {
	Name  string // in files: "bytes_primary"
	Title string // "index of the primary key, bytes a row"
	Unit  string // as it follows a value
	// More is true if more is better, as with rows a second.
	More bool
	// Exact figures repeat. Others depend on the load of the machine.
	Exact  bool
	Digits int // after the decimal point; a Figure with a small value has more
}

// place returns the index of a metric in metrics, -1 if there is none. A name may end in @ and a number of rows, the
// size of the table at that moment.
func place(name string) int {
	base, _, _ := strings.Cut(name, "@")
	return slices.IndexFunc(metrics, func(m Metric) bool { return m.Name == base })
}

// Metrics returns all metrics in the order of reports.
func Metrics() []Metric { return slices.Clone(metrics) }

var metrics = []Metric{
	{Name: "rate", Title: "rows a second", Unit: "/s", More: true},
	{Name: "bytes_primary", Title: "index of the primary key, bytes a row", Unit: " B", Exact: true, Digits: 1},
	{Name: "bytes_secondary", Title: "secondary indexes, bytes a row", Unit: " B", Exact: true, Digits: 1},
	{Name: "bytes_table", Title: "table with all indexes, bytes a row", Unit: " B", Exact: true, Digits: 1},
	{Name: "time", Title: "time", Unit: " ms", Digits: 2},
	{Name: "round_trips", Title: "round trips", Exact: true},
}

// Environment describes where the figures come from.
type Environment struct {
	// Settings are the time of the start (RFC 3339), the command with its flags, the settings of the machine, and the
	// settings of each database, such as "postgres.version". Benchstat knows goos, goarch and cpu.
	Settings []Setting
	Notes    []string // what could not be measured
}

// Machine returns the settings of the machine.
func (e Environment) Machine() []Setting {
	return slices.DeleteFunc(slices.Clone(e.Settings), func(s Setting) bool {
		isOther := slices.Contains([]string{"time", "command", "baseline"}, s.Name)
		return isOther || strings.Contains(s.Name, ".")
	})
}

// Database returns the settings of an engine.
func (e Environment) Database(engine string) []Setting {
	var list []Setting
	for _, s := range e.Settings {
		if name, ok := strings.CutPrefix(s.Name, engine+"."); ok {
			list = append(list, Setting{name, s.Value})
		}
	}
	return list
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

// Text returns a list as one text: "cores=2 memory=23.5 GiB", with "=" and a space.
func Text(list []Setting, is, and string) string {
	parts := make([]string, len(list))
	for i, s := range list {
		parts[i] = s.Name + is + s.Value
	}
	return strings.Join(parts, and)
}

// addNote adds a note, unless it is there.
func (e *Environment) addNote(note string) {
	if !slices.Contains(e.Notes, note) {
		e.Notes = append(e.Notes, note)
	}
}

// set adds a setting that was read, unless it is there. A file may have several runs of the tool: the first one's
// settings count, and a note names each setting of a server that differs in a later one.
func (e *Environment) set(name, value string) {
	i := slices.IndexFunc(e.Settings, func(s Setting) bool { return s.Name == name })
	engine, setting, ofServer := strings.Cut(name, ".")
	switch {
	case i < 0:
		e.Settings = append(e.Settings, Setting{name, value})
	case name == "command":
		e.Settings[i].Value += "; " + value
	case ofServer && e.Settings[i].Value != value:
		e.addNote(setting + " of " + engine + " is " + value + " in a later command")
	}
}
