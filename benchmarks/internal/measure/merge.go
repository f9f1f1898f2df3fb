package measure

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Merge makes one data set of several measurements on one machine, such as a long one of few cases and a short one of
// all. The environment is that of the first. Where another had other settings of a database or of the tool, a note names
// them. It returns an error if two have the same run, whose figures would be pooled.
func Merge(list ...Data) (Data, error) {
	if len(list) == 0 {
		return Data{}, errors.New("there is nothing to merge")
	}
	all := list[0]
	all.Records = slices.Clone(all.Records)
	env := &all.Environment
	env.Database, env.Notes = maps.Clone(env.Database), map[string][]string{}
	seen := map[string]bool{}
	for i, one := range list {
		for _, r := range one.Records {
			if seen[r.ID()] {
				return Data{}, fmt.Errorf("two of the measurements have the run %s", r.ID())
			}
			seen[r.ID()] = true
		}
		for engine, notes := range one.Environment.Notes {
			env.AddNotes(engine, notes...)
		}
		if i == 0 {
			continue
		}
		all.Records = append(all.Records, one.Records...)
		for engine, settings := range one.Environment.Database {
			if _, ok := env.Database[engine]; !ok {
				env.Database[engine] = settings
			}
		}
		var other []string
		for _, d := range list[0].Environment.Differ(one.Environment) {
			if d.Name != "time" && d.Name != "command" && d.Name != "load" {
				other = append(other, fmt.Sprintf("%s %s instead of %s", d.Name, d.New, d.Old))
			}
		}
		if len(other) > 0 {
			env.AddNotes("", fmt.Sprintf("With %s: %s", strings.Join(other, ", "), one.Environment.Command))
		}
		env.Command += "; " + one.Environment.Command
	}
	return all, nil
}
