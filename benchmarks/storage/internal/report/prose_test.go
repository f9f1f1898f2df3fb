package report

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/sqlflake/sqlflake/benchmarks/storage/internal/measure"
)

// TestProseSaysWhatFiguresSay gives figures and their opposite; each must have its own sentences and not those of the other.
func TestProseSaysWhatFiguresSay(t *testing.T) {
	density := func(auto, snowflake float64) []measure.Record {
		return []measure.Record{{Kind: "auto", Values: values{"density": auto}}, {Kind: "snowflake", Values: values{"density": snowflake}}}
	}
	tests := []struct {
		name       string
		engine     string
		metric     string
		kinds      map[string]rounds3
		more       []measure.Record
		want, deny []string
	}{
		{
			"a larger index", "postgres", "bytes_primary",
			map[string]rounds3{"auto": same(22.5), "snowflake": same(22.5), "uuidv4": same(39.4)},
			nil,
			[]string{
				"Snowflake and auto-increment tie on PostgreSQL: the index of the primary key takes 1.00 times the bytes (22.5 against 22.5 B a row).",
				"With UUIDv4 the index of the primary key takes 1.75 times the bytes of auto-increment (39.4 against 22.5 B a row).",
			},
			[]string{"loses", "wins", "noisy", "one round"},
		},
		{
			"a smaller one", "postgres", "bytes_primary",
			map[string]rounds3{"auto": same(39.4), "snowflake": same(22.5), "uuidv4": same(39.4)},
			nil,
			[]string{
				"Snowflake wins against auto-increment on PostgreSQL: the index of the primary key takes 0.57 times the bytes (22.5 against 39.4 B a row).",
				"With UUIDv4 it is the same within 2 %.",
			},
			[]string{"loses", "tie on"},
		},
		{
			"long numbers", "sqlite", "bytes_table",
			map[string]rounds3{"auto": same(40), "explicit": same(40), "snowflake": same(48), "snowflake-53": same(46)},
			density(99, 98),
			[]string{"Snowflake loses to auto-increment on SQLite", "SQLite stores small numbers in few bytes", "the 8.0 B stay", "53 bits brings it down to 1.15 times"},
			[]string{"wins", "tie on", "came out of their order"},
		},
		{
			"long numbers that are not: sent small ones are as large", "sqlite", "bytes_table",
			map[string]rounds3{"auto": same(40), "explicit": same(48), "snowflake": same(48)},
			density(99, 98),
			[]string{"Snowflake loses"},
			[]string{"small numbers in few bytes"},
		},
		{
			"long numbers that nobody tried", "sqlite", "bytes_table",
			map[string]rounds3{"auto": same(40), "snowflake": same(48)},
			density(99, 98),
			[]string{"Snowflake loses"},
			[]string{"small numbers in few bytes"},
		},
		{
			"long numbers on another database", "postgres", "bytes_table",
			map[string]rounds3{"auto": same(40), "explicit": same(40), "snowflake": same(48)},
			density(99, 98),
			[]string{"Snowflake loses"},
			[]string{"SQLite", "53 bits"},
		},
		{
			"equal tables on SQLite", "sqlite", "bytes_table",
			map[string]rounds3{"auto": same(40), "explicit": same(40), "snowflake": same(40)},
			density(99, 98),
			[]string{"tie on SQLite"},
			[]string{"small numbers in few bytes", "loses"},
		},
		{
			"loose leaves", "postgres", "bytes_primary",
			map[string]rounds3{"auto": same(22.5), "snowflake": same(31)},
			density(90, 66),
			[]string{"loses", "Its leaves are 66.0 % full against 90.0 %", "a fill factor with room", "REINDEX CONCURRENTLY"},
			[]string{"OPTIMIZE TABLE", "layout"},
		},
		{
			"loose leaves of any key from clients", "postgres", "bytes_primary",
			map[string]rounds3{"auto": same(22.5), "explicit": same(31.3), "snowflake": same(31)},
			density(90, 66),
			[]string{"With numbers sent by the client it is 1.39 times: it is due to keys that are made before their INSERT, not to their layout."},
			nil,
		},
		{
			"loose leaves on MariaDB", "mariadb", "bytes_rows",
			map[string]rounds3{"auto": same(98), "snowflake": same(197)},
			density(92, 47),
			[]string{"loses", "47.0 % full", "OPTIMIZE TABLE"},
			[]string{"REINDEX"},
		},
		{
			"slower as keys are sent", "sqlite", "rate",
			map[string]rounds3{"auto": same(1000), "explicit": {700, 720, 710}, "snowflake": {690, 700, 710}},
			nil,
			[]string{"rows go in at 0.70 times the rate (0.69 to 0.71 in 3 rounds)", "what takes time is to send a key"},
			[]string{"not the sending"},
		},
		{
			"slower by the key itself", "sqlite", "rate",
			map[string]rounds3{"auto": same(1000), "explicit": {990, 1010, 1000}, "snowflake": {690, 700, 710}},
			nil,
			[]string{"so it is not the sending of a key that takes time"},
			[]string{"what takes time is to send"},
		},
		{
			"faster", "postgres", "rate",
			map[string]rounds3{"auto": same(1000), "snowflake": {1490, 1500, 1510}},
			nil,
			[]string{"Snowflake wins against auto-increment on PostgreSQL: rows go in at 1.50 times the rate"},
			[]string{"loses", "send"},
		},
		{
			"a tie of rounds", "postgres", "rate",
			map[string]rounds3{"auto": same(1000), "snowflake": {950, 1030, 1050}, "uuidv7": {950, 1030, 1050}},
			nil,
			[]string{"tie on PostgreSQL: rows go in at 1.03 times the rate (0.95 to 1.05 in 3 rounds)", "With UUIDv7 the rounds show no difference."},
			[]string{"wins", "loses", "within 2 %"},
		},
		{
			"noise", "postgres", "rate",
			map[string]rounds3{"auto": same(1000), "snowflake": {500, 1000, 1500}, "uuidv4": {200, 300, 400}},
			nil,
			[]string{
				"Whether snowflake or auto-increment is ahead on PostgreSQL can't be told: rows go in at between 0.50 and 1.50 times the rate in 3 rounds.",
				"Too noisy to quote: 0.20 to 0.40 times with UUIDv4",
			},
			[]string{"tie", "loses", "wins"},
		},
		{
			"noise on one side", "postgres", "rate",
			map[string]rounds3{"auto": same(1000), "snowflake": {300, 400, 900}},
			nil,
			[]string{"Snowflake loses to auto-increment on PostgreSQL, but by how much can't be told"},
			[]string{"Whether", "wins"},
		},
		{
			"less time is better", "postgres", "time",
			map[string]rounds3{"auto": same(100), "snowflake": same(10)},
			nil,
			[]string{"Snowflake wins against auto-increment on PostgreSQL: the work takes 0.10 times the time"},
			[]string{"loses"},
		},
		{
			"more time is worse", "postgres", "time",
			map[string]rounds3{"auto": same(10), "snowflake": same(100)},
			nil,
			[]string{"Snowflake loses to auto-increment on PostgreSQL: the work takes 10.0 times the time"},
			[]string{"wins"},
		},
		{
			"no baseline", "postgres", "rate",
			map[string]rounds3{"snowflake": same(100)},
			nil,
			[]string{"Auto-increment was not measured on PostgreSQL"},
			[]string{"wins", "loses", "tie on"},
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			g := groupOf(test.engine, "load", test.metric, test.kinds, test.more...)
			check(t, prose(g, test.metric, "auto"), test.want, test.deny)
		})
	}
}

