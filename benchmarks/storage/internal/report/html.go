package report

import (
	"cmp"
	_ "embed"
	"fmt"
	"html/template"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/sqlflake/sqlflake/benchmarks/advise"
	"github.com/sqlflake/sqlflake/benchmarks/internal/chart"
	"github.com/sqlflake/sqlflake/benchmarks/internal/document"
	"github.com/sqlflake/sqlflake/benchmarks/internal/measure"
)

//go:embed page.html
var pageText string

//go:embed page.css
var pageStyle string

//go:embed page.js
var pageScript string

// WriteHTML writes a page that needs no other file.
func (r Report) WriteHTML(w io.Writer) error {
	pictures := 0
	page, err := template.New("page").Funcs(template.FuncMap{
		"picture": func(c chart.Chart) template.HTML {
			pictures++
			return template.HTML(c.SVG("c" + strconv.Itoa(pictures))) //nolint:gosec // SVG escapes all texts
		},
		"style":   func() template.CSS { return template.CSS(chart.Colors + pageStyle + chart.Style) }, //nolint:gosec // a constant
		"script":  func() template.JS { return template.JS(pageScript) },                               //nolint:gosec // a constant
		"title":   r.title,
		"base":    func() string { return kindTitle(r.Baseline) },
		"count":   func(n int) string { return document.Number(float64(n), 0) },
		"heads":   func() []string { return titles(compared) },
		"explain": func(engine string) template.HTML { return markup(advise.Explanation(engine)) },
	}).Parse(pageText)
	if err != nil {
		return err
	}
	return page.Execute(w, r.content())
}

// content is what both the page and the document show.
func (r Report) content() map[string]any {
	warnings := slices.Clone(r.Environment.Notes[machine])
	if r.Unfinished > 0 {
		warnings = append(warnings,
			fmt.Sprintf("Unfinished: %d runs are not done. Run the same command to continue.", r.Unfinished))
	}
	return map[string]any{
		"Env": r.Environment, "Engines": r.engines(), "Warnings": warnings, "Answers": r.answers(),
		"Predictions": r.predictions(), "Assumptions": advise.GridAssumptions,
		"Compared": r.allCompared(), "Sections": r.sections(), "Chance": r.chance(), "Notes": r.Notes,
	}
}

func titles(kinds []string) []string {
	all := make([]string, len(kinds))
	for i, kind := range kinds {
		all[i] = kindTitle(kind)
	}
	return all
}

// prediction is what the advisor expects of a number of processes and of rows a statement, at several rates.
type prediction struct {
	Engine, Title string
	Cells         []advise.Cell
}

func (r Report) predictions() []prediction {
	var all []prediction
	for _, engine := range r.engines() {
		for _, c := range advise.Grid() {
			if c.Database != strings.TrimSuffix(engine, "18") {
				continue
			}
			title := caseText(measure.P("workers", c.Workers, "batch", c.Batch))
			i := slices.IndexFunc(all, func(p prediction) bool { return p.Engine == engine && p.Title == title })
			if i < 0 {
				i = len(all)
				all = append(all, prediction{Engine: engine, Title: title})
			}
			all[i].Cells = append(all[i].Cells, c)
		}
	}
	return all
}

// machine is the key of the notes on a busy machine.
const machine = "machine"

// chance tells how often the baseline, measured a second time, was called different from itself.
func (r Report) chance() string {
	called, tested := measure.ByChance(r.Groups)
	if tested == 0 {
		return ""
	}
	return fmt.Sprintf("Of %d comparisons of %s with itself, %d showed a difference.",
		tested, kindTitle(r.Baseline), called)
}

// firstKinds are those of the first screen.
var firstKinds = []string{"auto", "snowflake", "snowflake-workers", "uuidv7", "uuidv4"}

// answer is a column of the first screen.
type answer struct {
	Engine, Title, Case string
	Charts              []chart.Chart
	Sentences           []string
	Main                [][]string
}

