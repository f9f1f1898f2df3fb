package report

import (
	"os"
	"path/filepath"
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

// sample has the kept results, and notes.
func sample(t *testing.T) Report {
	t.Helper()
	data, err := measure.ReadFolder("../../../results/storage.txt.gz")
	must(t, err)
	data.Records = append(data.Records, measure.Record{
		Engine: "mariadb", Scenario: "children", Kind: "uuidv4", Round: 1,
		Note: "there is no index",
	})
	return New(data.Environment, data.Records)
}

func TestFolderHasEachForm(t *testing.T) {
	dir, r := t.TempDir(), sample(t)
	must(t, r.WriteFolder(dir))
	must(t, r.WriteDocs(dir))
	files := map[string]string{"text": r.Text()}
	for _, name := range []string{"RESULTS.md", "table.md", "bytes.svg"} {
		text, err := os.ReadFile(filepath.Join(dir, name))
		must(t, err)
		files[name] = string(text)
	}

	for name, wanted := range map[string][]string{
		"RESULTS.md": {
			`Time; 1ms to the server \| [0-9.]+ ms \| 0\.[0-9]+×▲`, "there is no index",
		},
		"table.md": {`PostgreSQL 15, one client \| 8 clients`},
		"bytes.svg": {
			"prefers-color-scheme:dark", `fill:#0b5fb8;fill:var\(--snow\)`, "full colour: indexes",
			">one client<",
		},
		"text": {"there is no index", `22.6 B \(1.00×\)`, `[0-9] B \(1\.[0-9]+×▼\)`},
	} {
		for _, want := range wanted {
			if !regexp.MustCompile(want).MatchString(files[name]) {
				t.Errorf("%s has no %q:\n%s", name, want, files[name])
			}
		}
	}

	files["postgres"], _, _ = strings.Cut(files["RESULTS.md"], "## PostgreSQL 18")
	for name, no := range map[string]string{
		"postgres": "Rows a second; 50,000 rows", // of children, where no key differs
		"table.md": " B (",
	} {
		if strings.Contains(files[name], no) {
			t.Errorf("%s has %q", name, no)
		}
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
