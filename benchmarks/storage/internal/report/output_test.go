package report

import (
	"encoding/csv"
	"encoding/json"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/sqlflake/sqlflake/benchmarks/storage/internal/measure"
)

func TestCSVReadsBack(t *testing.T) {
	r := sample()
	lines, err := csv.NewReader(strings.NewReader(written(t,
		func(w *strings.Builder) error { return r.WriteCSV(w) }))).ReadAll()
	must(t, err)
	column := map[string]int{}
	for i, name := range lines[0] {
		column[name] = i
	}
	count := 0
	for _, g := range r.Groups {
		count += len(figures(g))
	}
	if len(lines)-1 != count {
		t.Errorf("%d lines for %d figures", len(lines)-1, count)
	}
	for _, line := range lines[1:] {
		for _, g := range r.Groups {
			if g.Engine != line[0] || g.Scenario != line[1] || g.Params.String() != line[2] {
				continue
			}
			f, ok := g.Figure(line[column["kind"]], line[column["metric"]])
			if !ok {
				t.Fatalf("no figure for %v", line)
			}
			for name, want := range map[string]float64{
				"median": f.Median, "min": f.Min, "max": f.Max, "ratio": f.Ratio,
				"ratio_min": f.RatioMin, "ratio_max": f.RatioMax,
			} {
				got, err := strconv.ParseFloat(line[column[name]], 64)
				if math.IsNaN(want) && line[column[name]] == "" {
					continue
				}
				if err != nil || got != want {
					t.Errorf("%s of %v is %v, %v; want %v", name, line[:5], got, err, want)
				}
			}
		}
	}
}

func TestJSONWithoutBaseline(t *testing.T) {
	r := New(measure.Environment{}, []measure.Record{record("sqlite", "load", nil, "uuidv4", values{"rate": 3})}, "auto")
	var d data
	if err := json.Unmarshal([]byte(written(t, func(w *strings.Builder) error { return r.WriteJSON(w) })), &d); err != nil {
		t.Fatal(err)
	}
	if f := d.Groups[0].Figures[0]; f.Ratio != nil || *f.Median != 3 {
		t.Errorf("median %v, ratio %v; want 3, null", *f.Median, f.Ratio)
	}
}

func TestTablesFit(t *testing.T) {
	for _, width := range []int{0, 120, 80, 60} {
		text := written(t, func(w *strings.Builder) error { return sample().WriteText(w, Style{Width: width}) })
		if width == 0 {
			width = defaultWidth
		}
		for line := range strings.Lines(text) {
			if n := utf8.RuneCountInString(strings.TrimSuffix(line, "\n")); n > width {
				t.Errorf("a line has %d columns of %d: %s", n, width, line)
			}
		}
		if strings.Contains(text, "\x1b") {
			t.Error("there are escape sequences without colour")
		}
	}
}

func TestColorsDoNotMoveColumns(t *testing.T) {
	plain := written(t, func(w *strings.Builder) error { return sample().WriteText(w, Style{}) })
	colored := written(t, func(w *strings.Builder) error { return sample().WriteText(w, Style{Color: true}) })
	if plain == colored {
		t.Fatal("there are no colours")
	}
	for _, code := range []string{"0", bold, faint, red, green} {
		colored = strings.ReplaceAll(colored, "\x1b["+code+"m", "")
	}
	trim := func(text string) string { // spaces before an escape sequence are not at the end of a line
		lines := strings.Split(text, "\n")
		for i := range lines {
			lines[i] = strings.TrimRight(lines[i], " ")
		}
		return strings.Join(lines, "\n")
	}
	if trim(colored) != plain {
		t.Errorf("without its colours it is\n%s\nwant\n%s", colored, plain)
	}
}