// answers returns a column for each database. A second PostgreSQL is not a second database.
func (r Report) answers() []answer {
	var all []answer
	for _, engine := range r.engines() {
		g, ok := r.group(engine, "load", "")
		if !ok || engine == "postgres18" && len(all) > 0 {
			continue
		}
		a := answer{Engine: engine, Title: r.title(engine), Case: caseText(g.Params), Sentences: r.sentences("first", engine)}
		for _, metric := range []string{"bytes_table", "rate"} {
			title := map[string]string{"bytes_table": "Bytes a row, table with its key", "rate": "Rows a second"}[metric]
			if bars := r.bars(g, metric, firstKinds); len(bars) > 1 {
				a.Charts = append(a.Charts, chart.Bars(title, bars))
			}
		}
		a.Main = r.compareTable(engine).Cases().Text()
		all = append(all, a)
	}
	return all
}

// compareTable is what the keys cost on an engine.
type compareTable struct {
	Engine, Title, Baseline string
	Rows                    []comparison
}

func (r Report) compareTable(engine string) compareTable {
	return compareTable{engine, r.title(engine), kindTitle(r.Baseline), r.comparisons(engine)}
}

// Cases returns the rows of one and of several clients, one and many rows a statement.
func (c compareTable) Cases() compareTable {
	c.Rows = slices.DeleteFunc(slices.Clone(c.Rows), func(one comparison) bool { return one.Writers == "" })
	slices.SortStableFunc(c.Rows, func(a, b comparison) int {
		return cmp.Or(cmp.Compare(b.Writers, a.Writers), cmp.Compare(b.Rows, a.Rows))
	})
	return c
}

// Others returns the rows that Cases leaves out and in which a key is better or worse.
func (c compareTable) Others() compareTable {
	differs := func(one cell) bool {
		return one.Figure.Verdict == measure.Better || one.Figure.Verdict == measure.Worse
	}
	c.Rows = slices.DeleteFunc(slices.Clone(c.Rows), func(one comparison) bool {
		return one.Writers != "" || !slices.ContainsFunc(one.Cells, differs)
	})
	return c
}

// Lost returns the rows in which a snowflake is worse.
func (c compareTable) Lost() []comparison {
	return slices.DeleteFunc(slices.Clone(c.Rows), func(one comparison) bool {
		return one.Cells[0].Figure.Verdict != measure.Worse
	})
}

// Text returns the table as text; nil if there are no rows.
func (c compareTable) Text() [][]string {
	if len(c.Rows) == 0 {
		return nil
	}
	rows := [][]string{append([]string{c.Title, c.Baseline}, titles(compared)...)}
	for _, one := range c.Rows {
		row := []string{one.Title + ": " + one.What, one.Base}
		for _, cell := range one.Cells {
			row = append(row, strings.TrimSpace(cell.Ratio+" "+cell.Sign))
		}
		rows = append(rows, row)
	}
	return rows
}

func (r Report) allCompared() []compareTable {
	var all []compareTable
	for _, engine := range r.engines() {
		all = append(all, r.compareTable(engine))
	}
	return all
}

// section is a scenario on the page.
type section struct {
	ID, Title, Question string
	Blocks              []block
	Said                bool // there are sentences
}

// block is a scenario on one engine.
type block struct {
	Engine, Title, Case string
	Charts              []chart.Chart
	Sentences           []string
	Tables              []table
}

func (r Report) sections() []section {
	var all []section
	for _, name := range r.scenarios() {
		s := scenarioOf(name)
		one := section{ID: "s-" + name, Title: s.Title, Question: s.Question}
		for _, engine := range r.engines() {
			b := block{Engine: engine, Title: r.title(engine)}
			if groups := r.groups(engine, name); len(groups) > 0 {
				if largest, _ := r.group(engine, name, ""); largest.Params.Get("rows") != "" {
					b.Case = caseText(measure.P("rows", largest.Params.Get("rows")))
				}
				b.Charts, b.Sentences, b.Tables = r.pictures(groups), r.sentences(name, engine), r.tables(groups)
			}
			one.Blocks, one.Said = append(one.Blocks, b), one.Said || len(b.Sentences) > 0
		}
		all = append(all, one)
	}
	return all
}
