package report

import (
	_ "embed"
	"html"
	"html/template"
	"io"
	"regexp"
	"strings"
	texttemplate "text/template"

	"github.com/sqlflake/sqlflake/benchmarks/advise"
	"github.com/sqlflake/sqlflake/benchmarks/internal/document"
)

//go:embed results.tmpl
var documentText string

// WriteMarkdown writes what a team reads in five minutes.
func (r Report) WriteMarkdown(w io.Writer) error {
	document, err := texttemplate.New("results").Funcs(texttemplate.FuncMap{
		"md": document.Escape, "mdtable": document.Table, "title": r.title, "settings": settingText,
		"base":  func() string { return kindTitle(r.Baseline) },
		"lower": func(s string) string { return strings.ToLower(s[:1]) + s[1:] },
		"explain": func(engine string) string { // the first paragraph can stand alone
			first, _, _ := strings.Cut(advise.Explanation(engine), "\n\n")
			return first
		},
	}).Parse(documentText)
	if err != nil {
		return err
	}
	return document.Execute(w, r.content())
}

var (
	inlineCode = regexp.MustCompile("`([^`]*)`")
	inlineLink = regexp.MustCompile(`\[([^]]*)\]\(([^)]*)\)`)
	ruler      = regexp.MustCompile(`^[|:\- ]+$`)
)

// markup turns the advisor's Markdown, of paragraphs, tables, code and links, into HTML.
func markup(markdown string) template.HTML {
	if markdown == "" {
		return ""
	}
	var b strings.Builder
	for block := range strings.SplitSeq(strings.TrimSpace(markdown), "\n\n") {
		block = inlineCode.ReplaceAllString(html.EscapeString(block), "<code>$1</code>")
		block = inlineLink.ReplaceAllString(block, `<a href="$2">$1</a>`)
		if !strings.HasPrefix(block, "|") {
			b.WriteString("<p>" + block + "</p>\n")
			continue
		}
		b.WriteString("<table>\n")
		tag := "th"
		for line := range strings.Lines(block) {
			if line = strings.TrimSpace(line); !ruler.MatchString(line) {
				cells := strings.Split(strings.Trim(line, "| "), " | ")
				b.WriteString("<tr><" + tag + ">" + strings.Join(cells, "</"+tag+"><"+tag+">") + "</" + tag + "></tr>\n")
				tag = "td"
			}
		}
		b.WriteString("</table>\n")
	}
	return template.HTML(b.String()) //nolint:gosec // escaped above
}
