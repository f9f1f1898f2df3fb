package report

import (
	"io"
	"strings"
	"unicode/utf8"
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
