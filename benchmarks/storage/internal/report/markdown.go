package report

import (
	"fmt"
	"io"
	"slices"
	"strings"
)

// plain escapes the special characters of Markdown and HTML.
var plain = strings.NewReplacer("\\", "\\\\", "|", "\\|", "<", "&lt;", ">", "&gt;", "&", "&amp;", "*", "\\*", "_", "\\_",
	"`", "\\`", "~", "\\~", "[", "\\[", "]", "\\]", "\n", " ", "\r", " ")

// mainMetrics are those of a database's table: what a team decides by.
var mainMetrics = []struct{ from, metric, title string }{
	{"load", "bytes_primary", "Key index, B a row"}, {"load", "bytes_table", "Table, B a row"}, {"load", "rate", "Rows/s"},
	{"clients", "bytes_primary", "Several clients: key index"}, {"clients", "bytes_table", "Several clients: table"},
	{"clients", "rate", "Several clients: rows/s"}, {"children", "bytes_secondary", "Foreign key's index"},
	{"read", "join", "Join"}, {"retention", "vacuum", "Vacuum after deleting"},
}

// WriteMarkdown writes what a team reads in five minutes.
func (r Report) WriteMarkdown(w io.Writer) error {
	var b strings.Builder
	put := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	put("# Which primary key?\n")
	put("**Take a snowflake** if a program needs keys before the insert, if several services or databases make them, or if")
	put("nobody may count the rows. **Else take auto-increment**: if one database makes all keys, none is needed before its")
	put("insert, and the count may be public. **Take UUIDv7** if keys are made without any coordination: no worker number, no")
	put("lease. **Take UUIDv4** if a key must reveal nothing, or show tokens of `sqltypes/publicid` in place of the keys.\n")
	put("Ratios are to %s: ▼ worse, ▲ better, = no difference shown, ? too few rounds. UUIDv4's size depends on the number of", plain.Replace(kindTitle(r.Baseline)))
	put("rows: its pages split at random and fill again. %s\n", r.chance())
	for _, warning := range append(slices.Clone(r.Environment.Notes[machine]), r.unfinished()...) {
		put("**%s**\n", plain.Replace(warning))
	}
	for _, engine := range r.engines() {
		put("## %s\n", plain.Replace(r.title(engine)))
		for _, text := range r.sentences("first", engine) {
			put("* %s", plain.Replace(text))
		}
		put("")
		writeTable(&b, r.mainTable(engine))
		put("Rows: %s.\n", plain.Replace(r.mainCase(engine)))
	}
	put("## All questions at a glance\n")
	put("What a snowflake does worst comes first; each line is a case of the [raw data](%s).\n", rawData)
	for _, engine := range r.engines() {
		rows := [][]string{{plain.Replace(r.title(engine)), "auto-increment"}}
		for _, kind := range compared {
			rows[0] = append(rows[0], kindTitle(kind))
		}
		for _, c := range r.comparisons(engine) {
			row := []string{c.Title + ": " + strings.ToLower(c.What[:1]) + c.What[1:], c.Base}
			for _, one := range c.Cells {
				row = append(row, strings.TrimSpace(one.Ratio+" "+one.Sign))
			}
			rows = append(rows, row)
		}
		writeTable(&b, rows)
	}
	put("## Where snowflakes lose\n")
	for _, engine := range r.engines() {
		for _, c := range r.comparisons(engine) {
			if c.Cells[0].Word == "worse" {
				put("* %s, %s: %s, %s.", plain.Replace(r.title(engine)), strings.ToLower(c.Title), plain.Replace(strings.ToLower(c.What[:1])+c.What[1:]),
					c.Cells[0].Ratio)
			}
		}
	}
	for _, name := range r.scenarios() {
		said := []string{}
		for _, engine := range r.engines() {
			if list := r.sentences(name, engine); len(list) > 0 {
				said = append(said, fmt.Sprintf("* %s: %s", r.title(engine), plain.Replace(strings.Join(list, " "))))
			}
		}
		if len(said) > 0 {
			put("\n## %s\n\n%s\n\n%s", scenarioOf(name).Title, scenarioOf(name).Question, strings.Join(said, "\n"))
		}
	}
	put("\n## Where the figures come from\n")
	put("* Command, in `benchmarks/`: `%s`", r.Environment.Command)
	put("* Begun %s; %s", r.Environment.Time, plain.Replace(settingText(r.Environment.Machine)))
	for _, engine := range r.engines() {
		put("* %s: %s", plain.Replace(r.title(engine)), plain.Replace(settingText(r.Environment.Database[engine])))
	}
	put("* All runs, in the format of Go's benchmarks: [%s](%s)", rawData, rawData)
	if len(r.Notes) > 0 {
		put("\n### What could not be measured, and remarks\n")
		for _, note := range r.Notes {
			put("* %s", plain.Replace(note))
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// rawData is the folder of the runs, beside RESULTS.md in the repository.
const rawData = "results"

func (r Report) unfinished() []string {
	if r.Unfinished == 0 {
		return nil
	}
	return []string{fmt.Sprintf("Unfinished: %d runs are not done. Run the same command to continue.", r.Unfinished)}
}

// mainCase names the cases of the main table.
func (r Report) mainCase(engine string) string {
	var parts []string
	for _, name := range []string{"load", "clients", "children", "read", "retention"} {
		if g, ok := r.group(engine, name, ""); ok {
			parts = append(parts, name+" "+caseText(g.Params))
		}
	}
	return strings.Join(parts, "; ")
}

// mainTable has a row for each key and the main metrics.
func (r Report) mainTable(engine string) [][]string {
	rows := [][]string{{"Key"}}
	for _, kind := range append([]string{"auto"}, compared...) {
		rows = append(rows, []string{kindTitle(kind)})
	}
	for _, m := range mainMetrics {
		g, ok := r.group(engine, m.from, "")
		if !ok {
			continue
		}
		if _, ok := g.Figure(r.Baseline, m.metric); !ok {
			continue
		}
		rows[0] = append(rows[0], m.title)
		for i, kind := range append([]string{"auto"}, compared...) {
			c, _ := r.cell(g, kind, m.metric)
			rows[i+1] = append(rows[i+1], c.Text())
		}
	}
	return rows
}

// writeTable writes a Markdown table; all columns but the first are aligned to the right.
func writeTable(b *strings.Builder, rows [][]string) {
	for i, row := range rows {
		b.WriteString("|")
		for _, text := range row {
			b.WriteString(" " + plain.Replace(text) + " |")
		}
		b.WriteString("\n")
		if i == 0 {
			b.WriteString("|---|" + strings.Repeat("--:|", len(row)-1) + "\n")
		}
	}
	b.WriteString("\n")
}
