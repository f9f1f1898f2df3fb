package report

import (
	"fmt"
	"io"
	"strings"

	"github.com/sqlflake/sqlflake/benchmarks/internal/document"
)

// advice is the answer without figures.
const advice = `# Which primary key?

**Take a snowflake** if a program needs keys before the insert, if several services or databases make them, or if the
number of rows must stay secret. **Else take auto-increment**: one database makes all keys, none is needed before its
insert, and the number of rows may be public. **Take UUIDv7** if keys are made without coordination: no worker number
and no lease. **Take UUIDv4** if a key must reveal nothing, not even its time, or show tokens of ` + "`sqltypes/publicid`" + `
in place of the keys.

**If several processes insert into MariaDB or MySQL, give snowflakes the layout ` + "`snowflake.Clustered()`**" + `.
`

// writeMarkdown writes the results as a Markdown page, which may show the picture beside it.
func (r Report) writeMarkdown(w io.Writer, picture bool) error {
	var b strings.Builder
	b.WriteString(advice)
	if picture {
		fmt.Fprintf(&b, "\n![%s](%s)\n", pictureTitle, pictureName)
	}
	fmt.Fprintf(&b, "\nA row without a title belongs to the one above. Ratios are to %s: %s. %s\n", kindTitle(r.Baseline), signs, r.chance())
	for _, engine := range r.engines() {
		rows := r.comparisons(engine)
		if len(rows) == 0 {
			continue
		}
		fmt.Fprintf(&b, "\n## %s\n\n", document.Escape(r.title(engine)))
		if text := r.sentence(engine); text != "" {
			fmt.Fprintf(&b, "%s\n\n", text)
		}
		table := [][]string{append([]string{"", kindTitle(r.Baseline)}, titles(r.compared(engine))...)}
		title, metric := "", "" // of the row above
		for _, one := range rows {
			name := one.metric + "; " + one.params
			switch {
			case one.title != title:
				name = one.title + ": " + name
			case one.metric == metric:
				name = one.params
			}
			title, metric = one.title, one.metric
			row := []string{name, one.base}
			for _, c := range one.cells {
				row = append(row, c.compared())
			}
			table = append(table, row)
		}
		b.WriteString(document.Table(table))
	}
	fmt.Fprintf(&b, "\n## Where the figures come from\n\n* Commands, in `benchmarks/`: %s\n* Begun %s; machine: %s\n",
		code(r.Environment.Command), document.Escape(r.Environment.Time), code(settingText(r.Environment.Machine)))
	for _, engine := range r.engines() {
		fmt.Fprintf(&b, "* %s: %s\n", document.Escape(r.title(engine)), code(settingText(r.Environment.Database[engine])))
	}
	for _, note := range r.Notes {
		fmt.Fprintf(&b, "* %s\n", document.Escape(note))
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// code marks text as code, in which nothing needs to be escaped.
func code(text string) string { return "`" + strings.ReplaceAll(text, "`", "'") + "`" }
