// Package document formats figures and writes the files of reports.
package document

import (
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
	"text/tabwriter"
)

// Number formats a value that is not negative, with commas between thousands.
func Number(value float64, digits int) string {
	if math.IsNaN(value) || math.IsInf(value, 0) {
		return "–"
	}

	text := strconv.FormatFloat(value, 'f', digits, 64)
	point := strings.IndexByte(text+".", '.')
	for i := point - 3; i > 0; i -= 3 {
		text = text[:i] + "," + text[i:]
	}

	return text
}

// Factor formats a ratio with about three digits.
func Factor(ratio float64) string {
	switch {
	case math.IsNaN(ratio) || math.IsInf(ratio, 0):
		return "–"
	case ratio >= 99.5:
		return Number(ratio, 0)
	case ratio >= 9.95:
		return Number(ratio, 1)
	case ratio > 0 && ratio < 0.0995:
		return Number(ratio, 3)
	}

	return Number(ratio, 2)
}

// escapes replaces the special characters of Markdown and HTML.
var escapes = strings.NewReplacer("\\", "\\\\", "|", "\\|", "<", "&lt;", ">", "&gt;", "&", "&amp;", "*", "\\*",
	"`", "\\`", "[", "\\[", "]", "\\]", "\n", " ", "\r", " ")

// Escape escapes the special characters of Markdown and HTML.
func Escape(text string) string { return escapes.Replace(text) }

// Table returns a Markdown table; all columns but the first are aligned to the right.
func Table(rows [][]string) string {
	var b strings.Builder
	for i, row := range rows {
		for _, cell := range row {
			b.WriteString("| " + Escape(cell) + " ")
		}
		b.WriteString("|\n")
		if i == 0 {
			b.WriteString("|---|" + strings.Repeat("--:|", len(row)-1) + "\n")
		}
	}

	return b.String()
}

// WriteText writes a table with aligned columns, for a terminal.
func WriteText(w io.Writer, rows [][]string) error {
	columns := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	for _, row := range rows {
		fmt.Fprintln(columns, strings.Join(row, "\t")+"\t")
	}
	return columns.Flush()
}