func TestTableMarks(t *testing.T) {
	g := groupOf("postgres", "load", "rate", map[string]rounds3{
		"auto": same(1000), "explicit": {950, 1000, 1050}, "snowflake": {1490, 1500, 1510}, "uuidv4": {200, 300, 400},
	})
	r := Report{Baseline: "auto", Groups: []measure.Group{g}}
	text := written(t, func(w *strings.Builder) error { return r.WriteText(w, Style{}) })
	for _, want := range []string{"1.00x=", "1.50x\n", "0.30x~", "=: a tie", "too noisy to quote: rows/s of uuidv4."} {
		if !strings.Contains(text, want) {
			t.Errorf("there is no %q in\n%s", want, text)
		}
	}
}

func TestNumbers(t *testing.T) {
	for want, got := range map[string]string{
		"1,234,567": number(1234567, 0), "-1,234.5": number(-1234.5, 1), "999": number(999, 0), "-": number(math.NaN(), 1),
		"-999": number(-999, 0), "1.84": factor(1.84), "12.3": factor(12.34), "104": factor(104.2), "0.039": factor(0.0388),
		"0": factor(0), "1,000": factor(1000), "1 client": paramText(measure.P("clients", 1)),
		"100,000 rows, 1,000 a statement": paramText(measure.P("rows", 100000, "batch", 1000)),
	} {
		if got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

func TestPointsAreInTheOrderOfSizes(t *testing.T) {
	r := New(measure.Environment{}, []measure.Record{
		record("sqlite", "grow", nil, "auto", values{"rate@1000000": 1, "rate@200000": 2, "rate@90000": 3, "cpu": 4}),
	}, "auto")
	var names []string
	for _, m := range r.Groups[0].Metrics {
		names = append(names, m.Name)
	}
	if got := strings.Join(names, " "); got != "cpu rate@90000 rate@200000 rate@1000000" {
		t.Error(got)
	}
}

func TestResumeTellsWhatChanged(t *testing.T) {
	dir := t.TempDir()
	first := sample().Environment
	first.Machine = append(first.Machine, measure.Setting{Name: loadName, Value: "0.1"})
	if env, changed, err := Resume(dir, first); err != nil || changed != nil || env.Time != first.Time {
		t.Fatalf("a new folder: %v, %v, %v", env, changed, err)
	}
	must(t, SaveEnvironment(dir, first))
	second := sample().Environment
	second.Time = "2027-01-01T00:00:00Z"
	second.Machine = []measure.Setting{{Name: "cores", Value: "64"}, {Name: loadName, Value: "9"}}
	second.Database = map[string][]measure.Setting{
		"postgres": {{Name: "version", Value: "PostgreSQL 16"}},
		"sqlite":   {{Name: "version", Value: "3"}},
	}
	env, changed, err := Resume(dir, second)
	must(t, err)
	want := []string{
		"PostgreSQL: version was PostgreSQL 15 when the report was started and PostgreSQL 16 when it was resumed.",
		"The machine: cores was 2 when the report was started and 64 when it was resumed.",
	}
	if strings.Join(changed, "\n") != strings.Join(want, "\n") {
		t.Errorf("changed: %q", changed)
	}
	if env.Time != first.Time || len(env.Database["sqlite"]) != 1 || len(env.Notes["report"]) != 2 {
		t.Errorf("the environment is %+v", env)
	}
	if _, changed, err := Resume(dir, first); err != nil || len(changed) != 0 {
		t.Errorf("nothing changed, but %q, %v", changed, err)
	}
}

// TestFailedWriteKeepsTheOldFile writes a report that cannot be written completely.
func TestFailedWriteKeepsTheOldFile(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "index.html")
	must(t, os.WriteFile(path, []byte("old"), 0o600))
	err := writeFile(path, func(w io.Writer) error {
		_, _ = w.Write([]byte("half"))
		return fs.ErrClosed
	})
	if err == nil {
		t.Error("no error")
	}
	if text, _ := os.ReadFile(path); string(text) != "old" {
		t.Errorf("the file is %q", text)
	}
	if entries, _ := os.ReadDir(dir); len(entries) != 1 {
		t.Errorf("left behind: %v", entries)
	}
}
