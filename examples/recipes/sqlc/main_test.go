package main

import (
	"crypto/sha256"
	"encoding/hex"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sqlflake/sqlflake/internal/exampletest"
	"github.com/sqlflake/sqlflake/internal/testdb"
)

func TestMain(m *testing.M) { os.Exit(testdb.Main(m)) }

const want = `[{"id":"<1>","reply_to":null,"seen_by":["<2>","<3>"],"likes":0,"body":"Green tea?"},` +
	second + `,` + third + `]
[` + second + `,` + third + `]
[{"id":"<4>","body":"Or black?","answer":"<5>"}]
`

const (
	second = `{"id":"<4>","reply_to":"<1>","seen_by":["<2>"],"likes":0,"body":"Or black?"}`
	third  = `{"id":"<5>","reply_to":"<4>","seen_by":[],"likes":0,"body":"Green."}`
)

func TestBigintColumnsAreIDsAndLikesIsANumber(t *testing.T) {
	var out strings.Builder
	exampletest.Must(t, run(t.Context(), testdb.Postgres(t).DSN, &out))
	exampletest.Check(t, out.String(), want)
}

// TestGeneratedCodeIsCurrent compares a checksum of the queries and the generated code with the one that "go generate"
// wrote. Running sqlc, which has to be built first, takes too long for a test.
func TestGeneratedCodeIsCurrent(t *testing.T) {
	generated, err := filepath.Glob("messages/*.go")
	exampletest.Must(t, err)

	sum := sha256.New()
	for _, name := range append([]string{"sqlc.yaml", "schema.sql", "query.sql"}, generated...) {
		text, err := os.ReadFile(name)
		exampletest.Must(t, err)
		sum.Write(text)
	}

	want, err := os.ReadFile("generated.sha256")
	exampletest.Must(t, err)

	if got := hex.EncodeToString(sum.Sum(nil)); len(generated) == 0 || !strings.HasPrefix(string(want), got) {
		t.Errorf("the sum of the queries and the generated code is %s, it was %s: run go generate", got, want)
	}
}
