package main

import (
	"encoding/json"
	"fmt"
	"net/http/httptest"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/sqlflake/sqlflake/examples/internal/exampletest"
	"github.com/sqlflake/sqlflake/internal/skip"
	"github.com/sqlflake/sqlflake/snowflake"
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
	server := httptest.NewServer(newHandler())
	defer server.Close()
	script, err := page.ReadFile("page/demonstration.js")
	exampletest.Must(t, err)
	const print = "console.log(JSON.stringify(await demonstrate(process.argv[2])))"
	cmd := exec.CommandContext(t.Context(), node, "--input-type=module", "-", server.URL)
	cmd.Stdin, cmd.Stderr = strings.NewReader(string(script)+print), os.Stderr
	out, err := cmd.Output()
	exampletest.Must(t, err)
	var rows [][]string
	exampletest.Must(t, json.Unmarshal(out, &rows))
	_, want, _ := strings.Cut(table(t), "\n")
	var got strings.Builder
	for _, row := range rows {
		got.WriteString(strings.Join(row, " ") + "\n")
	}
	if strings.Join(strings.Fields(got.String()), " ") != strings.Join(strings.Fields(want), " ") {
		t.Errorf("node:\n%s\nGo:\n%s", got.String(), want)
	}
}

func TestTheFactsInTheReadme(t *testing.T) {
	layouts := map[string]snowflake.Layout{"strings": snowflake.Default(), "safe": snowflake.MustPreset("javascriptsafe")}
	for kind, layout := range layouts {
		var ids [2]snowflake.ID
		for i, u := range kinds[kind] {
			exampletest.Must(t, ids[i].Scan(fmt.Sprint(u.ID)))
			exampletest.Must(t, layout.Validate(ids[i]))
		}
		if !layout.Time(ids[0]).Equal(layout.Time(ids[1])) || ids[0] == ids[1] {
			t.Errorf("%s: %v are not of one millisecond", kind, ids)
		}
	}
	layout, numbers := snowflake.Default(), map[float64]bool{}
	first, err := layout.MinAt(time.Date(2026, 11, 22, 0, 0, 0, 0, time.UTC))
	exampletest.Must(t, err)
	for i := range layout.MaxSequence() + 1 {
		numbers[float64(int64(first)+i)] = true
	}
	if day := layout.Time(1 << 53).Format(time.DateOnly); len(numbers) != 129 || day != "2025-01-25" {
		t.Errorf("%d numbers, above 2^53 since %s", len(numbers), day)
	}
}
