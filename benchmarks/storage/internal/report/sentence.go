package report

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/sqlflake/sqlflake/benchmarks/storage/internal/measure"
)

// sentence is written if its condition holds in the figures of a case. {kind metric} is a value, {kind metric x} a ratio;
// the end "@scenario:where" of a part takes it from another case. A sentence with a missing figure, or with a ratio that
// has too few rounds, is left out.
type sentence struct {
	section, engine string // of the page; "": any engine
	from            string // "scenario:where", the case
	when            string // "kind metric verdict, ..."
	text            string
}

var sentences = []sentence{
	// The first screen.
	{"first", "", "load", "snowflake bytes_primary same",
		"A snowflake takes the space of auto-increment: {snowflake bytes_primary} a row in the key's index. UUIDv7 takes " +
			"{uuidv7 bytes_primary x}, UUIDv4 {uuidv4 bytes_primary x}."},
	{"first", "mariadb", "load", "snowflake bytes_table same",
		"A snowflake takes the space of auto-increment: {snowflake bytes_table} a row of the table. UUIDv7 takes " +
			"{uuidv7 bytes_table x}, UUIDv4 {uuidv4 bytes_table x}."},
	{"first", "sqlite", "load", "snowflake bytes_table worse",
		"A snowflake takes {snowflake bytes_table x} the bytes of auto-increment: SQLite stores small numbers in fewer bytes. " +
			"UUIDv7 takes {uuidv7 bytes_table x}, UUIDv4 {uuidv4 bytes_table x}."},
	{"first", "", "load", "uuidv4 rate worse",
		"One client inserts {uuidv4 rate x} the rows a second with UUIDv4, and with a snowflake {snowflake rate x}."},
	{"first", "", "clients", "snowflake bytes_primary worse",
		"If {#clients} clients insert {#batch} rows a statement at once, the snowflake's index takes " +
			"{snowflake bytes_primary x} the bytes (UUIDv7 {uuidv7 bytes_primary x}, UUIDv4 {uuidv4 bytes_primary x}); with one row a " +
			"statement {snowflake bytes_primary x @clients:batch=1}."},
	{"first", "mariadb", "load", "snowflake-workers bytes_table worse",
		"If several processes take turns with {#batch} rows a statement, each with its own generator, the table takes " +
			"{snowflake-workers bytes_table x} the bytes; with one row a statement {snowflake-workers bytes_table x @load:batch=1}."},
	{"first", "sqlite", "children", "snowflake bytes_secondary worse",
		"In an index on a foreign key a snowflake takes {snowflake bytes_secondary x} the bytes, UUIDv4 {uuidv4 bytes_secondary x}."},

	{"load", "", "load", "snowflake-workers bytes_table worse",
		"Several processes in turn fill the leaves to {snowflake-workers density}, one process to {snowflake density}."},
	{"load", "", "load", "snowflake-first bytes_primary worse",
		"With the worker's bits above the time the key's index takes {snowflake-first bytes_primary x} the bytes."},
	{"clients", "", "clients", "snowflake density worse",
		"Batches overlap, so the snowflake's leaves are {snowflake density} full and auto-increment's {auto density}."},
	{"clients", "", "clients:batch=1", "snowflake bytes_primary same",
		"With one row a statement the key's index is as small as that of auto-increment."},
	{"children", "sqlite", "children", "snowflake bytes_secondary worse",
		"The index on the foreign key takes {snowflake bytes_secondary} a row with snowflakes, {auto bytes_secondary} with auto-increment."},
	{"commit", "", "commit", "snowflake p50 same",
		"The flush to the disk takes most of the time: no difference is shown between snowflake and auto-increment."},
	{"read", "", "read", "snowflake range_key",
		"A snowflake contains its time, so a range of time is a range of keys: {snowflake range_key}; by an index on created_at it " +
			"takes {snowflake range_time}, without one {snowflake range_scan}."},
	{"graph", "", "graph:style=pipelined", "snowflake time better",
		"Pipelined, the program waits {snowflake round_trips} times for the database with snowflakes and {auto round_trips} times " +
			"with auto-increment, which must read the parent's key first."},
	{"retention", "", "retention", "uuidv4 freed_share",
		"The old rows of UUIDv4 are spread over all pages: {uuidv4 freed_share} of the pages are freed, {snowflake freed_share} with snowflakes."},
}

var placeholder = regexp.MustCompile(`\{([^}]*)\}`)

// sentences returns those of a section for an engine.
func (r Report) sentences(section, engine string) []string {
	var all []string
	for _, s := range sentences {
		if s.section == section && (s.engine == "" || s.engine == engine) {
			if text, ok := r.say(s, engine); ok {
				all = append(all, text)
			}
		}
	}
	return all
}

func (r Report) say(s sentence, engine string) (string, bool) {
	for condition := range strings.SplitSeq(s.when, ", ") {
		part := strings.Fields(condition)
		f, ok := r.figure(engine, s.from, part[0], part[1])
		if !ok || len(part) > 2 && f.Verdict != verdicts[part[2]] {
			return "", false
		}
	}
	complete := true
	text := placeholder.ReplaceAllStringFunc(s.text, func(match string) string {
		part := strings.Fields(strings.Trim(match, "{}"))
		from := s.from
		if where, ok := strings.CutPrefix(part[len(part)-1], "@"); ok {
			from, part = where, part[:len(part)-1]
		}
		if name, ok := strings.CutPrefix(part[0], "#"); ok {
			scenario, where, _ := strings.Cut(from, ":")
			g, found := r.group(engine, scenario, where)
			complete = complete && found
			return number(parse(g.Params.Get(name)), 0)
		}
		f, ok := r.figure(engine, from, part[0], part[1])
		complete = complete && ok
		if len(part) < 3 {
			return withUnit(f.Metric, f.Median)
		}
		complete = complete && (f.Verdict == measure.Same || f.Verdict == measure.Better || f.Verdict == measure.Worse)
		if f.Verdict == measure.Same && !f.Metric.Exact {
			return fmt.Sprintf("%s times (no difference shown)", factor(f.Ratio))
		}
		return factor(f.Ratio) + " times"
	})
	return text, complete
}

var verdicts = map[string]measure.Verdict{"same": measure.Same, "better": measure.Better, "worse": measure.Worse}

// figure finds a figure of the case "scenario:where".
func (r Report) figure(engine, from, kind, metric string) (measure.Figure, bool) {
	scenario, where, _ := strings.Cut(from, ":")
	g, ok := r.group(engine, scenario, where)
	if !ok {
		return measure.Figure{}, false
	}
	return g.Figure(kind, metric)
}
