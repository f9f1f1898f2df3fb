package report

import (
	"io"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/sqlflake/sqlflake/benchmarks/storage/internal/measure"
)

// Style describes a terminal.
type Style struct {
	Width int  // columns; 0: defaultWidth
	Color bool // whether escape sequences are used
}

const defaultWidth = 120

// WriteText writes a table for each group, with its question above and remarks below.
func (r Report) WriteText(w io.Writer, style Style) error {
	if style.Width == 0 {
		style.Width = defaultWidth
	}
	t := terminal{style: style}
	last := ""
	for _, groups := range r.parts() {
		if s := scenarioOf(groups[0].Scenario); s.Name != last {
			last = s.Name
			t.line(t.paint(bold, s.Title))
			t.wrap(s.Question)
			t.line("")
		}
		if disordered(groups) {
			t.grids(groups)
			continue
		}
		for _, g := range groups {
			t.line(t.paint(bold, engineTitle(g.Engine)+", "+paramText(g.Params)))
			t.table(g, r.Baseline)
			for _, note := range notes(g, r.Baseline) {
				t.wrap(note)
			}
			t.line("")
		}
	}
	for _, note := range r.remarks() {
		t.wrap(note)
	}
	_, err := io.WriteString(w, t.b.String())
	return err
}

type terminal struct {
	b     strings.Builder
	style Style
}

const (
	bold  = "1"
	faint = "2"
	red   = "31"
	green = "32"
)

func (t *terminal) paint(code, text string) string {
	if !t.style.Color || text == "" {
		return text
	}
	return "\x1b[" + code + "m" + text + "\x1b[0m"
}

func (t *terminal) line(text string) { t.b.WriteString(strings.TrimRight(text, " ") + "\n") }

// wrap writes a text in lines that fit.
func (t *terminal) wrap(text string) {
	width := 0
	for word := range strings.FieldsSeq(text) {
		n := utf8.RuneCountInString(word)
		switch {
		case width == 0:
		case width+1+n > t.style.Width:
			t.b.WriteByte('\n')
			width = 0
		default:
			t.b.WriteByte(' ')
			width++
		}
		t.b.WriteString(word)
		width += n
	}
	t.b.WriteByte('\n')
}

func colorOf(c cell) string {
	switch {
	case c.Good:
		return green
	case c.Bad:
		return red
	}
	return faint
}

// invisible returns the length of the escape sequences around a ratio.
func invisible(t *terminal, c cell) int {
	return len(t.paint(colorOf(c), c.Ratio)) - len(c.Ratio)
}

func pad(text string, width int) string {
	return text + strings.Repeat(" ", max(width-utf8.RuneCountInString(text), 0))
}

func left(text string, width int) string {
	return strings.Repeat(" ", max(width-utf8.RuneCountInString(text), 0)) + text
}

// column is a formatted column: a value and a ratio with its mark for each kind.
type column struct {
	head          []string
	cells         []cell
	value, ratio  int // widths
	headings, gap int
}

func (c column) width() int { return c.gap + max(c.value+c.ratio, c.headings) }

func columnOf(g measure.Group, m measure.Metric, baseline string) column {
	c := column{head: strings.Split(heading(m), "\n"), gap: 2}
	for _, line := range c.head {
		c.headings = max(c.headings, utf8.RuneCountInString(line))
	}
	for _, kind := range g.Kinds {
		var one cell
		if f, ok := g.Figure(kind, m.Name); ok {
			one = cellOf(f, baseline)
		} else {
			one.Value = "-"
		}
		c.cells = append(c.cells, one)
		c.value = max(c.value, utf8.RuneCountInString(one.Value))
		if one.Ratio != "" {
			c.ratio = max(c.ratio, 1+utf8.RuneCountInString(one.Ratio)+1)
		}
	}
	return c
}

// table writes as many columns as fit.
func (t *terminal) table(g measure.Group, baseline string) {
	label := utf8.RuneCountInString("key")
	for _, kind := range g.Kinds {
		label = max(label, utf8.RuneCountInString(kind))
	}
	shown := t.fitting(g, baseline, 2+label)
	for line := range 2 {
		name := "key"
		if line == 1 {
			name = ""
		}
		var text strings.Builder
		text.WriteString("  " + pad(name, label))
		for _, c := range shown {
			head := ""
			if line < len(c.head) {
				head = c.head[line]
			}
			right := c.width() - c.ratio // above the value
			if missing := utf8.RuneCountInString(head) + c.gap - right; missing > 0 {
				right += missing
			}
			text.WriteString(left(head, right) + strings.Repeat(" ", c.width()-right))
		}
		t.line(t.paint(faint, strings.TrimRight(text.String(), " ")))
	}
	for i, kind := range g.Kinds {
		var text strings.Builder
		text.WriteString("  " + pad(kind, label))
		for _, c := range shown {
			one := c.cells[i]
			text.WriteString(left(one.Value, c.width()-c.ratio))
			if c.ratio > 0 {
				text.WriteString(left(t.paint(colorOf(one), one.Ratio), c.ratio-1+invisible(t, one)) + pad(string(one.Mark), 1))
			}
		}
		t.line(text.String())
	}
}

// fitting returns as many columns as fit beside a label.
func (t *terminal) fitting(g measure.Group, baseline string, label int) []column {
	for most := mostColumns; ; most-- {
		var columns []column
		width := label
		for _, m := range someColumns(g, baseline, most) {
			c := columnOf(g, m, baseline)
			columns = append(columns, c)
			width += c.width()
		}
		if width <= t.style.Width || most <= 1 {
			return columns
		}
	}
}

// grids writes cases of disorder: a line each, with the kinds or the fill factors as columns.
func (t *terminal) grids(groups []measure.Group) {
	all := grids(groups, "density")
	for _, kind := range slices.Sorted(maps.Keys(all)) {
		table := all[kind].table(gridTitle(groups[0].Engine, kind))
		t.line(t.paint(bold, table.Title))
		label := 0
		for _, row := range table.Rows {
			label = max(label, utf8.RuneCountInString(row.Kind))
		}
		var text strings.Builder
		text.WriteString("  " + pad("", label))
		for _, head := range table.Heads {
			text.WriteString("  " + head)
		}
		t.line(t.paint(faint, text.String()))
		for _, row := range table.Rows {
			text.Reset()
			text.WriteString("  " + pad(row.Kind, label))
			for i, c := range row.Cells {
				text.WriteString("  " + left(c.Value, utf8.RuneCountInString(table.Heads[i])))
			}
			t.line(text.String())
		}
		t.line("")
	}
}
