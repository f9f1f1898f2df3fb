package document

import "strings"

// escapes are those of the special characters of Markdown and HTML.
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
