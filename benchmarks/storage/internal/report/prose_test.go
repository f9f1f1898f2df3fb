package report

import (
	"strings"
	"testing"

	"github.com/sqlflake/sqlflake/benchmarks/storage/internal/measure"
)

// TestProseSaysWhatFiguresSay gives figures and their opposite. Each must have its own sentences and not those of the
// other.
func TestProseSaysWhatFiguresSay(t *testing.T) {
	density := func(auto, snowflake float64) []measure.Record {
		return []measure.Record{{Kind: "auto", Values: values{"density": auto}}, {Kind: "snowflake", Values: values{"density": snowflake}}}
	}
	bytes := func(written map[string]float64) (records []measure.Record) {
		for kind, v := range written {
			records = append(records, measure.Record{Kind: kind, Values: values{"written": v}})
		}
		return records
	}
	making := []measure.Record{{Kind: "snowflake", Values: values{"generator": 4}}}
	says := func(name, engine, metric string, kinds map[string]rounds3, more []measure.Record, parts ...string) {
		t.Helper()
		t.Run(name, func(t *testing.T) {
			check(t, prose(groupOf(engine, "load", metric, kinds, more...), metric, "auto"), parts...)
		})
	}
	says("a larger index", "postgres", "bytes_primary",
		map[string]rounds3{"auto": same(22.5), "snowflake": same(22.5), "uuidv4": same(39.4)}, nil,
		"Snowflake and auto-increment tie on PostgreSQL: the index of the primary key takes 1.00 times the bytes (22.5 against 22.5 B a row).",
		"With UUIDv4 the index of the primary key takes 1.75 times the bytes of auto-increment (39.4 against 22.5 B a row).",
		"!loses", "!wins", "!noisy", "!one round")
	says("a smaller one", "postgres", "bytes_primary",
		map[string]rounds3{"auto": same(39.4), "snowflake": same(22.5), "uuidv4": same(39.4)}, nil,
		"Snowflake wins against auto-increment", "takes 0.57 times the bytes",
		"With UUIDv4 it is the same within 2 %.", "!loses", "!tie on")
	says("long numbers", "sqlite", "bytes_table",
		map[string]rounds3{
			"auto": same(40), "explicit": same(40), "snowflake": same(48),
			"snowflake-53": same(46),
		}, density(99, 98),
		"loses", "in fewer bytes", "the 8.0 B stay", "53 bits reduces it to 1.15 times", "!wins", "!tie on", "!out of order")
	says("long numbers that are not: sent small ones are as large", "sqlite", "bytes_table",
		map[string]rounds3{"auto": same(40), "explicit": same(48), "snowflake": same(48)}, density(99, 98),
		"loses", "!in fewer bytes")
	says("long numbers that were not measured", "sqlite", "bytes_table",
		map[string]rounds3{"auto": same(40), "snowflake": same(48)}, density(99, 98),
		"loses", "whether the length of the numbers is the reason", "!in fewer bytes")
	says("long numbers on another database", "postgres", "bytes_table",
		map[string]rounds3{"auto": same(40), "explicit": same(40), "snowflake": same(48)}, density(99, 98),
		"loses", "!SQLite", "!53 bits")
	says("equal tables on SQLite", "sqlite", "bytes_table",
		map[string]rounds3{"auto": same(40), "explicit": same(40), "snowflake": same(40)}, density(99, 98),
		"tie on SQLite", "!in fewer bytes", "!loses")
	says("loose leaves", "postgres", "bytes_primary", map[string]rounds3{"auto": same(22.5), "snowflake": same(31)}, density(90, 66),
		"loses", "Its leaves are 66.0 % full against 90.0 %", "a lower fill factor", "REINDEX", "!OPTIMIZE TABLE", "!layout")
	says("loose leaves of any key from clients", "postgres", "bytes_primary",
		map[string]rounds3{"auto": same(22.5), "explicit": same(31.3), "snowflake": same(31)}, density(90, 66),
		"With numbers sent by the client it is 1.39 times: the cause is that keys are made before their INSERT")
	says("loose leaves on MariaDB", "mariadb", "bytes_rows", map[string]rounds3{"auto": same(98), "snowflake": same(197)}, density(92, 47),
		"loses", "47.0 % full", "OPTIMIZE TABLE", "!REINDEX")
	says("slower as keys are sent", "sqlite", "rate",
		map[string]rounds3{"auto": same(1000), "explicit": {700, 720, 710}, "snowflake": {690, 700, 710}}, nil,
		"rows are inserted at 0.70 times the rate (0.69 to 0.71 in 3 rounds)", "sending a key takes the time",
		"!not the reason")
	says("slower by the key itself", "sqlite", "rate",
		map[string]rounds3{"auto": same(1000), "explicit": {990, 1010, 1000}, "snowflake": {690, 700, 710}}, nil,
		"so sending a key is not the reason", "!sending a key takes the time")
	says("faster", "postgres", "rate", map[string]rounds3{"auto": same(1000), "snowflake": {1490, 1500, 1510}}, nil,
		"Snowflake wins against auto-increment on PostgreSQL: rows are inserted at 1.50 times the rate", "!loses", "!send")
	says("a tie of rounds", "postgres", "rate",
		map[string]rounds3{"auto": same(1000), "snowflake": {950, 1030, 1050}, "uuidv7": {950, 1030, 1050}}, nil,
		"tie on PostgreSQL: rows are inserted at 0.95 to 1.05 times the rate in 3 rounds, on both sides of 1.",
		"With UUIDv7 the rounds show no difference.", "!wins", "!loses", "!within 2 %", "!1.03")
	says("a tie within 2 %", "postgres", "rate", map[string]rounds3{"auto": same(1000), "snowflake": {984, 985, 986}}, nil,
		"rows are inserted at 0.98 times the rate (0.98 to 0.99 in 3 rounds)", "!wins", "!loses", "!both sides")
	says("rounds that look the same", "postgres", "log", map[string]rounds3{"auto": same(1000), "snowflake": {950, 951, 952}}, nil,
		"wins", "the log takes 0.95 times the bytes (in each of 3 rounds)", "!to 0.95")
	says("keys that take half the CPU are the reason", "sqlite", "rate",
		map[string]rounds3{"auto": same(1000), "explicit": same(1000), "snowflake": same(950)}, making,
		"Making the keys takes 4.0 % of the CPU time.", "!keys is not the reason")
	says("keys that take little CPU are not", "sqlite", "rate",
		map[string]rounds3{"auto": same(1000), "explicit": same(1000), "snowflake": same(700)}, making,
		"Making the keys is not the reason: it takes 4.0 % of the CPU time.")
	says("a reason that was not measured", "postgres", "rate", map[string]rounds3{"auto": same(1000), "snowflake": same(700)}, nil,
		"whether sending a key is the reason.")
	says("pages that are written again and again", "sqlite", "rate",
		map[string]rounds3{
			"auto": same(1000), "snowflake": same(700), "uuidv7": same(500), "uuidv4": same(100),
			"uuidv4-text": same(80),
		},
		bytes(map[string]float64{"auto": 96, "uuidv7": 200, "uuidv4": 7400, "uuidv4-text": 9120}),
		"With UUIDv4 as text 95.0 times the bytes are written: pages are evicted", "!With UUIDv7 2.08 times the bytes")
	says("pages that are written once", "sqlite", "rate",
		map[string]rounds3{"auto": same(1000), "snowflake": same(700), "uuidv7": same(500)},
		bytes(map[string]float64{"auto": 96, "uuidv7": 400}), "!are written")
	says("keys read back that are slower than all rounds", "postgres", "rate",
		map[string]rounds3{"auto": same(1000), "auto-readback": same(600), "snowflake": {690, 700, 710}}, nil,
		"read those of auto-increment back, which is slower: 0.60 times")
	says("keys read back that may be slower or not", "postgres", "rate",
		map[string]rounds3{"auto": same(1000), "auto-readback": {650, 690, 700}, "snowflake": {690, 700, 710}}, nil,
		"!which is slower")
	says("noise", "postgres", "rate", map[string]rounds3{"auto": same(1000), "snowflake": {500, 1000, 1500}, "uuidv4": {200, 300, 400}}, nil,
		"is not known: rows are inserted at between 0.50 and 1.50 times the rate in 3 rounds.",
		"Too noisy to quote: 0.20 to 0.40 times with UUIDv4", "!tie", "!loses", "!wins")
	says("noise on one side", "postgres", "rate",
		map[string]rounds3{"auto": same(1000), "explicit": {400, 410, 420}, "snowflake": {300, 400, 900}}, nil,
		"Snowflake loses to auto-increment on PostgreSQL, but the size of the difference is not known",
		"!Whether", "!wins", "!sending a key takes")
	says("less time is better", "postgres", "time", map[string]rounds3{"auto": same(100), "snowflake": same(10)}, nil,
		"wins against auto-increment on PostgreSQL: the work takes 0.10 times the time", "!loses")
	says("more time is worse", "postgres", "time", map[string]rounds3{"auto": same(10), "snowflake": same(100)}, nil,
		"loses to auto-increment on PostgreSQL: the work takes 10.0 times the time", "!wins")
	says("no baseline", "postgres", "rate", map[string]rounds3{"snowflake": same(100)}, nil,
		"Auto-increment was not measured on PostgreSQL", "!wins", "!loses", "!tie on")
}

