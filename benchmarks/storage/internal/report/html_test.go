package report

import (
	"encoding/json"
	"encoding/xml"
	"errors"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"golang.org/x/net/html"

	"github.com/sqlflake/sqlflake/benchmarks/storage/internal/measure"
)

// walk calls f for all elements of a page.
func walk(t *testing.T, page string, f func(n *html.Node)) {
	t.Helper()
	root, err := html.Parse(strings.NewReader(page))
	must(t, err)
	for n := range root.Descendants() {
		if n.Type == html.ElementNode {
			f(n)
		}
	}
}

func attribute(n *html.Node, name string) string {
	for _, a := range n.Attr {
		if a.Key == name {
			return a.Val
		}
	}
	return ""
}

func pageOf(t *testing.T, r Report) string {
	return written(t, func(w *strings.Builder) error { return r.WriteHTML(w) })
}

func TestPageNeedsNoOtherFile(t *testing.T) {
	text := pageOf(t, sample())
	walk(t, text, func(n *html.Node) {
		switch n.Data {
		case "link", "img", "iframe", "object", "embed", "base", "form", "image", "use", "video", "audio":
			t.Errorf("there is <%s>", n.Data)
		case "script":
			if kind := attribute(n, "type"); kind != "application/json" || attribute(n, "src") != "" {
				t.Errorf("there is a script of type %q", kind)
			}
		}
		for _, a := range n.Attr {
			refers := a.Key == "href" || a.Key == "src" || a.Key == "srcset" || strings.HasSuffix(a.Key, ":href")
			if refers && !strings.HasPrefix(a.Val, "#") {
				t.Errorf("<%s %s=%q> refers to something outside", n.Data, a.Key, a.Val)
			}
			if strings.HasPrefix(a.Key, "on") {
				t.Errorf("<%s> has %s", n.Data, a.Key)
			}
		}
	})
	for _, outside := range regexp.MustCompile(`(?i)@import|url\([^#]`).FindAllString(text, -1) {
		t.Errorf("the style has %q", outside)
	}
}

func TestPageHasAChartForEachKindOfFigure(t *testing.T) {
	text := pageOf(t, sample())
	for _, want := range []string{
		"Bytes a row on PostgreSQL", "Bytes a row on SQLite", "Rows a second on PostgreSQL", "Write-ahead log, bytes a row on " +
			"PostgreSQL",
		"Rows a second as the table grows, on PostgreSQL", "Bytes written a row as the table grows, on PostgreSQL",
		"Leaves full, %, on PostgreSQL, snowflake", "Round trips on PostgreSQL", "Time on PostgreSQL, network delay " +
			"1ms", "Median time on PostgreSQL",
		"A row by its key, median on PostgreSQL", "Pages accessed for 1,000 rows with neighbouring keys on PostgreSQL",
	} {
		if !strings.Contains(text, "<figcaption>"+want) {
			t.Errorf("there is no chart %q", want)
		}
	}
	if strings.Contains(text, "<figcaption>Write-ahead log, bytes a row on SQLite") {
		t.Error("there is a chart of SQLite's log, of which there are no figures")
	}
	empty := pageOf(t, New(measure.Environment{}, nil, "auto"))
	if strings.Contains(empty, "<figure") || strings.Contains(empty, "<svg") {
		t.Error("an empty report has charts")
	}
}

func TestChartsAreReadableByMachines(t *testing.T) {
	text := pageOf(t, sample())
	ids, charts := map[string]bool{}, 0
	walk(t, text, func(n *html.Node) {
		if id := attribute(n, "id"); id != "" {
			if ids[id] {
				t.Errorf("the id %q is there twice", id)
			}
			ids[id] = true
		}
		if n.Data == "svg" {
			charts++
			if attribute(n, "role") != "img" || attribute(n, "aria-label") == "" || attribute(n, "aria-describedby") == "" {
				t.Errorf("a chart says nothing to those who can't see it: %v", n.Attr)
			}
		}
	})
	walk(t, text, func(n *html.Node) {
		for _, name := range []string{"aria-describedby", "aria-labelledby"} {
			if to := attribute(n, name); to != "" && !ids[to] {
				t.Errorf("%s names %q, which is not there", name, to)
			}
		}
		if to, ok := strings.CutPrefix(attribute(n, "href"), "#"); ok && !ids[to] {
			t.Errorf("a link goes to %q, which is not there", to)
		}
	})
	if charts < 10 {
		t.Errorf("there are %d charts", charts)
	}
}

