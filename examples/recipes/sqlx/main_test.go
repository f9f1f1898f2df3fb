package main

import (
	"bytes"
	"fmt"
	"path/filepath"
	"regexp"
	"testing"
)

const want = `{"id":"<1>","reply_to":null,"body":"Is there tea?"}
{"id":"<2>","reply_to":"<1>","body":"Yes."}
{"id":"<3>","reply_to":"<1>","body":"Green or black?"}
{"id":"<4>","reply_to":"<1>","body":"No, coffee."}
by key: ["Yes." "No, coffee."]
again: UNIQUE constraint failed: messages.id
not there: true
`

func TestOutput(t *testing.T) {
	var out bytes.Buffer
	if err := run(t.Context(), filepath.Join(t.TempDir(), "messages.db"), &out); err != nil {
		t.Fatal(err)
	}
	if got := numbered(out.String()); got != want {
		t.Errorf("printed\n%s\nwant\n%s", got, want)
	}
}

// numbered replaces each ID by <1>, <2> and so on, in the order in which they appear: the same ID by the same number.
func numbered(text string) string {
	seen := map[string]string{}
	return regexp.MustCompile(`\b\d{15,19}\b`).ReplaceAllStringFunc(text, func(id string) string {
		if seen[id] == "" {
			seen[id] = fmt.Sprintf("<%d>", len(seen)+1)
		}
		return seen[id]
	})
}
