package advise

import (
	"fmt"
	"io"
	"strconv"
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
	fmt.Fprintf(&b, "%s, %s keys: %s at %.0f rows/s", titles[a.Database], a.Key, count(a.Workers, "worker"), a.Rate)
	if a.SkewRows > 0 {
		fmt.Fprintf(&b, ", clocks apart by %s", rows(a.SkewRows))
	}
	if a.LagRows > 0 {
		fmt.Fprintf(&b, ", a mean lag of %s", rows(a.LagRows))
	}
	if a.Batch > 1 {
		fmt.Fprintf(&b, ", batches of %d", a.Batch)
	}
	b.WriteString("\n")
	if a.Expected != nil {
		b.WriteString("\n")
		what := "table"
		if a.Expected.Bytes > 0 || a.Database == "sqlite" && a.Key == "uuidv7" {
			what = "index"
		}
		fmt.Fprintf(&b, "Expect  pages of the key's %s %.0f %% full", what, 100*a.Expected.Density)
		if a.Expected.Bytes > 0 {
			fmt.Fprintf(&b, ", %.1f bytes a key", a.Expected.Bytes)
		}
		fmt.Fprintf(&b, ", %.2f times auto-increment", a.Expected.Ratio)
		if a.Expected.Fill > 0 {
			fmt.Fprintf(&b, " (fillfactor = %d)", a.Expected.Fill)
		}
		b.WriteString("\n")
	}
	a.writeFills(&b)
	for _, advice := range a.Advice {
		mark := "Note"
		if advice.Warning {
			mark = "Warning"
		}
		b.WriteString("\n" + wrap(mark+": "+advice.Text, "", "  ") + wrap("["+advice.Source+"]", "  ", "  "))
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func (a Answer) writeFills(b *strings.Builder) {
	if a.Best == nil {
		return
	}
	if a.Best.Fill == a.Expected.Fill {
		fmt.Fprintf(b, "Set     nothing: fillfactor = %d is the best\n", a.Best.Fill)
	} else {
		fmt.Fprintf(b, "Set     fillfactor = %d: %.0f %% full, %.1f bytes a key, %.2f times auto-increment;\n"+
			"        also good if skew and lag grow by half\n",
			a.Best.Fill, 100*a.Best.Density, a.Best.Bytes, a.Best.Ratio)
		for _, statement := range a.Statements {
			b.WriteString("            " + statement + "\n")
		}
	}
	b.WriteString("\n        fillfactor   density   bytes a key\n")
	for _, f := range a.Fills {
		fmt.Fprintf(b, "        %10d   %5.1f %%   %11.1f\n", f.Fill, 100*f.Density, f.Bytes)
	}
}

func rows(n float64) string {
	text := strconv.FormatFloat(n, 'g', 3, 64)
	if n >= 100 {
		text = strconv.FormatFloat(n, 'f', 0, 64)
	}
	if text == "1" {
		return "1 row"
	}
	return text + " rows"
}

func count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// wrap breaks a text into lines of up to 110 characters.
func wrap(text, first, other string) string {
	const width = 110
	var b strings.Builder
	line := first
	for i, word := range strings.Fields(text) {
		if i > 0 && len(line)+1+len(word) > width {
			b.WriteString(line + "\n")
			line = other + word
			continue
		}
		if i > 0 {
			line += " "
		}
		line += word
	}
	b.WriteString(line + "\n")
	return b.String()
}
