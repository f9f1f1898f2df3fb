package report

import (
	_ "embed"
	"html/template"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/sqlflake/sqlflake/benchmarks/storage/internal/measure"
)

//go:embed page.html
var pageText string

//go:embed page.css
var pageStyle string

var page = template.Must(template.New("page").Funcs(template.FuncMap{
	"picture": func(c Chart) template.HTML { return template.HTML(c.SVG) }, // safe: svg escapes all texts
	"style":   func() template.CSS { return template.CSS(pageStyle + chartStyle) },
	"join":    func(sentences []string) string { return strings.Join(sentences, " ") },
	"engine":  engineTitle,
	"class":   func(v string) string { return strings.ReplaceAll(v, " ", "-") },
}).Parse(pageText))

// WriteHTML writes a page that needs no other file.
func (r Report) WriteHTML(w io.Writer) error {
	verdicts, unfinished := r.Verdicts(), ""
	if r.Unfinished > 0 {
		unfinished = runsLeft(r.Unfinished)
	}
	return page.Execute(w, map[string]any{
		"Env": r.Environment, "Baseline": kindTitle(r.Baseline), "Focus": capital(kindTitle(focus)), "Sections": r.Sections(),
		"Verdicts": verdicts, "Tally": tally(verdicts, r.Baseline), "Remarks": r.remarks(),
		"Databases": databases(r.Environment), "Data": r.data(),
		"Unfinished": unfinished,
	})
}

// database is the settings of a database.
type database struct {
	Name     string
	Settings []measure.Setting
}

func databases(env measure.Environment) []database {
	var all []database
	order := func(a, b string) int { return engineOrder(a) - engineOrder(b) }
	for _, name := range slices.SortedFunc(maps.Keys(env.Database), order) {
		all = append(all, database{engineTitle(name), env.Database[name]})
	}
	return all
}