// TestChartsHaveNoBadNumbers also draws impossible data: no rows, only zeros, ratios to zero.
func TestChartsHaveNoBadNumbers(t *testing.T) {
	none := measure.P("rows", 0)
	zero := []measure.Record{
		record("sqlite", "load", none, "auto", values{"rate": 0, "bytes_table": 0, "bytes_rows": 0, "log": 0}),
		record("sqlite", "load", none, "snowflake", values{"rate": 1, "bytes_table": 0, "bytes_rows": 0, "log": 0}),
		record("sqlite", "grow", nil, "auto", values{"rate@0": 0, "rate@10": 0}),
		record("sqlite", "grow", nil, "snowflake", values{"rate@0": 0, "rate@x": 3, "rate@NaN": 3}),
	}
	bad := regexp.MustCompile(`NaN|Inf|="-\d| d="[^M]`)
	for name, r := range map[string]Report{
		"sample": sample(), "zeros": New(measure.Environment{}, zero, "auto"),
		"no baseline": New(measure.Environment{}, zero, "uuidv4"),
	} {
		for _, s := range r.Sections() {
			for _, e := range s.Engines {
				for _, c := range e.Charts {
					if found := bad.FindString(c.SVG); found != "" {
						t.Errorf("%s: %q in the chart %s:\n%s", name, found, c.Title, c.SVG)
					}
					wellFormed(t, c.SVG)
				}
			}
		}
	}
}

func wellFormed(t *testing.T, text string) {
	t.Helper()
	for in := xml.NewDecoder(strings.NewReader(text)); ; {
		if _, err := in.Token(); errors.Is(err, io.EOF) {
			return
		} else if err != nil {
			t.Fatalf("%v in\n%s", err, text)
		}
	}
}

func TestHostileNamesAreText(t *testing.T) {
	const evil = `"><script>alert(1)</script>'&</desc></svg>`
	var records []measure.Record
	for _, kind := range []string{"auto", evil} {
		records = append(records,
			record(evil, evil, measure.P(evil, evil), kind,
				values{"rate": 1, "rate@1": 1, "rate@2": 2, "bytes_table": 3, "bytes_rows": 3, evil: 4}),
			record(evil, "arrival", measure.P("skew", evil), kind, values{"density": 50}),
			record(evil, "arrival", measure.P("lag", evil), kind, values{"density": 50}))
	}
	records = append(records, measure.Record{Engine: evil, Scenario: evil, Kind: evil, Note: evil})
	env := measure.Environment{
		Time: evil, Command: evil, Machine: []measure.Setting{{Name: evil, Value: evil}},
		Database: map[string][]measure.Setting{evil: {{Name: evil, Value: evil}}}, Notes: map[string][]string{evil: {evil}},
	}
	r := New(env, records, "auto")
	text := pageOf(t, r)
	scripts := 0
	walk(t, text, func(n *html.Node) {
		if n.Data == "script" {
			scripts++
		}
	})
	if scripts != 1 || strings.Contains(text, "<script>alert") {
		t.Errorf("a name became markup; there are %d scripts", scripts)
	}
	if markdown := written(t, func(w *strings.Builder) error { return r.WriteMarkdown(w) }); strings.Contains(markdown,
		"<script") {
		t.Error("a name became markup in Markdown")
	}
}

func TestPageHasItsData(t *testing.T) {
	walk(t, pageOf(t, sample()), func(n *html.Node) {
		if n.Data != "script" {
			return
		}
		var d data
		must(t, json.Unmarshal([]byte(n.FirstChild.Data), &d))
		if len(d.Groups) != len(sample().Groups) || d.Environment.Command == "" {
			t.Errorf("%d groups, command %q", len(d.Groups), d.Environment.Command)
		}
	})
}

func TestPictures(t *testing.T) {
	dir := t.TempDir()
	must(t, sample().WriteDocs(dir))
	for _, name := range []string{"bytes.svg", "rate.svg"} {
		text, err := os.ReadFile(filepath.Join(dir, name))
		must(t, err)
		wellFormed(t, string(text))
		for _, want := range []string{"PostgreSQL", "SQLite", "prefers-color-scheme:dark", `xmlns="http://www.w3.org/2000/svg"`} {
			if !strings.Contains(string(text), want) {
				t.Errorf("%s has no %q", name, want)
			}
		}
	}
	table, err := os.ReadFile(filepath.Join(dir, "table.md"))
	if err != nil || !strings.Contains(string(table), "| UUIDv4 | ") {
		t.Errorf("table.md: %v\n%s", err, table)
	}
	if err := New(measure.Environment{}, nil, "auto").WriteDocs(dir); err == nil {
		t.Error("a report without figures gave pictures")
	}
}
