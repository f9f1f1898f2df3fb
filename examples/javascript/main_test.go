package main

import (
	"encoding/json"
	"net/http/httptest"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/sqlflake/sqlflake/internal/testdb"
	"github.com/sqlflake/sqlflake/snowflake"
)

func table(t *testing.T) string {
	t.Helper()
	var out strings.Builder
	if err := printTable(&out); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

func TestTheReadmeShowsTheTable(t *testing.T) {
	readme, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	if text := table(t); !strings.Contains(string(readme), "```\n"+text+"```\n") {
		t.Errorf("README.md does not contain\n%s", text)
	}
}

func TestNodeReadsWhatTheTableSays(t *testing.T) {
	node, err := exec.LookPath("node")
	if err != nil {
		testdb.Missing(t, "%v", err)
	}
	server := httptest.NewServer(newHandler())
	defer server.Close()
	script, err := page.ReadFile("page/demonstration.js")
	if err != nil {
		t.Fatal(err)
	}
	const print = "console.log(JSON.stringify(await demonstrate(process.argv[2])))"
	cmd := exec.CommandContext(t.Context(), node, "--input-type=module", "-", server.URL)
	cmd.Stdin, cmd.Stderr = strings.NewReader(string(script)+print), os.Stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	var rows [][]string
	if err := json.Unmarshal(out, &rows); err != nil {
		t.Fatal(err)
	}
	_, want, _ := strings.Cut(table(t), "\n")
	var got strings.Builder
	for _, row := range rows {
		got.WriteString(strings.Join(row, " ") + "\n")
	}
	if strings.Join(strings.Fields(got.String()), " ") != strings.Join(strings.Fields(want), " ") {
		t.Errorf("node:\n%s\nGo:\n%s", got.String(), want)
	}
}

func TestTheIDsAreOfOneMillisecondEach(t *testing.T) {
	layouts := map[string]snowflake.Layout{"strings": snowflake.Default(), "safe": snowflake.MustPreset("javascriptsafe")}
	for kind, layout := range layouts {
		var ids [2]snowflake.ID
		for i, u := range kinds[kind] {
			text, err := json.Marshal(u.ID)
			if err == nil {
				err = json.Unmarshal(text, &ids[i])
			}
			if err != nil || layout.Validate(ids[i]) != nil {
				t.Errorf("%s: %v, error %v", kind, u.ID, err)
			}
		}
		if !layout.Time(ids[0]).Equal(layout.Time(ids[1])) || ids[0] == ids[1] {
			t.Errorf("%s: %v", kind, ids)
		}
	}
}

func TestTheFiguresInTheReadme(t *testing.T) {
	layout, numbers := snowflake.Default(), map[float64]bool{}
	first, err := layout.MinAt(time.Date(2026, 11, 22, 0, 0, 0, 0, time.UTC))
	if err != nil {
		t.Fatal(err)
	}
	for i := range layout.MaxSequence() + 1 {
		numbers[float64(int64(first)+i)] = true
	}
	if day := layout.Time(1 << 53).Format(time.DateOnly); len(numbers) != 129 || day != "2025-01-25" {
		t.Errorf("%d numbers, above 2^53 since %s", len(numbers), day)
	}
}
