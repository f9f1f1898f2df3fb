// Package exampletest compares the output of an example that prints IDs.
package exampletest

import (
	"fmt"
	"regexp"
	"testing"
)

var digits = regexp.MustCompile(`\b\d{15,19}\b`)

// Check compares text with want, in which each ID is written as <1>, <2> and so on in the order of appearance: the same
// ID as the same number.
func Check(t *testing.T, text, want string) {
	t.Helper()
	seen := map[string]string{}
	got := digits.ReplaceAllStringFunc(text, func(id string) string {
		if seen[id] == "" {
			seen[id] = fmt.Sprintf("<%d>", len(seen)+1)
		}
		return seen[id]
	})
	if got != want {
		t.Errorf("printed\n%s\nwant\n%s", got, want)
	}
}

// Must fails the test on an error.
func Must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