func check(t *testing.T, sentences, want, deny []string) {
	t.Helper()
	text := strings.Join(sentences, " ")
	for _, part := range want {
		if !strings.Contains(text, part) {
			t.Errorf("there is no %q in:\n%s", part, text)
		}
	}
	for _, part := range deny {
		if strings.Contains(text, part) {
			t.Errorf("there is %q in:\n%s", part, text)
		}
	}
	if strings.Contains(text, "NaN") || strings.Contains(text, "%!") {
		t.Errorf("a figure was not written well:\n%s", text)
	}
}

func TestLongBatchesAreNotToldToLeaveRoom(t *testing.T) {
	var records []measure.Record
	for kind, v := range map[string]values{"auto": {"bytes_primary": 22, "density": 90}, "snowflake": {"bytes_primary": 31, "density": 66}} {
		for round := range 3 {
			records = append(records, measure.Record{
				Engine: "postgres", Scenario: "clients", Params: measure.P("rows", 1_000_000, "batch", 1000),
				Kind: kind, Round: round + 1, Values: v,
			})
		}
	}
	check(t, prose(New(measure.Environment{}, records, "auto").Groups[0], "bytes_primary", "auto"),
		[]string{"statements of a few rows", "REINDEX"}, []string{"fill factor"})
}

func TestATinyTableExplainsNothing(t *testing.T) {
	var records []measure.Record
	for kind, v := range map[string]values{"auto": {"bytes_table": 61, "density": 94}, "snowflake": {"bytes_table": 82, "density": 75}} {
		records = append(records, measure.Record{Engine: "sqlite", Scenario: "load", Params: measure.P("rows", 200), Kind: kind, Round: 1, Values: v})
	}
	check(t, prose(New(measure.Environment{}, records, "auto").Groups[0], "bytes_table", "auto"),
		[]string{"loses", "so few pages"}, []string{"out of their order", "What helps"})
}

