package report

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/sqlflake/sqlflake/benchmarks/storage/internal/measure"
)

// plainText escapes the special characters of Markdown and HTML.
var plainText = strings.NewReplacer("\\", "\\\\", "|", "\\|", "<", "&lt;", ">", "&gt;", "&", "&amp;",
	"*", "\\*", "_", "\\_", "`", "\\`", "~", "\\~", "[", "\\[", "]", "\\]",
	"\n", " ", "\r", " ")

// WriteMarkdown writes the report as one document: environment, tables and sentences.
func (r Report) WriteMarkdown(w io.Writer) error {
	var b strings.Builder
	line := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	line("# Primary keys compared\n")
	line("What auto-increment, snowflake and UUID keys cost a database in bytes and in time. Speeds are ratios to")
	line("%s of the same round; sizes of one client repeat for the same seed. The sentences are generated from the figures.\n",
		plainText.Replace(kindTitle(r.Baseline)))
	line("`x` is the ratio to %s, `=` a tie, `~` too noisy to quote, `?` few rounds.\n", plainText.Replace(r.Baseline))
	if r.Unfinished > 0 {
		line("**Unfinished:** %s\n", runsLeft(r.Unfinished))
	}
	if all := r.Verdicts(); len(all) > 0 {
		line("## %s against %s\n", capital(kindTitle(focus)), kindTitle(r.Baseline))
		line("%s\n", plainText.Replace(strings.Join(tally(all, r.Baseline), " ")))
		rows := [][]string{{"Scenario", "Database", "Case", "Speed", "Size"}}
		for _, v := range all {
			rows = append(rows, []string{v.Scenario, v.Engine, v.Case, v.Speed.text(), v.Size.text()})
		}
		writeTable(&b, rows, 0, 0)
	}
	for _, s := range r.Sections() {
		line("## %s\n", plainText.Replace(s.Title))
		line("%s\n", plainText.Replace(s.Question))
		for _, e := range s.Engines {
			for _, c := range e.Charts {
				line("**%s.** %s\n", plainText.Replace(c.Title), plainText.Replace(strings.Join(c.Text, " ")))
			}
		}
		for _, t := range r.tables(s.Title) {
			line("### %s\n", plainText.Replace(t.Title))
			writeTable(&b, t.cells(), 1, len(t.Heads)+1)
		}
	}
	line("## Environment\n")
	setting := func(name, value string) {
		if value != "" {
			line("* %s: %s", plainText.Replace(name), plainText.Replace(value))
		}
	}
	settings := func(list []measure.Setting) {
		for _, s := range list {
			setting(s.Name, s.Value)
		}
	}
	setting("begun", r.Environment.Time)
	setting("command", r.Environment.Command)
	settings(r.Environment.Settings)
	settings(r.Environment.Machine)
	for _, d := range databases(r.Environment) {
		line("\n### %s\n", plainText.Replace(d.Name))
		settings(d.Settings)
	}
	if remarks := r.remarks(); len(remarks) > 0 {
		line("\n### What could not be measured, and other notes\n")
		for _, remark := range remarks {
			line("* %s", plainText.Replace(remark))
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// text returns a form such as "rows/s 0.75x (0.71 to 0.79), loses".
func (o Outcome) text() string {
	if o.Word == "" {
		return ""
	}
	return o.Short + " " + o.Ratio + ", " + o.Word
}

// tables returns the tables of a scenario with the columns that answer its question.
func (r Report) tables(scenario string) []Table {
	var tables []Table
	for _, groups := range r.parts() {
		if scenarioOf(groups[0].Scenario).Title != scenario {
			continue
		}
		if disordered(groups) {
			all := grids(groups, "density")
			for _, kind := range slices.Sorted(maps.Keys(all)) {
				tables = append(tables, all[kind].table(gridTitle(groups[0].Engine, kind)))
			}
			continue
		}
		for _, g := range groups {
			tables = append(tables, r.table(g, columnsOf(g, r.Baseline)))
		}
	}
	return tables
}

func (t Table) cells() [][]string {
	rows := [][]string{append([]string{t.Corner}, t.Heads...)}
	for _, row := range t.Rows {
		line := []string{row.Kind}
		for _, c := range row.Cells {
			line = append(line, c.Text())
		}
		rows = append(rows, line)
	}
	return rows
}

// writeTable writes a Markdown table; the columns from right to end are aligned to the right.
func writeTable(b *strings.Builder, rows [][]string, right, end int) {
	for i, row := range rows {
		b.WriteString("|")
		for _, text := range row {
			b.WriteString(" " + plainText.Replace(text) + " |")
		}
		b.WriteString("\n")
		if i == 0 {
			b.WriteString("|")
			for column := range row {
				if column >= right && column < end {
					b.WriteString("--:|")
				} else {
					b.WriteString("---|")
				}
			}
			b.WriteString("\n")
		}
	}
	b.WriteString("\n")
}
