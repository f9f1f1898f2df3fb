package report

import (
	"slices"
	"strings"
	"testing"

	"github.com/sqlflake/sqlflake/benchmarks/storage/internal/measure"
)

// TestProseSaysWhatFiguresSay gives figures and their opposite. Each must have its own sentences and not those of the
// other.
func TestProseSaysWhatFiguresSay(t *testing.T) {
	density := func(auto, snowflake float64) []measure.Record {
		return []measure.Record{
			{Kind: "auto", Values: values{"density": auto}},
			{Kind: "snowflake", Values: values{"density": snowflake}},
		}
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
				"Snowflake and auto-increment tie on PostgreSQL: the index of the primary key takes 1.00 times the bytes (22.5 " +
					"against 22.5 B a row).",
				"With UUIDv4 the index of the primary key takes 1.75 times the bytes of auto-increment (39.4 against 22.5 B a row).",
			},
			[]string{"loses", "wins", "noisy", "one round"},
		},
		{
			"a smaller one", "postgres", "bytes_primary",
			map[string]rounds3{"auto": same(39.4), "snowflake": same(22.5), "uuidv4": same(39.4)},
			nil,
			[]string{
				"Snowflake wins against auto-increment on PostgreSQL: the index of the primary key takes 0.57 times the bytes (22.5 " +
					"against 39.4 B a row).",
				"With UUIDv4 it is the same within 2 %.",
			},
			[]string{"loses", "tie on"},
		},
		{
			"long numbers", "sqlite", "bytes_table",
			map[string]rounds3{"auto": same(40), "explicit": same(40), "snowflake": same(48), "snowflake-53": same(46)},
			density(99, 98),
			[]string{
				"Snowflake loses to auto-increment on SQLite", "SQLite stores small numbers in fewer bytes", "the 8.0 B stay",
				"53 bits reduces it to 1.15 times",
			},
			[]string{"wins", "tie on", "came out of their order"},
		},
		{
			"long numbers that are not: sent small ones are as large", "sqlite", "bytes_table",
			map[string]rounds3{"auto": same(40), "explicit": same(48), "snowflake": same(48)},
			density(99, 98),
			[]string{"Snowflake loses"},
			[]string{"small numbers in fewer bytes"},
		},
		{
			"long numbers that nobody tried", "sqlite", "bytes_table",
			map[string]rounds3{"auto": same(40), "snowflake": same(48)},
			density(99, 98),
			[]string{"Snowflake loses", "Measure -keys explicit too to see whether the length of the numbers is the reason."},
			[]string{"small numbers in fewer bytes"},
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
			[]string{"small numbers in fewer bytes", "loses"},
		},
		{
			"loose leaves", "postgres", "bytes_primary",
			map[string]rounds3{"auto": same(22.5), "snowflake": same(31)},
			density(90, 66),
			[]string{"loses", "Its leaves are 66.0 % full against 90.0 %", "a lower fill factor", "REINDEX CONCURRENTLY"},
			[]string{"OPTIMIZE TABLE", "layout"},
		},
		{
			"loose leaves of any key from clients", "postgres", "bytes_primary",
			map[string]rounds3{"auto": same(22.5), "explicit": same(31.3), "snowflake": same(31)},
			density(90, 66),
			[]string{"With numbers sent by the client it is 1.39 times: the cause is that keys are made before their INSERT, not their layout."},
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
			[]string{"rows are inserted at 0.70 times the rate (0.69 to 0.71 in 3 rounds)", "sending a key takes the time"},
			[]string{"not the sending"},
		},
		{
			"slower by the key itself", "sqlite", "rate",
			map[string]rounds3{"auto": same(1000), "explicit": {990, 1010, 1000}, "snowflake": {690, 700, 710}},
			nil,
			[]string{"so sending a key is not the reason"},
			[]string{"sending a key takes the time"},
		},
		{
			"faster", "postgres", "rate",
			map[string]rounds3{"auto": same(1000), "snowflake": {1490, 1500, 1510}},
			nil,
			[]string{"Snowflake wins against auto-increment on PostgreSQL: rows are inserted at 1.50 times the rate"},
			[]string{"loses", "send"},
		},
		{
			"a tie of rounds", "postgres", "rate",
			map[string]rounds3{"auto": same(1000), "snowflake": {950, 1030, 1050}, "uuidv7": {950, 1030, 1050}},
			nil,
			[]string{
				"tie on PostgreSQL: rows are inserted at 0.95 to 1.05 times the rate in 3 rounds, on both sides of 1.",
				"With UUIDv7 the rounds show no difference.",
			},
			[]string{"wins", "loses", "within 2 %", "1.03"},
		},
		{
			"a tie within 2 %", "postgres", "rate",
			map[string]rounds3{"auto": same(1000), "snowflake": {984, 985, 986}},
			nil,
			[]string{"tie on PostgreSQL: rows are inserted at 0.98 times the rate (0.98 to 0.99 in 3 rounds)"},
			[]string{"wins", "loses", "both sides"},
		},
		{
			"rounds that look the same", "postgres", "log",
			map[string]rounds3{"auto": same(1000), "snowflake": {950, 951, 952}},
			nil,
			[]string{"wins against auto-increment on PostgreSQL: the log takes 0.95 times the bytes (in each of 3 rounds)"},
			[]string{"to 0.95"},
		},
		{
			"keys that take half the CPU are the reason", "sqlite", "rate",
			map[string]rounds3{"auto": same(1000), "explicit": same(1000), "snowflake": same(950)},
			[]measure.Record{{Kind: "snowflake", Values: values{"generator": 4}}},
			[]string{"Making the keys takes 4.0 % of the CPU time."},
			[]string{"keys is not the reason"},
		},
		{
			"keys that take little CPU are not", "sqlite", "rate",
			map[string]rounds3{"auto": same(1000), "explicit": same(1000), "snowflake": same(700)},
			[]measure.Record{{Kind: "snowflake", Values: values{"generator": 4}}},
			[]string{"Making the keys is not the reason: it takes 4.0 % of the CPU time."},
			nil,
		},
		{
			"a reason that nobody has looked for", "postgres", "rate",
			map[string]rounds3{"auto": same(1000), "snowflake": same(700)},
			nil,
			[]string{"Measure -keys explicit too to see whether sending a key is the reason."},
			nil,
		},
		{
			"pages that are written again and again", "sqlite", "rate",
			map[string]rounds3{
				"auto": same(1000), "snowflake": same(700), "uuidv7": same(500), "uuidv4": same(100),
				"uuidv4-text": same(80),
			},
			[]measure.Record{
				{Kind: "auto", Values: values{"written": 96}},
				{Kind: "uuidv7", Values: values{"written": 200}},
				{Kind: "uuidv4", Values: values{"written": 7400}},
				{Kind: "uuidv4-text", Values: values{"written": 9120}},
			},
			[]string{"With UUIDv4 as text 95.0 times the bytes are written: pages are evicted"},
			[]string{"With UUIDv7 2.08 times the bytes"},
		},
		{
			"pages that are written once", "sqlite", "rate",
			map[string]rounds3{"auto": same(1000), "snowflake": same(700), "uuidv7": same(500)},
			[]measure.Record{{Kind: "auto", Values: values{"written": 96}}, {Kind: "uuidv7", Values: values{"written": 400}}},
			nil,
			[]string{"are written"},
		},
		{
			"keys read back that are slower than all rounds", "postgres", "rate",
			map[string]rounds3{"auto": same(1000), "auto-readback": same(600), "snowflake": {690, 700, 710}},
			nil,
			[]string{"read those of auto-increment back, which is slower: 0.60 times"},
			nil,
		},
		{
			"keys read back that may be slower or not", "postgres", "rate",
			map[string]rounds3{"auto": same(1000), "auto-readback": {650, 690, 700}, "snowflake": {690, 700, 710}},
			nil,
			nil,
			[]string{"slower still"},
		},
		{
			"noise", "postgres", "rate",
			map[string]rounds3{"auto": same(1000), "snowflake": {500, 1000, 1500}, "uuidv4": {200, 300, 400}},
			nil,
			[]string{
				"Whether snowflake or auto-increment is ahead on PostgreSQL is not known: rows are inserted at between 0.50 and 1.50 times " +
					"the rate in 3 rounds.",
				"Too noisy to quote: 0.20 to 0.40 times with UUIDv4",
			},
			[]string{"tie", "loses", "wins"},
		},
		{
			"noise on one side", "postgres", "rate",
			map[string]rounds3{"auto": same(1000), "explicit": {400, 410, 420}, "snowflake": {300, 400, 900}},
			nil,
			[]string{"Snowflake loses to auto-increment on PostgreSQL, but the size of the difference is not known"},
			[]string{"Whether", "wins", "to send a key"},
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
	for kind, v := range map[string]values{
		"auto":      {"bytes_primary": 22, "density": 90},
		"snowflake": {"bytes_primary": 31, "density": 66},
	} {
		for round := range 3 {
			records = append(records, measure.Record{
				Engine: "postgres", Scenario: "clients", Params: measure.P("rows", 1_000_000, "batch", 1000),
				Kind: kind, Round: round + 1, Values: v,
			})
		}
	}
	check(t, prose(New(measure.Environment{}, records, "auto").Groups[0], "bytes_primary", "auto"),
		[]string{"fewer rows a statement", "REINDEX"}, []string{"fill factor"})
}

func TestATinyTableExplainsNothing(t *testing.T) {
	var records []measure.Record
	for kind, v := range map[string]values{
		"auto":      {"bytes_table": 61, "density": 94},
		"snowflake": {"bytes_table": 82, "density": 75},
	} {
		records = append(records, measure.Record{
			Engine: "sqlite", Scenario: "load", Params: measure.P("rows", 200),
			Kind: kind, Round: 1, Values: v,
		})
	}
	check(t, prose(New(measure.Environment{}, records, "auto").Groups[0], "bytes_table", "auto"),
		[]string{"loses", "The difference is a few pages"}, []string{"out of their order", "What helps"})
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
