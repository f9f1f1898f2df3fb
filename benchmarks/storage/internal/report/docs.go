package report

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/sqlflake/sqlflake/benchmarks/internal/document"
	"github.com/sqlflake/sqlflake/benchmarks/internal/measure"
)

// firstKinds are the kinds of a README.
var firstKinds = []string{"auto", "snowflake", "snowflake-clustered", "uuidv7", "uuidv4", "uuidv4-text"}

// WriteDocs writes the figures of a README, table.md.
func (r Report) WriteDocs(dir string) error { return writeFile(dir, "table.md", r.writeDocsTables) }

// first returns the inserts that a reader asks about first: of one client, and of several if they are measured, with 10
// rows a statement if possible.
func (r Report) first(engine string) (groups []measure.Group) {
	one, ok := r.main(engine, "load", "bytes_table")
	if !ok || engine == "postgres18" { // it is like the other PostgreSQL
		return nil
	}

	many, ok := r.main(engine, "clients", "bytes_table")
	if !ok {
		return []measure.Group{one}
	}

	for _, g := range r.groups(engine, "clients") {
		if g.Params.Get("batch") == "10" {
			many = g
		}
	}

	return []measure.Group{one, many}
}

// several says who inserts in the second group of first: "8 clients, 10 rows a statement".
func several(g measure.Group) string {
	batch := document.Number(number(g.Params.Get("batch")), 0)
	return fmt.Sprintf("%s clients, %s rows a statement", g.Params.Get("clients"), batch)
}

// writeDocsTables writes the bytes a row, then the insert rates, with a row for each kind and a column for each group.
func (r Report) writeDocsTables(w io.Writer) error {
	var heads []string
	var columns []measure.Group
	for _, engine := range r.engines() {
		for i, g := range r.first(engine) {
			head := r.title(engine) + ", one client"
			if i > 0 {
				head = several(g)
			}
			heads, columns = append(heads, head), append(columns, g)
		}
	}

	if len(columns) == 0 {
		return errors.New("the table of a README shows the scenario load, which this report does not have")
	}

	sizes := [][]string{append([]string{"Bytes a row"}, heads...)}
	rates := [][]string{append([]string{"Insert rate"}, heads...)}
	for _, kind := range firstKinds {
		size, rate := []string{kindTitle(kind)}, []string{kindTitle(kind)}
		for _, g := range columns {
			size = append(size, strings.Replace(r.cell(g, kind, "bytes_table").text(), " B", "", 1))
			rate = append(rate, r.cell(g, kind, "rate").compared())
		}

		sizes = append(sizes, size)
		if kind != r.Baseline {
			rates = append(rates, rate)
		}
	}

	_, err := fmt.Fprintf(w, "%s\n%s\n%s; the table has its primary key and no other index.\n"+
		"Ratios are to %s, which is measured beside each key:\n%s.\n", document.Table(sizes), document.Table(rates),
		caseText(columns[0].Params), kindTitle(r.Baseline), signs)
	return err
}
