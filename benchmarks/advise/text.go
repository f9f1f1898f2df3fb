package advise

import (
	"fmt"
	"io"
	"strings"
)

// titles are the names of databases in text.
var titles = map[string]string{
	"postgres": "PostgreSQL", "mariadb": "MariaDB", "mysql": "MySQL", "sqlite": "SQLite",
	"cockroachdb": "CockroachDB", "tidb": "TiDB", "spanner": "Spanner", "yugabytedb": "YugabyteDB",
}

// WriteText writes the answer as text.
func (a Answer) WriteText(w io.Writer) error {
	var b strings.Builder
	fmt.Fprintf(&b, "%s, %s keys: %s at %.0f rows/s", titles[a.Database], a.Key, count(float64(a.Workers), "worker"), a.Rate)
	if a.SkewRows > 0 {
		fmt.Fprintf(&b, ", clocks apart by %s", count(a.SkewRows, "row"))
	}
	if a.LagRows > 0 {
		fmt.Fprintf(&b, ", a mean lag of %s", count(a.LagRows, "row"))
	}
	if a.Batch > 1 {
		fmt.Fprintf(&b, ", %d rows a statement", a.Batch)
	}
	b.WriteString("\n")
	if e := a.Expected; e != nil {
		what := "table"
		if e.Bytes > 0 || a.Database == "sqlite" && a.Key == "uuidv7" {
			what = "index"
		}
		fmt.Fprintf(&b, "\nExpect  pages of the key's %s %s", what, e)
		if e.Fill > 0 {
			fmt.Fprintf(&b, " (fillfactor = %d)", e.Fill)
		}
		b.WriteString("\n")
	}
	a.writeFills(&b)
	for _, advice := range a.Advice {
		mark := map[bool]string{true: "Warning", false: "Note"}[advice.Warning]
		b.WriteString("\n" + wrap(mark+": "+advice.Text) + "  " + wrap("["+advice.Source+"]"))
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// String returns the figures as the end of a sentence.
func (f Figures) String() string {
	text := fmt.Sprintf("%.0f %% full, %.2f times auto-increment", 100*f.Density, f.Ratio)
	if f.Bytes > 0 {
		text += fmt.Sprintf(", %.1f bytes a key", f.Bytes)
	}
	return text
}

func (a Answer) writeFills(b *strings.Builder) {
	if a.Best == nil {
		return
	}
	if a.Best.Fill == a.Expected.Fill {
		fmt.Fprintf(b, "Set     nothing: fillfactor = %d is the best\n", a.Best.Fill)
	} else {
		fmt.Fprintf(b, "Set     fillfactor = %d: %s;\n        also good if skew and lag grow by half\n", a.Best.Fill, a.Best)
		for _, statement := range a.Statements {
			b.WriteString("            " + statement + "\n")
		}
	}
	b.WriteString("\n        fillfactor   density   bytes a key\n")
	for _, f := range a.Fills {
		fmt.Fprintf(b, "        %10d   %5.1f %%   %11.1f\n", f.Fill, 100*f.Density, f.Bytes)
	}
}

// count returns a number with up to three digits, or all before the point, and what is counted.
func count(n float64, what string) string {
	text := fmt.Sprintf("%.3g", n)
	if n >= 100 {
		text = fmt.Sprintf("%.0f", n)
	}
	if text != "1" {
		what += "s"
	}
	return text + " " + what
}

// wrap breaks a text into lines of up to 110 characters and indents all but the first.
func wrap(text string) string {
	var b strings.Builder
	length := 0
	for word := range strings.FieldsSeq(text) {
		separator := " "
		switch {
		case length == 0:
			separator = ""
		case length+1+len(word) > 110:
			separator, length = "\n  ", 1
		}
		b.WriteString(separator + word)
		length += len(word) + 1
	}
	return b.String() + "\n"
}