func TestOneRoundIsSaidToBeOne(t *testing.T) {
	records := []measure.Record{
		{Engine: "sqlite", Scenario: "load", Kind: "auto", Round: 1, Values: values{"rate": 10}},
		{Engine: "sqlite", Scenario: "load", Kind: "snowflake", Round: 1, Values: values{"rate": 8}},
	}
	g := New(measure.Environment{}, records, "auto").Groups[0]
	check(t, prose(g, "rate", "auto"), []string{"(one round)", "There was one round"}, []string{"in 1 rounds"})
	if !slices.ContainsFunc(notes(g, "auto"), func(n string) bool { return strings.HasPrefix(n, "One round only") }) {
		t.Errorf("the notes of the table don't say that there was one round: %q", notes(g, "auto"))
	}
}

func TestCurveProse(t *testing.T) {
	curve := func(auto, snowflake, uuidv4 float64) measure.Group {
		var records []measure.Record
		for kind, end := range map[string]float64{"auto": auto, "snowflake": snowflake, "uuidv4": uuidv4} {
			records = append(records, measure.Record{Kind: kind, Values: values{"rate@100": 1000, "rate@500": 900, "rate@1000": end}})
		}
		return groupOf("postgres", "grow", "rate", nil, records...)
	}
	tests := []struct {
		name       string
		group      measure.Group
		want, deny []string
	}{
		{
			"random keys slow down", curve(1000, 990, 320),
			[]string{
				"From 100 to 1,000 rows on PostgreSQL the rate of inserts falls to 0.32 times what it was with UUIDv4.",
				"It does not fall with auto-increment (1.00) and snowflake (0.99).", "At the end, snowflake and auto-increment tie",
			},
			[]string{"larger -rows", "not all of it"},
		},
		{
			"nothing slows down", curve(1000, 1000, 1000),
			[]string{"the rate of inserts does not fall with auto-increment (1.00), snowflake (1.00) and UUIDv4 (1.00).", "a larger -rows would show"},
			[]string{"falls", "rough"},
		},
		{"all slow down", curve(300, 300, 300), []string{"It falls with auto-increment too, so not all of it is due to the keys."}, []string{"does not fall", "rough"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) { check(t, curveProse(test.group, "rate", "auto"), test.want, test.deny) })
	}
}

