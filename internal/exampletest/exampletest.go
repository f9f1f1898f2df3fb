// Package exampletest compares the output of an example that prints IDs.
package exampletest

import (
	"fmt"
	"os"
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

// Output calls a main function in an empty folder and returns what it prints.
func Output(t *testing.T, main func()) string {
	t.Helper()
	t.Chdir(t.TempDir())
	out, err := os.Create("output")
	Must(t, err)
	stdout := os.Stdout
	os.Stdout = out
	defer func() { os.Stdout = stdout }()

	main()
	Must(t, out.Close())
	text, err := os.ReadFile("output")
	Must(t, err)
	return string(text)
}
