package report

import (
	"fmt"
	"math"
	"regexp"
	"strings"
	"testing"

	"golang.org/x/net/html"

	"github.com/sqlflake/sqlflake/benchmarks/internal/chart"
	"github.com/sqlflake/sqlflake/benchmarks/internal/measure"
)

func elements(t *testing.T, page string, f func(*html.Node)) {
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

func textOf(n *html.Node) string {
	var b strings.Builder
	for child := range n.Descendants() {
		if child.Type == html.TextNode {
			b.WriteString(child.Data)
		}
	}
	return b.String()
}

func TestPageNeedsNoOtherFile(t *testing.T) {
	page := written(t, sample(6).WriteHTML)
	elements(t, page, func(n *html.Node) {
		switch n.Data {
		case "link", "img", "iframe", "object", "embed", "base", "image", "use", "video", "audio":
			t.Errorf("there is <%s>", n.Data)
		}
		for _, a := range n.Attr {
			if refers := a.Key == "src" || a.Key == "srcset" || strings.HasSuffix(a.Key, ":href"); refers {
				t.Errorf("<%s> has %s=%q", n.Data, a.Key, a.Val)
			}
		}
	})
	if found := regexp.MustCompile(`(?i)@import|url\(|fetch\(|import\(`).FindString(page); found != "" {
		t.Errorf("the page has %q", found)
	}
}

func TestPicturesAndCellsDoNotNeedEyes(t *testing.T) {
	ids, named := map[string]bool{}, []string{}
	pictures, cells := 0, 0
	elements(t, written(t, sample(6).WriteHTML), func(n *html.Node) {
		if id := attribute(n, "id"); id != "" {
			if ids[id] {
				t.Errorf("the id %s is there twice", id)
			}
			ids[id] = true
		}
		named = append(named, strings.Fields(attribute(n, "aria-labelledby"))...)
		if to, ok := strings.CutPrefix(attribute(n, "href"), "#"); ok {
			named = append(named, to)
		}
		if n.Data == "svg" {
			pictures++
			title, desc := n.FirstChild, n.FirstChild.NextSibling
			if attribute(n, "role") != "img" || title.Data != "title" || textOf(title) == "" || textOf(desc) == "" {
				t.Errorf("a picture has no text: %v", n.Attr)
			}
		}
		if class, _, _ := strings.Cut(attribute(n, "class"), " "); n.Data == "td" && class != "" {
			for _, verdict := range []string{"better ▲ better", "worse ▼ worse", "same = no difference", "few ? too few"} {
				name, text, _ := strings.Cut(verdict, " ")
				sign, word, _ := strings.Cut(text, " ")
				if class == name {
					cells++
					if all := textOf(n); !strings.Contains(all, sign) || !strings.Contains(all, word) {
						t.Errorf("a cell that is %s has the text %q", class, all)
					}
				}
			}
		}
	})
	for _, name := range named {
		if !ids[name] {
			t.Errorf("%q is named and not there", name)
		}
	}
	if pictures < 8 || cells < 20 {
		t.Errorf("%d pictures, %d cells with a verdict", pictures, cells)
	}
}

// TestFirstScreenAnswers requires a picture and sentences for each database before anything else.
func TestFirstScreenAnswers(t *testing.T) {
	all := sample(6).answers()
	if len(all) != 2 || all[0].Title != "PostgreSQL" || all[1].Title != "MariaDB" {
		t.Fatalf("%+v", all)
	}
	for _, a := range all {
		if len(a.Charts) != 2 || len(a.Sentences) < 2 || len(a.Sentences) > 3 {
			t.Errorf("%s: %d charts, sentences %q", a.Title, len(a.Charts), a.Sentences)
		}
	}
	if text := all[1].Charts[0].Text; !strings.Contains(text, "several") || !strings.Contains(text, "1.77×") {
		t.Errorf("several processes on MariaDB are missing: %s", text)
	}
}

func TestWorstComesFirst(t *testing.T) {
	rows := sample(6).comparisons("postgres")
	if first := rows[0]; first.Scenario != "clients" || first.Cells[0].Ratio != "1.32×" || first.Cells[0].Sign != "▼" {
		t.Errorf("the first row is %+v", first)
	}
	if last := rows[len(rows)-1]; last.Cells[0].Word != "better" {
		t.Errorf("the last row is %+v", last)
	}
}

func TestHostileNamesAreText(t *testing.T) {
	const evil = `"><script>alert(1)</script>'&</desc></svg>`
	records := runs(evil, evil, measure.P(evil, evil), evil, 6, values{"rate": 1, evil: 2}, values{"rate": 2, evil: 4})
	records = append(records, measure.Record{Engine: evil, Scenario: evil, Kind: evil, Round: 1, Note: evil})
	r := New(measure.Environment{
		Time: evil, Command: evil, Machine: []measure.Setting{{Name: evil, Value: evil}},
		Database: map[string][]measure.Setting{evil: {{Name: evil, Value: evil}}}, Notes: map[string][]string{evil: {evil}},
	}, records, "auto")
	scripts := 0
	elements(t, written(t, r.WriteHTML), func(n *html.Node) {
		if n.Data == "script" {
			scripts++
		}
	})
	if scripts != 1 {
		t.Errorf("there are %d scripts", scripts)
	}
	document := strings.ReplaceAll(written(t, r.WriteMarkdown), "`"+evil+"`", "") // code is text
	if strings.Contains(document, "<script") {
		t.Error("a name became markup in Markdown")
	}
}

// TestTextCanBeRead requires contrasts of 4.5 to 1 for text and 3 to 1 for shapes, as WCAG 2.2 does at level AA.
func TestTextCanBeRead(t *testing.T) {
	variable := regexp.MustCompile(`--(\w+):(#\w+)`)
	luminance := func(color string) float64 {
		hex := strings.TrimPrefix(color, "#")
		if len(hex) == 3 {
			hex = string([]byte{hex[0], hex[0], hex[1], hex[1], hex[2], hex[2]})
		}
		var rgb [3]int
		_, err := fmt.Sscanf(hex, "%02x%02x%02x", &rgb[0], &rgb[1], &rgb[2])
		must(t, err)
		sum := 0.0
		for i, share := range []float64{0.2126, 0.7152, 0.0722} {
			v := float64(rgb[i]) / 255
			if v <= 0.03928 {
				v /= 12.92
			} else {
				v = math.Pow((v+0.055)/1.055, 2.4)
			}
			sum += share * v
		}
		return sum
	}
	themes := strings.Split(chart.Colors, ":root{")[1:]
	if len(themes) != 3 {
		t.Fatalf("%d themes, want light, dark and print", len(themes))
	}
	for _, block := range themes {
		theme := map[string]string{}
		block, _, _ = strings.Cut(block, "}")
		for _, m := range variable.FindAllStringSubmatch(block, -1) {
			theme[m[1]] = m[2]
		}
		check := func(front, back string, least float64) {
			a, b := luminance(theme[front]), luminance(theme[back])
			if ratio := (max(a, b) + 0.05) / (min(a, b) + 0.05); ratio < least {
				t.Errorf("%s %s on %s %s: %.1f to 1, want %v", front, theme[front], back, theme[back], ratio, least)
			}
		}
		for _, back := range []string{"back", "card", "worse", "worse2", "better", "better2", "same", "few"} {
			check("ink", back, 4.5)
		}
		for _, front := range []string{"soft", "link", "auto", "snow", "v7", "v4"} {
			check(front, "back", 4.5)
			check(front, "card", 4.5)
		}
		check("text", "back", 3)
	}
}

// TestCasesAreNotMixed requires speeds with verdicts, although a larger case was measured once, and titles that tell the two
// apart. The sizes are those of the first metric that the baseline has.
func TestCasesAreNotMixed(t *testing.T) {
	small, large := measure.P("rows", 50_000), measure.P("rows", 200_000)
	records := runs("sqlite", "read", small, "snowflake", 6, values{"join": 10}, values{"join": 20})
	records = append(records, runs("sqlite", "read", large, "snowflake", 1, values{"join": 10}, values{"join": 11})...)
	records = append(records, runs("sqlite", "load", measure.P("rows", 9, "batch", 9), "uuidv4", 6,
		values{"bytes_table": 40}, values{"bytes_table": 80, "bytes_primary": 20})...)
	found := map[string]string{}
	for _, one := range New(measure.Environment{}, records, "auto").comparisons("sqlite") {
		found[one.What] = one.Cells[0].Text() + one.Cells[3].Text()
	}
	for what, want := range map[string]string{
		"Join of all children with their parents; 50,000 rows": "(2.00× ▼)", "Table with all indexes, bytes a row; 9 a statement": "(2.00× ▼)",
	} {
		if !strings.Contains(found[what], want) {
			t.Errorf("%s: %q, want %s; there are %q", what, found[what], want, found)
		}
	}
}

func TestOtherBaselineIsNamed(t *testing.T) {
	records := runs("postgres", "load", measure.P("rows", 9, "batch", 9), "uuidv4", 6, values{"rate": 9}, values{"rate": 5})
	for i := range records {
		records[i].Kind = strings.Replace(records[i].Kind, "auto", "snowflake", 1)
	}
	r := New(measure.Environment{}, records, "snowflake")
	text := written(t, r.WriteMarkdown)
	if !strings.Contains(text, "| PostgreSQL | snowflake | snowflake |") || strings.Contains(text, "to auto-increment") {
		t.Errorf("the baseline is not named:\n%s", text)
	}
}
