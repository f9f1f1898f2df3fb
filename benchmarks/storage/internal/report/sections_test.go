package report

import (
	"slices"
	"strings"
	"testing"

	"github.com/sqlflake/sqlflake/benchmarks/storage/internal/measure"
)

// loaded has a load for each of the parameters.
func loaded(params ...measure.Params) Report {
	var records []measure.Record
	for _, p := range params {
		for _, kind := range []string{"auto", "snowflake"} {
			records = append(records, record("postgres", "load", p, kind,
				values{"rate": 10, "bytes_primary": 20, "bytes_rows": 90, "bytes_table": 90, "log": 100}))
		}
	}
	return New(measure.Environment{}, records, "auto")
}

// TestSizesAreDrawnOnceForTheLargestTable: smaller tables, and the same rows inserted in another way, have the same
// bytes a row.
func TestSizesAreDrawnOnceForTheLargestTable(t *testing.T) {
	r := loaded(measure.P("rows", 100, "batch", 1), measure.P("rows", 1000, "batch", 1000),
		measure.P("rows", 1000, "bulk", 10_000))
	var titles []string
	for _, c := range r.Sections()[0].Engines[0].Charts {
		titles = append(titles, c.Title)
	}
	want := []string{
		"Rows a second on PostgreSQL, 100 rows, 1 a statement",
		"Bytes a row on PostgreSQL, 1,000 rows, 1,000 a statement",
		"Rows a second on PostgreSQL, 1,000 rows, 1,000 a statement",
		"Write-ahead log, bytes a row on PostgreSQL, 1,000 rows, 1,000 a statement",
		"Rows a second on PostgreSQL, 1,000 rows, in bulk, 10,000 at a time",
	}
	if !slices.Equal(titles, want) {
		t.Errorf("charts\n%s\nwant\n%s", strings.Join(titles, "\n"), strings.Join(want, "\n"))
	}
}

// TestReadmeShowsTheLargestLoad: of those with INSERT statements, and of these the one with most rows a statement.
func TestReadmeShowsTheLargestLoad(t *testing.T) {
	r := loaded(measure.P("rows", 1000, "batch", 100), measure.P("rows", 1000, "batch", 1000),
		measure.P("rows", 100, "batch", 5000), measure.P("rows", 1000, "bulk", 10_000))
	groups := r.loads()
	if len(groups) != 1 || groups[0].Params.String() != "rows=1000 batch=1000" {
		t.Errorf("%+v", groups)
	}
}

// TestBarsAddUp: the segments of a bar add up to the table.
func TestBarsAddUp(t *testing.T) {
	g := loaded(measure.P("rows", 1000, "batch", 1000)).Groups[0]
	c, ok := stackChart("c", g, g.Kinds, "auto")
	if !ok || !strings.Contains(c.SVG, "rows: 70.0<") || !strings.Contains(c.SVG, "index of the primary key: 20.0<") {
		t.Errorf("%t\n%s", ok, c.SVG)
	}
}

func TestRatiosPointTheRightWay(t *testing.T) {
	for metric, want := range map[string][2]string{
		"rate": {"slower", "faster"}, "p50": {"faster", "slower"}, "time": {"faster", "slower"}, "log": {"less", "more"},
	} {
		if less, more := direction(measure.Find(metric)); less != want[0] || more != want[1] {
			t.Errorf("%s: %s, %s", metric, less, more)
		}
	}
}