// check looks for parts in sentences; a part that begins with "!" must be missing.
func check(t *testing.T, sentences []string, parts ...string) {
	t.Helper()
	text := strings.Join(sentences, " ")
	for _, part := range append(parts, "!NaN", "!%!") {
		if absent, not := strings.CutPrefix(part, "!"); strings.Contains(text, absent) == not {
			t.Errorf("want %q in:\n%s", part, text)
		}
	}
}

func TestLongBatchesAreNotToldToLeaveRoom(t *testing.T) {
	var records []measure.Record
	for kind, v := range map[string]values{
		"auto":      {"bytes_primary": 22, "density": 90},
		"snowflake": {"bytes_primary": 31, "density": 66},
	} {
		records = append(records, thrice(record("postgres", "clients", measure.P("rows", 1_000_000, "batch", 1000), kind, v))...)
	}
	check(t, prose(New(measure.Environment{}, records, "auto").Groups[0], "bytes_primary", "auto"),
		"fewer rows a statement", "REINDEX", "!fill factor")
}

func TestATinyTableExplainsNothing(t *testing.T) {
	var records []measure.Record
	for kind, v := range map[string]values{
		"auto":      {"bytes_table": 61, "density": 94},
		"snowflake": {"bytes_table": 82, "density": 75},
	} {
		records = append(records, record("sqlite", "load", measure.P("rows", 200), kind, v))
	}
	check(t, prose(New(measure.Environment{}, records, "auto").Groups[0], "bytes_table", "auto"), "loses",
		"The difference is a few pages", "!out of order", "!Remed")
}

func TestOneRoundIsSaidToBeOne(t *testing.T) {
	records := []measure.Record{
		record("sqlite", "load", nil, "auto", values{"rate": 10}), record("sqlite", "load", nil, "snowflake", values{"rate": 8}),
	}
	g := New(measure.Environment{}, records, "auto").Groups[0]
	check(t, prose(g, "rate", "auto"), "(one round)", "There was one round", "!in 1 rounds")
	check(t, notes(g, "auto"), "One round only")
}
