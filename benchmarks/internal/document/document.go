// Package document formats figures and writes the files of reports.
package document

import (
	"fmt"
	"strconv"
	"strings"
	"text/tabwriter"
)

// Number formats a value that is not negative, with commas between thousands.
func Number(value float64, digits int) string {
	text := strconv.FormatFloat(value, 'f', digits, 64)
	point := strings.IndexByte(text+".", '.')
	for i := point - 3; i > 0; i -= 3 {
		text = text[:i] + "," + text[i:]
	}

	return text
}

// Factor formats a ratio with about three digits.
func Factor(ratio float64) string {
	digits := 3
	for _, limit := range []float64{0.0995, 9.95, 99.5} {
		if ratio >= limit {
			digits--
		}
	}
	return Number(ratio, digits)
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

// Text returns a table with aligned columns, for a terminal.
func Text(rows [][]string) string {
	var b strings.Builder
	columns := tabwriter.NewWriter(&b, 0, 0, 2, ' ', tabwriter.AlignRight)
	for _, row := range rows {
		fmt.Fprintln(columns, strings.Join(row, "\t")+"\t")
	}
	_ = columns.Flush() // into b
	return b.String()
}
