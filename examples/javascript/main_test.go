package main

import (
	"encoding/json"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/sqlflake/sqlflake/internal/exampletest"
	"github.com/sqlflake/sqlflake/internal/skip"
)

func table(t *testing.T) string {
	t.Helper()
	var out strings.Builder
	exampletest.Must(t, printTable(&out))
	return out.String()
}

func TestTheReadmeShowsTheTable(t *testing.T) {
	readme, err := os.ReadFile("README.md")
	exampletest.Must(t, err)
	if text := table(t); !strings.Contains(string(readme), "```\n"+text+"```\n") {
		t.Errorf("README.md does not contain\n%s", text)
	}
}

func TestNodeReadsWhatTheTableSays(t *testing.T) {
	node, err := exec.LookPath("node")
	if err != nil {
		skip.Missing(t, "", "%v", err)
	}

	sent, err := json.Marshal(kinds)
	exampletest.Must(t, err)
	const script = `for (const [kind, users] of Object.entries(JSON.parse(process.argv[1])))
	for (const user of users) console.log(kind, user.name, String(user.id))`
	cmd := exec.CommandContext(t.Context(), node, "--input-type=module", "-e", script, string(sent))
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	exampletest.Must(t, err)
	rows := strings.Split(table(t), "\n")

	for line := range strings.Lines(string(out)) {
		read := strings.Fields(line)
		if !slices.ContainsFunc(rows, func(row string) bool {
			cells := strings.Fields(row)
			return len(cells) == 5 && slices.Equal(read, []string{cells[0], cells[1], cells[3]})
		}) {
			t.Errorf("node reads %s which is not in\n%s", line, table(t))
		}
	}

	if n := strings.Count(string(out), "\n"); n != 6 {
		t.Errorf("node reads %d users", n)
	}
}
