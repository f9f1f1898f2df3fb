package report

import (
	"fmt"
	"io"
	"slices"
	"text/tabwriter"
)

// textColumns is how many columns fit on a terminal. The others are in the files.
const textColumns = 5

// WriteText writes a table for each case.
func (r Report) WriteText(w io.Writer) error {
	last := ""
	for _, g := range r.Groups {
		if s := scenarioOf(g.Scenario); s.Name != last {
			last = s.Name
			fmt.Fprintf(w, "%s\n%s\n\n", s.Title, s.Question)
		}
		t := r.table(g)
		fmt.Fprintln(w, t.Title)
		columns := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
		put := func(label string, cell func(i int) string) {
			fmt.Fprint(columns, label)
			for i := range min(len(t.Heads), textColumns) {
				fmt.Fprint(columns, "\t", cell(i))
			}
			fmt.Fprintln(columns, "\t")
		}
		put("", func(i int) string { return t.Names[i] })
		for _, one := range t.Rows {
			put(one.Label, func(i int) string { return one.Cells[i].Text() })
		}
		if err := columns.Flush(); err != nil {
			return err
		}
		fmt.Fprintln(w)
	}
	for _, note := range append(slices.Clone(r.Environment.Notes[machine]), r.Notes...) {
		fmt.Fprintln(w, note)
	}
	_, err := fmt.Fprintf(w, "In brackets: the ratio to %s. %s %s\n", kindTitle(r.Baseline),
		"▼ worse, ▲ better, = no difference shown, ~ not certain, ? too few rounds.", r.chance())
	return err
}
