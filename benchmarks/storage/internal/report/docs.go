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
		"Ratios are to %s, which is measured beside each key:\n%s.\n%s", document.Table(sizes), document.Table(rates),
		caseText(columns[0].Params), kindTitle(r.Baseline), signs, r.graphs())
	return err
}

// graphs says what a key from the client saves if an order is saved with its lines, "" if that is not measured.
func (r Report) graphs() string {
	together, trips := r.graphTimes("")
	if together == "" {
		return ""
	}

	text := fmt.Sprintf("\nA driver that sends several statements together, such as pgx with a Batch, saves an order "+
		"and its lines in\n%s round trips if the client makes the keys. 1 ms away from the database that takes, of "+
		"the time of\n%s: %s.\n", trips, kindTitle(r.Baseline), together)
	if each, trips := r.graphTimes("GORM"); each != "" {
		text += fmt.Sprintf("GORM waits for the answer to each statement (%s round trips): %s.\n", trips, each)
	}

	return text
}

// graphTimes returns the ratios of the time to save a graph on each database, and the round trips: "1 instead of 3".
func (r Report) graphTimes(by string) (ratios, trips string) {
	var parts []string
	for _, engine := range r.engines() {
		for _, g := range r.groups(engine, "graph") {
			snowflake, uuid := r.cell(g, "snowflake", "time"), r.cell(g, "uuidv7", "time")
			wanted := g.Params.Get("delay") == "1ms" && g.Params.Get("by") == by
			if !wanted || snowflake.ratio == "" {
				continue
			}

			parts = append(parts, fmt.Sprintf("%s with snowflakes, %s with UUIDv7 (%s)",
				snowflake.ratio, uuid.ratio, r.title(engine)))
			trips = fmt.Sprintf("%s instead of %s",
				r.cell(g, "snowflake", "round_trips").value, r.cell(g, r.Baseline, "round_trips").value)
		}
	}

	return strings.Join(parts, "; "), trips
}
