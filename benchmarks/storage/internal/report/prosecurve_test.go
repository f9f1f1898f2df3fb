package report

import (
	"fmt"
	"testing"

	"github.com/sqlflake/sqlflake/benchmarks/storage/internal/measure"
)

func TestCurveProse(t *testing.T) {
	curve := func(auto, snowflake, uuidv4 float64) measure.Group {
		var records []measure.Record
		for kind, end := range map[string]float64{"auto": auto, "snowflake": snowflake, "uuidv4": uuidv4} {
			records = append(records, measure.Record{Kind: kind, Values: values{"rate@100": 1000, "rate@500": 900, "rate@1000": end}})
		}
		return groupOf("postgres", "grow", "rate", nil, records...)
	}
	check(t, curveProse(curve(1000, 990, 320), "rate", "auto"),
		"From 100 to 1,000 rows on PostgreSQL the rate of inserts falls to 0.32 times what it was with UUIDv4.",
		"It does not fall with auto-increment (1.00) and snowflake (0.99).", "At the end, snowflake and auto-increment tie",
		"!larger -rows", "!not the only reason")
	check(t, curveProse(curve(1000, 1000, 1000), "rate", "auto"),
		"the rate of inserts does not fall with auto-increment (1.00), snowflake (1.00) and UUIDv4 (1.00).", "try a larger -rows",
		"!falls", "!estimate")
	check(t, curveProse(curve(300, 300, 300), "rate", "auto"),
		"It falls with auto-increment too, so the keys are not the only reason.", "!does not fall", "!estimate")
	check(t, curveProse(curve(1000, 990, 320), "rate", "uuidv4"), "falls to 0.32", "!not the only reason",
		"!fewer than three")
	once := New(measure.Environment{}, recordsOf(curve(1000, 990, 320)), "auto").Groups[0]
	check(t, curveProse(once, "rate", "auto"), "There are fewer than three rounds")
}

// TestCurveProseIsNotFooledByOneStep has a last step that wrote the changes of earlier ones.
func TestCurveProseIsNotFooledByOneStep(t *testing.T) {
	of := func(steps ...float64) []string {
		v := values{}
		for i, written := range steps {
			v[fmt.Sprintf("written@%d", (i+1)*100)] = written
		}
		return curveProse(groupOf("postgres", "grow", "rate", nil, measure.Record{Kind: "auto", Values: v}), "written", "auto")
	}
	check(t, of(100, 20, 60, 60, 60, 60, 60, 20, 40, 120), "does not rise with auto-increment (1.00)",
		"the mean of the last 3 of 10 steps", "!rises to")
	check(t, of(60, 60, 60, 60, 60, 60, 60, 600, 600, 600), "rises to 10.0 times what it was with auto-increment",
		"!does not rise")
	check(t, of(0, 0, 0, 7), "the first steps are zero", "the largest step is 7 B with auto-increment", "!times what")
	rough := groupOf("postgres", "grow", "rate@1", map[string]rounds3{"auto": same(10), "uuidv4": {10, 20, 30}},
		measure.Record{Kind: "auto", Values: values{"rate@2": 10}}, measure.Record{Kind: "uuidv4", Values: values{"rate@2": 5}})
	check(t, curveProse(rough, "rate", "auto"),
		"The rounds differ by more than half at the ends of the curves of UUIDv4, so this is an estimate")
}

func TestGridProse(t *testing.T) {
	// densities with fill factors of 90 and 100, for one worker and for two cases with late keys
	cells := func(late ...float64) *grid {
		g := &grid{Cells: map[[2]string]measure.Figure{}}
		put := func(row, column string, v float64) {
			g.put(row, column, measure.Figure{Metric: measure.Find("density"), Median: v})
		}
		put("1 worker", "fill 90", 90)
		put("1 worker", "fill 100", 99)
		put("4 workers", "fill 90", late[0])
		put("4 workers", "fill 100", late[1])
		put("16 workers", "fill 90", late[2])
		put("16 workers", "fill 100", late[3])
		return g
	}
	check(t, gridProse(cells(90, 60, 90, 58), "On PostgreSQL "), "at least 85 % full in 4 of 6 cases",
		"emptiest with 16 workers and fill 100, 58.0 % full",
		"90 with 4 workers (90 %) or 16 workers (90 %); 100 with 1 worker (99 %)",
		"A fill factor of 100 leaves emptier pages than 90 in 2 of 3 cases", "!In each case the highest")
	check(t, gridProse(cells(90, 99, 90, 99), "On PostgreSQL "), "in 6 of 6 cases",
		"In each case the highest fill factor, 100, leaves the fullest pages", "!emptier pages than 90")
	check(t, gridProse(&grid{}, ""), "!full")
}