// TestCurveProseIsNotFooledByOneStep has a last step that wrote what those before had left.
func TestCurveProseIsNotFooledByOneStep(t *testing.T) {
	of := func(steps ...float64) []string {
		v := values{}
		for i, written := range steps {
			v[fmt.Sprintf("written@%d", (i+1)*100)] = written
		}
		return curveProse(groupOf("postgres", "grow", "rate", nil, measure.Record{Kind: "auto", Values: v}), "written", "auto")
	}
	check(t, of(100, 20, 60, 60, 60, 60, 60, 20, 40, 120), []string{"does not rise with auto-increment (1.00)", "the mean of the last 3 of 10 steps"}, []string{"rises to"})
	check(t, of(60, 60, 60, 60, 60, 60, 60, 600, 600, 600), []string{"rises to 10.0 times what it was with auto-increment"}, []string{"does not rise"})
	check(t, of(0, 0, 0, 7), []string{"begin at zero", "the most in one step is 7 B with auto-increment"}, []string{"times what"})
	rough := groupOf("postgres", "grow", "rate@1", map[string]rounds3{"auto": same(10), "uuidv4": {10, 20, 30}},
		measure.Record{Kind: "auto", Values: values{"rate@2": 10}}, measure.Record{Kind: "uuidv4", Values: values{"rate@2": 5}})
	check(t, curveProse(rough, "rate", "auto"), []string{"The rounds differ by more than half at the ends of UUIDv4, so that is rough"}, nil)
}

func TestGridProse(t *testing.T) {
	// densities with fill factors of 90 and 100, of one worker and of two cases in which keys come late
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
	check(t, gridProse(cells(90, 60, 90, 58), "On PostgreSQL "),
		[]string{
			"at least 85 % full in 4 of 6 cases", "emptiest with 16 workers and fill 100, 58.0 % full",
			"90 with 4 workers (90 %) or 16 workers (90 %); 100 with 1 worker (99 %)",
			"A fill factor of 100 leaves emptier pages than 90 in 2 of 3 cases",
		}, []string{"In each case the highest"})
	check(t, gridProse(cells(90, 99, 90, 99), "On PostgreSQL "),
		[]string{"in 6 of 6 cases", "In each case the highest fill factor, 100, leaves the fullest pages"}, []string{"emptier pages than 90"})
	check(t, gridProse(&grid{}, ""), nil, []string{"full"})
}

func TestTimeInKeyProse(t *testing.T) {
	of := func(byKey, index, scan float64) []string {
		return timeInKey(groupOf("postgres", "read", "range_key", map[string]rounds3{"auto": same(1), "snowflake": same(byKey)},
			measure.Record{Kind: "snowflake", Values: values{"range_time": index, "range_scan": scan}}))
	}
	check(t, of(2, 4, 50), []string{"a range of keys: 2.00 ms", "50.0 ms (25.0 times)", "which is 2.00 times"}, []string{"faster"})
	check(t, of(4, 2, 50), []string{"which is faster: 0.50 times"}, []string{"no faster", "differ"})
	check(t, of(2, 2, 50), []string{"which is no faster"}, []string{"differ"})
	noisy := groupOf("postgres", "read", "range_key", map[string]rounds3{"auto": same(1), "snowflake": {1, 2, 9}},
		measure.Record{Kind: "snowflake", Values: values{"range_time": 4, "range_scan": 50}})
	check(t, timeInKey(noisy), []string{"the rounds differ too much"}, []string{"which is"})
	if text := timeInKey(groupOf("postgres", "read", "range_key", map[string]rounds3{"auto": same(1)})); text != nil {
		t.Errorf("without figures it says %q", text)
	}
}

func TestTally(t *testing.T) {
	text := strings.Join(tally(sample().Verdicts(), "auto"), " ")
	for _, want := range []string{"On PostgreSQL snowflake loses to auto-increment in 0 of", "On SQLite snowflake"} {
		if !strings.Contains(text, want) {
			t.Errorf("there is no %q in %q", want, text)
		}
	}
}
