package report

import (
	"encoding/csv"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/sqlflake/sqlflake/benchmarks/internal/document"
	"github.com/sqlflake/sqlflake/benchmarks/internal/measure"
	"github.com/sqlflake/sqlflake/benchmarks/storage/internal/key"
)

func TestSentencesFollowFromTheFigures(t *testing.T) {
	said := strings.Join(sample(6).sentences("first", "postgres"), "\n")
	for _, want := range []string{
		"22.6 B a row", "UUIDv7 takes 1.40 times, UUIDv4 1.89 times", "0.90 times with snowflakes, 0.60 times with UUIDv4",
	} {
		if !strings.Contains(said, want) {
			t.Errorf("no %q in\n%s", want, said)
		}
	}
	unclear := measure.Figure{Ratio: 5.5, Verdict: measure.Same}
	if same := (measure.Figure{Ratio: 1.1, Verdict: measure.Same}); !unsure(unclear) || unsure(same) {
		t.Error("5.5 times the time, without a verdict, is shown as no difference, or 1.1 times as unclear")
	}
	if said := strings.Join(sample(3).sentences("first", "postgres"), "\n"); strings.Contains(said, "Rows a second") {
		t.Errorf("three rounds show a speed:\n%s", said)
	}
	if said := sample(6).sentences("first", "sqlite"); said != nil {
		t.Errorf("sentences without figures: %q", said)
	}
}

func exists(metric string) bool {
	return slices.ContainsFunc(measure.Metrics(), func(m measure.Metric) bool { return m.Name == metric })
}

// TestSentencesNameWhatExists finds kinds, metrics and scenarios with errors, which would hide a sentence for ever.
func TestSentencesNameWhatExists(t *testing.T) {
	check := func(where string, part []string) {
		t.Helper()
		if _, err := key.Find(part[:1]); err != nil {
			t.Errorf("%s: %v", where, err)
		}
		if !exists(part[1]) {
			t.Errorf("%s: unknown metric %q", where, part[1])
		}
		if len(part) > 2 && !slices.Contains([]string{"same", "better", "worse", "x"}, part[2]) {
			t.Errorf("%s: unknown %q", where, part[2])
		}
	}
	lines := 0
	for line := range strings.Lines(sentenceText) {
		part := strings.Split(strings.TrimSpace(line), " | ")
		if strings.HasPrefix(line, "#") || len(part) == 1 {
			continue
		}
		lines++
		if len(part) != 5 {
			t.Errorf("%d parts: %s", len(part), line)
			continue
		}
		for condition := range strings.SplitSeq(part[3], ", ") {
			if condition != "-" {
				check(line, strings.Fields(condition))
			}
		}
		for _, match := range placeholder.FindAllStringSubmatch(part[4], -1) {
			words := strings.Fields(match[1])
			if words = slices.DeleteFunc(words, func(w string) bool { return w[0] == '@' }); words[0][0] != '#' {
				check(line, words)
			}
		}
	}
	if lines < 10 {
		t.Errorf("%d sentences", lines)
	}
}

func TestViewsNameWhatExists(t *testing.T) {
	for name, v := range views {
		if scenarioOf(name).Question == "" {
			t.Errorf("unknown scenario %q", name)
		}
		for _, entry := range slices.Concat(v.draw, v.compare) {
			metrics, _, _ := strings.Cut(entry, " ")
			for metric := range strings.SplitSeq(metrics, "|") {
				if !exists(metric) {
					t.Errorf("%s: unknown metric %q", name, metric)
				}
			}
		}
	}
}

func TestFolderHasEachForm(t *testing.T) {
	dir := t.TempDir()
	r := sample(6)
	must(t, r.WriteFolder(dir))
	must(t, r.WriteDocs(dir))
	read := func(name string) string {
		text, err := os.ReadFile(filepath.Join(dir, name))
		must(t, err)
		return string(text)
	}
	for name, want := range map[string]string{
		"RESULTS.md": "4 clients, 1,000 a statement: 1.32×", "index.html": "The machine was busy.",
		"table.md":  "| UUIDv4 | 127.1 (1.28× ▼) | 0.60× ▼ |",
		"bytes.svg": "prefers-color-scheme:dark", "rate.svg": "MariaDB: rows a second",
	} {
		if !strings.Contains(read(name), want) {
			t.Errorf("%s has no %q", name, want)
		}
	}
	rows, err := csv.NewReader(strings.NewReader(read("summary.csv"))).ReadAll()
	must(t, err)
	var all struct{ Figures []map[string]any }
	must(t, json.Unmarshal([]byte(read("summary.json")), &all))
	if len(rows)-1 != len(all.Figures) || len(rows) < 30 || len(rows[0]) != len(all.Figures[0]) {
		t.Errorf("%d lines of CSV, %d figures in JSON", len(rows)-1, len(all.Figures))
	}
	text := written(t, r.WriteText)
	if !strings.Contains(text, "there is no index") || !strings.Contains(text, "29.8 (1.32× ▼)") {
		t.Errorf("the text lacks a figure or a note:\n%s", text)
	}
	if files, _ := filepath.Glob(filepath.Join(dir, ".*")); len(files) > 0 {
		t.Errorf("%v are left behind", files)
	}
}

func TestEmptyReportIsWritten(t *testing.T) {
	r := New(measure.Environment{}, nil, "auto")
	must(t, r.WriteFolder(t.TempDir()))
	if err := r.WriteDocs(t.TempDir()); err == nil {
		t.Error("a report without figures gave pictures")
	}
}

func TestNumbers(t *testing.T) {
	for _, test := range []struct{ got, want string }{
		{document.Number(1234567.89, 1), "1,234,567.9"},
		{document.Number(-1234, 0), "-1,234"},
		{document.Number(0.5, 2), "0.50"},
		{document.Factor(0.0414), "0.041"},
		{document.Factor(56.04), "56.0"},
		{document.Factor(1.884), "1.88"},
		{document.Short(1_500_000), "1.5M"},
		{document.Short(20_000), "20k"},
		{caseText(measure.P("rows", 200_000, "batch", 1000, "clients", 1)), "200,000 rows, 1,000 a statement, 1 client"},
	} {
		if test.got != test.want {
			t.Errorf("%q, want %q", test.got, test.want)
		}
	}
}
