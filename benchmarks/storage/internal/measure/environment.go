package measure

import (
	"maps"
	"slices"
	"strings"
)

// Environment describes where the figures come from.
type Environment struct {
	Time     string               // of the start, RFC 3339
	Command  string               // the flags
	Baseline string               // the kind that the others are compared with
	Settings []Setting            // of the tool: seed, durable, rows
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

// AddNotes adds notes without duplicates, and returns the new ones.
func (e *Environment) AddNotes(engine string, notes ...string) []string {
	var added []string
	for _, note := range notes {
		if note = oneLine(note); !slices.Contains(e.Notes[engine], note) {
			e.Notes[engine] = append(e.Notes[engine], note)
			added = append(added, note)
		}
	}
	return added
}

// tool is the section of the tool's settings. A setting of a section is written as "section.name", one of the machine
// without a section.
const tool = "tool"

// set adds a setting that was read, unless it is there.
func (e *Environment) set(key, value string) {
	section, name, ok := strings.Cut(key, ".")
	switch {
	case key == "time":
		e.Time = value
	case key == "command":
		e.Command = value
	case key == "baseline":
		e.Baseline = value
	case !ok:
		add(&e.Machine, key, value)
	case section == tool:
		add(&e.Settings, name, value)
	default:
		list := e.Database[section]
		add(&list, name, value)
		e.Database[section] = list
	}
}

func add(list *[]Setting, name, value string) {
	if Get(*list, name) == "" {
		*list = append(*list, Setting{name, value})
	}
}

// lines returns the settings as "key: value" lines.
func (e Environment) lines() []string {
	var all []string
	put := func(key, value string) {
		if value != "" {
			all = append(all, strings.ReplaceAll(strings.ToLower(key), " ", "-")+": "+oneLine(value))
		}
	}
	put("time", e.Time)
	put("command", e.Command)
	put("baseline", e.Baseline)
	for _, s := range e.Settings {
		put(tool+"."+s.Name, s.Value)
	}
	for _, s := range e.Machine {
		put(s.Name, s.Value)
	}
	for _, engine := range slices.Sorted(maps.Keys(e.Database)) {
		for _, s := range e.Database[engine] {
			put(engine+"."+s.Name, s.Value)
		}
	}
	return all
}

// Difference is a setting with two values.
type Difference struct{ Name, Old, New string }

// Differ returns the settings that both have, with another value.
func (e Environment) Differ(other Environment) []Difference {
	values := map[string]string{}
	for _, line := range e.lines() {
		key, value, _ := strings.Cut(line, ": ")
		values[key] = value
	}
	var all []Difference
	for _, line := range other.lines() {
		key, value, _ := strings.Cut(line, ": ")
		if old, ok := values[key]; ok && old != value {
			all = append(all, Difference{strings.TrimPrefix(key, tool+"."), old, value})
		}
	}
	return all
}
