package report

import (
	"regexp"
	"strings"
	"testing"

	"github.com/sqlflake/sqlflake/benchmarks/internal/document"
	"github.com/sqlflake/sqlflake/benchmarks/internal/measure"
)

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// The other forms are in this repository, where package main compares them.
func TestTextHasFiguresAndNotes(t *testing.T) {
	data, err := measure.ReadFolder("../../../results/storage.txt.gz")
	must(t, err)
	data.Records = append(data.Records, measure.Record{
		Engine: "mariadb", Scenario: "children", Kind: "uuidv4", Round: 1, Note: "there is no index",
	})

	r := New(data.Environment, data.Records)
	text := r.Text()
	for _, want := range []string{"MariaDB, children, UUIDv4: there is no index", `22.6 B \(1.00×\)`, `[0-9] B \(1\.[0-9]+×▼\)`} {
		if !regexp.MustCompile(want).MatchString(text) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
	if !strings.Contains(r.markdown(), "* MariaDB, children, UUIDv4: there is no index\n") {
		t.Error("RESULTS.md has no note")
	}
}

func TestEmptyReportIsWritten(t *testing.T) {
	r := New(measure.Environment{}, nil)
	must(t, r.WriteFolder(t.TempDir()))
	if err := r.WriteDocs(t.TempDir()); err == nil {
		t.Error("a report without figures gave pictures")
	}
}

func TestNumbersAndNames(t *testing.T) {
	for _, test := range []struct{ got, want string }{
		{document.Number(1234567.89, 1), "1,234,567.9"},
		{document.Factor(0.0414), "0.041"},
		{document.Factor(56.04), "56.0"},
		{document.Factor(1.884), "1.88"},
		{document.Escape("<b>|`*&\n"), "&lt;b&gt;\\|\\`\\*&amp; "},
		{
			caseText(measure.P("rows", 200_000, "batch", 1000, "clients", 8)),
			"200,000 rows, 1,000 a statement, 8 clients",
		},
	} {
		if test.got != test.want {
			t.Errorf("%q, want %q", test.got, test.want)
		}
	}
}
