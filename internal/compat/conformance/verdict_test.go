package conformance

import (
	"slices"
	"strings"
	"testing"
)

// find returns the exception that covers a cell, or nil.
func find(list []exception, subject, target string, check check) *exception {
	for i := range list {
		if list[i].covers(subject, target, check) {
			return &list[i]
		}
	}
	return nil
}

// judge returns what is wrong with a cell that has these failures and this exception, if any.
func judge(failures []string, listed *exception) []string {
	if listed == nil {
		return failures
	}
	if len(failures) == 0 {
		return []string{"it passes, but is listed as an exception: " + listed.reason}
	}
	var others []string
	for _, failure := range failures {
		if !slices.ContainsFunc(listed.fails, func(text string) bool { return strings.Contains(failure, text) }) {
			others = append(others, "it fails in another way than its exception says: "+failure)
		}
	}
	return others
}

func TestVerdicts(t *testing.T) {
	listed := &exception{fails: []string{"no arrays", "no ANY"}, reason: "so it is"}
	for name, test := range map[string]struct {
		failures []string
		listed   *exception
		want     int // problems
	}{
		"passes":                         {nil, nil, 0},
		"fails without an entry":         {[]string{"no arrays"}, nil, 1},
		"fails as listed":                {[]string{"there are no arrays", "no ANY"}, listed, 0},
		"passes in spite of an entry":    {nil, listed, 1},
		"fails in another way":           {[]string{"stale value"}, listed, 1},
		"fails as listed and in another": {[]string{"no arrays", "stale value"}, listed, 1},
	} {
		if got := judge(test.failures, test.listed); len(got) != test.want {
			t.Errorf("%s: problems %q, want %d", name, got, test.want)
		}
	}
}

func TestEachCellHasAtMostOneExceptionAndEachExceptionACell(t *testing.T) {
	used := make([]bool, len(exceptions))
	for _, subject := range subjects {
		for _, target := range targets {
			for _, check := range checks {
				var numbers []int
				for i, exception := range exceptions {
					if exception.covers(subject.name(), target.name, check) {
						numbers = append(numbers, i)
						used[i] = true
					}
				}
				if len(numbers) > 1 {
					t.Errorf("%s, %s, %s: exceptions %d", subject.name(), target.name, check, numbers)
				}
			}
		}
	}
	for i, exception := range exceptions {
		if !used[i] || len(exception.fails) == 0 || exception.reason == "" {
			t.Errorf("exception %d covers no cell, or says not how and why", i)
		}
		for _, name := range exception.types {
			if !slices.ContainsFunc(subjects, func(s subject) bool { return s.name() == name }) {
				t.Errorf("exception %d: there is no type %q", i, name)
			}
		}
		for _, name := range exception.targets {
			if !slices.ContainsFunc(targets, func(t target) bool { return t.name == name }) {
				t.Errorf("exception %d: there is no target %q", i, name)
			}
		}
	}
}