func TestTimeInKeyProse(t *testing.T) {
	of := func(byKey, index, scan float64) []string {
		return timeInKey(groupOf("postgres", "read", "range_key", map[string]rounds3{"auto": same(1), "snowflake": same(byKey)},
			measure.Record{Kind: "snowflake", Values: values{"range_time": index, "range_scan": scan}}))
	}
	check(t, of(2, 4, 50), "a range of keys: 2.00 ms", "50.0 ms (25.0 times)", "which is 2.00 times", "!faster")
	check(t, of(4, 2, 50), "which is faster: 0.50 times", "!no faster", "!differ")
	check(t, of(2, 2, 50), "which is no faster", "!differ")
	noisy := groupOf("postgres", "read", "range_key", map[string]rounds3{"auto": same(1), "snowflake": {1, 2, 9}},
		measure.Record{Kind: "snowflake", Values: values{"range_time": 4, "range_scan": 50}})
	check(t, timeInKey(noisy), "the rounds differ too much", "it takes 50.0 ms, with one", "!which is",
		"!(25.0 times)")
	once := New(measure.Environment{}, []measure.Record{
		record("postgres", "read", nil, "snowflake", values{"range_key": 2, "range_time": 4, "range_scan": 50}),
	}, "auto").Groups[0]
	check(t, timeInKey(once), "fewer than three rounds", "!which is 2.00", "!faster:")
	if text := timeInKey(groupOf("postgres", "read", "range_key", map[string]rounds3{"auto": same(1)})); text != nil {
		t.Errorf("without figures it says %q", text)
	}
}

// TestOtherBaselinesAreNotExplainedByCounting: the costs of sending, reading back and late keys are explained only
// relative to keys that the database makes.
func TestOtherBaselinesAreNotExplainedByCounting(t *testing.T) {
	var records []measure.Record
	for kind, v := range map[string]values{
		"auto-readback": {"rate": 60, "bytes_primary": 22, "density": 90},
		"explicit":      {"rate": 90, "bytes_primary": 31, "density": 66},
		"snowflake":     {"rate": 70, "bytes_primary": 31, "density": 66},
		"uuidv7":        {"rate": 100, "bytes_primary": 22, "density": 90},
	} {
		records = append(records, thrice(record("postgres", "load", measure.P("rows", 1_000_000), kind, v))...)
	}
	g := New(measure.Environment{}, records, "uuidv7").Groups[0]
	says := []string{"Snowflake loses to UUIDv7 on PostgreSQL", "!read those of", "!send", "!before their INSERT"}
	check(t, prose(g, "rate", "uuidv7"), says...)
	check(t, prose(g, "bytes_primary", "uuidv7"), append(says, "66.0 % full")...)
}

func TestSizesOfAnotherBaselineAreThoseThatAllHave(t *testing.T) {
	g := groupOf("sqlite", "load", "bytes_table",
		map[string]rounds3{"auto": same(40), "snowflake": same(48), "uuidv4": same(85)},
		measure.Record{Kind: "uuidv4", Values: values{"bytes_primary": 27}})
	other := Report{Baseline: "uuidv4", Groups: measure.Summarize(recordsOf(g), "uuidv4")}
	check(t, sizeProse(other.Groups[0], "uuidv4"),
		"Snowflake wins against UUIDv4 on SQLite: the table with all indexes")
}

// recordsOf turns the figures of a group back into records of a round.
func recordsOf(g measure.Group) []measure.Record {
	var records []measure.Record
	for _, kind := range g.Kinds {
		v := values{}
		for _, m := range g.Metrics {
			if f, ok := g.Figure(kind, m.Name); ok {
				v[m.Name] = f.Median
			}
		}
		records = append(records, record(g.Engine, g.Scenario, g.Params, kind, v))
	}
	return records
}

func TestTally(t *testing.T) {
	check(t, tally(sample().Verdicts(), "auto"), "On PostgreSQL snowflake loses to auto-increment in 0 of", "On SQLite snowflake")
}
