package report

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"
)

// Style describes a terminal.
type Style struct {
	Width int  // columns; 0: 120
	Color bool // whether escape sequences are used
}

// colors are the escape sequences of verdicts.
var colors = map[string]string{"worse": "31", "better": "32", "same": "2", "few": "2"}

// WriteText writes a table for each case, with as many columns as fit.
func (r Report) WriteText(w io.Writer, style Style) error {
	if style.Width == 0 {
		style.Width = 120
	}
	var b strings.Builder
	last := ""
	for _, g := range r.Groups {
		if s := scenarioOf(g.Scenario); s.Name != last {
			last = s.Name
			fmt.Fprintf(&b, "%s\n%s\n\n", s.Title, s.Question)
		}
		t := r.table(g)
		fmt.Fprintf(&b, "%s\n", t.Title)
		writeAligned(&b, t, style)
		b.WriteByte('\n')
	}
	fmt.Fprintf(&b, "In brackets: the ratio to %s. ▼ worse, ▲ better, = no difference shown, ? too few rounds.\n", kindTitle(r.Baseline))
	for _, note := range append(slices.Clone(r.Environment.Notes[machine]), r.Notes...) {
		fmt.Fprintf(&b, "%s\n", note)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func writeAligned(b *strings.Builder, t table, style Style) {
	size := utf8.RuneCountInString
	label, used := 0, 0
	for _, one := range t.Rows {
		label = max(label, size(one.Label))
	}
	used = 2 + label
	widths := make([]int, len(t.Heads))
	for i, head := range t.Heads {
		widths[i] = size(head)
		for _, one := range t.Rows {
			widths[i] = max(widths[i], size(one.Cells[i].Text()))
		}
		if used += 2 + widths[i]; used > style.Width && i > 0 { // the others are in the files
			widths = widths[:i]
			break
		}
	}
	put := func(first string, cell func(i int) (text, color string)) {
		line := "  " + first + strings.Repeat(" ", label-size(first))
		for i, width := range widths {
			text, color := cell(i)
			line += strings.Repeat(" ", 2+width-size(text))
			if style.Color && color != "" {
				text = "\x1b[" + color + "m" + text + "\x1b[0m"
			}
			line += text
		}
		b.WriteString(line + "\n")
	}
	put("", func(i int) (string, string) { return t.Heads[i], "2" })
	for _, one := range t.Rows {
		put(one.Label, func(i int) (string, string) {
			class, _, _ := strings.Cut(one.Cells[i].Class, " ")
			return one.Cells[i].Text(), colors[class]
		})
	}
}
