package report

import (
	_ "embed"
	"fmt"
	"html/template"
	"io"
	"strconv"

	"github.com/sqlflake/sqlflake/benchmarks/internal/chart"
)

//go:embed page.html
var pageText string

//go:embed page.css
var pageStyle string

//go:embed page.js
var pageScript string

// answer is a database on the first screen: one sentence and one picture.
type answer struct {
	Engine, Title, Sentence, Case string
	Picture                       chart.Chart
}

// section is a scenario on the page.
type section struct {
	ID, Title, Question string
	Blocks              []block
}

// block is a scenario on one engine.
type block struct {
	Engine, Title string
	Charts        []chart.Chart
	Tables        []table
}

// WriteHTML writes a page that needs no other file.
func (r Report) WriteHTML(w io.Writer) error {
	pictures := 0
	page, err := template.New("page").Funcs(template.FuncMap{
		"picture": func(c chart.Chart) template.HTML {
			pictures++
			return template.HTML(c.SVG("c" + strconv.Itoa(pictures))) //nolint:gosec // SVG escapes all texts
		},
		"style":  func() template.CSS { return template.CSS(chart.Colors + pageStyle + chart.Style) }, //nolint:gosec // a constant
		"script": func() template.JS { return template.JS(pageScript) },                               //nolint:gosec // a constant
		"title":  r.title,
		"base":   func() string { return kindTitle(r.Baseline) },
		"heads":  func(engine string) []string { return titles(r.compared(engine)) },
		"signs":  func() string { return signs },
		"rows":   r.comparisons, "cases": cases,
	}).Parse(pageText)
	if err != nil {
		return err
	}
	unfinished := ""
	if r.Unfinished > 0 {
		unfinished = fmt.Sprintf("%d runs are not done. Run the same command to continue.", r.Unfinished)
	}
	return page.Execute(w, map[string]any{
		"Env": r.Environment, "Engines": r.engines(), "Unfinished": unfinished, "Answers": r.answers(),
		"Sections": r.sections(), "Chance": r.chance(), "Notes": r.Notes,
	})
}

func (r Report) answers() []answer {
	var all []answer
	for _, engine := range r.engines() {
		groups := r.first(engine)
		if len(groups) == 0 || engine == "postgres18" && len(all) > 0 {
			continue // it is like the other PostgreSQL
		}
		all = append(all, answer{
			engine, r.title(engine), r.sentence(engine), caseText(groups[0].Params),
			r.bars("Bytes a row, table with its key", "bytes_table", firstKinds, groups...),
		})
	}
	return all
}

func (r Report) sections() []section {
	var all []section
	for _, name := range r.scenarios() {
		s := scenarioOf(name)
		one := section{ID: "s-" + name, Title: s.Title, Question: s.Question}
		for _, engine := range r.engines() {
			b := block{Engine: engine, Title: r.title(engine)}
			for _, g := range r.groups(engine, name) {
				if curves, ok := r.curves(g, "rate"); ok {
					b.Charts = append(b.Charts, curves)
				} else if name == "graph" {
					b.Charts = append(b.Charts, r.bars("Time, "+caseText(g.Params, "graphs"), "time", g.Kinds, g))
				}
				b.Tables = append(b.Tables, r.table(g))
			}
			if len(b.Tables) > 0 {
				one.Blocks = append(one.Blocks, b)
			}
		}
		all = append(all, one)
	}
	return all
}
