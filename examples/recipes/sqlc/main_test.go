package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/sqlflake/sqlflake/internal/testdb"
)

func TestMain(m *testing.M) { os.Exit(testdb.Main(m)) }

const want = `{"id":"<1>","reply_to":null,"seen_by":["<2>","<3>"],"likes":0,"body":"Is there tea?"}
{"id":"<4>","reply_to":"<1>","seen_by":["<2>"],"likes":0,"body":"Yes."}
{"id":"<5>","reply_to":"<1>","seen_by":["<2>"],"likes":0,"body":"Green or black?"}
{"id":"<6>","reply_to":"<1>","seen_by":[],"likes":0,"body":"No, coffee."}
{"id":"<7>","reply_to":"<5>","seen_by":[],"likes":0,"body":"Green."}
by key: "Yes."
by key: "No, coffee."
<1> has the replies [<4> <5> <6>]; <2> has seen 3 messages
"Yes." is answered: false
"Green or black?" is answered: true
"No, coffee." is answered: false
again: duplicate key value violates unique constraint "messages_pkey"
not there: true
`

func TestOutput(t *testing.T) {
	var out bytes.Buffer
	if err := run(t.Context(), testdb.Postgres(t).DSN, &out); err != nil {
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

// TestGeneratedCodeIsCurrent compares a checksum of the queries and the generated code with the one that "go generate"
// wrote. Running sqlc, which has to be built first, takes too long for a test.
func TestGeneratedCodeIsCurrent(t *testing.T) {
	generated, err := filepath.Glob("messages/*.go")
	if err != nil {
		t.Fatal(err)
	}
	sum := sha256.New()
	for _, name := range append([]string{"sqlc.yaml", "schema.sql", "query.sql"}, generated...) {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		sum.Write(text)
	}
	want, err := os.ReadFile("generated.sha256")
	if err != nil {
		t.Fatal(err)
	}
	if got := hex.EncodeToString(sum.Sum(nil)); len(generated) == 0 || !strings.HasPrefix(string(want), got) {
		t.Errorf("the sum of the queries and the generated code is %s, it was %s: run go generate", got, want)
	}
}
