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
	before := len(e.Notes[engine])
	for _, note := range notes {
		if note = oneLine(note); !slices.Contains(e.Notes[engine], note) {
			e.Notes[engine] = append(e.Notes[engine], note)
		}
	}
	return e.Notes[engine][before:]
}

// tool is the section of the tool's settings. A setting of a section is written as "section.name", one of the machine
// without a section.
const tool = "tool"

// set adds a setting that was read, unless it is there. A file may have several runs, one after the other: the settings
// are those of the first, with a note of each server's setting that differs in a later one.
func (e *Environment) set(key, value string) {
	section, name, ok := strings.Cut(key, ".")
	switch was := Get(e.lines(), key); {
	case was != "" && key == "command":
		e.Command += "; " + value
	case was != "" && was != value && ok && section != tool:
		e.AddNotes(section, name+" of "+section+" is "+value+" in a later command")
	case was != "":
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
