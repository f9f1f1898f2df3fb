package spec

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"maps"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/sqlflake/sqlflake/internal/testdb"
	"github.com/sqlflake/sqlflake/snowflake"
)

// example is the example of section 7.
type example struct {
	clock              int64 // of the server, in milliseconds since 1970
	tick               int64 // of the layout at that time
	window, lead, skew time.Duration
	steps              []step
}

// step is a row of its table.
type step struct {
	call   string
	later  time.Duration // since the step before
	frozen int64         // the tick at which the generator was frozen; 0: it was not
	values values
	lease  string // after it: epoch, token, horizon, expires_ms; empty: not stated
	isLost bool   // instead no row changes
}

// values are parameters by their names. Each stays until a later step has another one.
type values map[string]any

// The parts of the example.
var (
	exampleStart = "An example, with the default layout,"
	exampleFacts = regexp.MustCompile(`window of (\d+) s, a lead of (\d+) ms and a skew of (\d+) s\. ` +
		`The server's clock shows\s+(\d+), which is tick ([\d,]+) of`)
	exampleRow    = regexp.MustCompile("(?m)^\\|(.*`\\w+`.*)\\|(.*)\\|(.*)\\|$")
	exampleCall   = regexp.MustCompile("`(\\w+)`")
	exampleLater  = regexp.MustCompile(`(\d+) s later`)
	exampleFrozen = regexp.MustCompile(`frozen at tick (\d+)`)
	exampleValue  = regexp.MustCompile(`^(\w+) (\w+)$`)
)

// exampleText returns the example from SPEC.md.
func exampleText(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile("../../docs/SPEC.md")
	must(t, err)
	at := strings.Index(string(text), exampleStart)
	if at < 0 {
		t.Fatalf("SPEC.md has no %q", exampleStart)
	}
	return string(text)[at:]
}

func parseExample(text string) (*example, error) {
	facts := exampleFacts.FindStringSubmatch(text)
	if facts == nil {
		return nil, errors.New("no window, lead, skew, clock and tick")
	}
	x := &example{
		window: time.Duration(figure(facts[1])) * time.Second,
		lead:   time.Duration(figure(facts[2])) * time.Millisecond,
		skew:   time.Duration(figure(facts[3])) * time.Second,
		clock:  figure(facts[4]),
		tick:   figure(facts[5]),
	}

	for _, row := range exampleRow.FindAllStringSubmatch(text, -1) {
		s := step{call: exampleCall.FindStringSubmatch(row[1])[1], values: values{}, lease: strings.TrimSpace(row[3])}
		if later := exampleLater.FindStringSubmatch(row[1]); later != nil {
			s.later = time.Duration(figure(later[1])) * time.Second
		}
		if frozen := exampleFrozen.FindStringSubmatch(row[1]); frozen != nil {
			s.frozen = figure(frozen[1])
		}
		s.isLost = strings.HasPrefix(s.lease, "no row changes")

		for given := range strings.SplitSeq(strings.TrimSpace(row[2]), ", ") {
			value := exampleValue.FindStringSubmatch(given)
			if value == nil {
				return nil, fmt.Errorf("%s has the parameter %q", s.call, given)
			}
			s.values[value[1]] = value[2]
			if n, err := strconv.ParseInt(value[2], 10, 64); err == nil {
				s.values[value[1]] = n
			}
		}
		x.steps = append(x.steps, s)
	}

	if len(x.steps) == 0 {
		return nil, errors.New("no table")
	}
	return x, nil
}

// figure is for what a pattern of digits and commas has found.
func figure(digits string) int64 {
	n, _ := strconv.ParseInt(strings.ReplaceAll(digits, ",", ""), 10, 64)
	return n
}

// engine executes the statements of one of the three files, as a program in another language does.
type engine struct {
	db         *sql.DB
	statements map[string]string // by the names in SPEC.md
	now        string            // what they have for the server's clock
	numbered   string            // the sign before a parameter's number; empty: parameters are "?"
}

var statementText = regexp.MustCompile("const (?:postgres|mysql|sqlite)(\\w+) = `([^`]*)`")

func newEngine(t *testing.T, target testdb.Target) *engine {
	t.Helper()
	e := map[string]*engine{
		"postgres": {
			now:      "CAST(pg_catalog.floor(EXTRACT(EPOCH FROM pg_catalog.clock_timestamp()) * 1000) AS bigint)",
			numbered: "$",
		},
		"mariadb": {now: "TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(3)) DIV 1000"},
		"sqlite":  {now: "CAST(ROUND((julianday('now') - 2440587.5) * 86400000) AS INTEGER)", numbered: "?"},
	}[target.Name]
	file := map[string]string{"postgres": "postgres", "mariadb": "mysql", "sqlite": "sqlite"}[target.Name]

	source, err := os.ReadFile("../../snowflake/lease/sqllease/" + file + ".go")
	must(t, err)
	e.db, e.statements = target.Open(t), map[string]string{}
	for _, found := range statementText.FindAllStringSubmatch(string(source), -1) {
		e.statements[found[1]] = strings.NewReplacer(
			"{namespaces}", "snowflake_namespaces", "{leases}", "snowflake_leases", "{server}", "''").Replace(found[2])
	}
	return e
}

var parameter = regexp.MustCompile(`:([a-z_]+)`)

// execute runs a statement while the server's clock shows now, and returns how many rows it has changed or read, and
// the first value of the last one.
func (e *engine) execute(ctx context.Context, name string, now int64, given values) (rows int64, first any, err error) {
	text, ok := e.statements[name]
	if !ok {
		return 0, nil, fmt.Errorf("there is no statement %s", name)
	}

	text = strings.ReplaceAll(text, e.now, strconv.FormatInt(now, 10))
	var args []any
	var unknown []string
	text = parameter.ReplaceAllStringFunc(text, func(mark string) string {
		value, ok := given[mark[1:]]
		if !ok {
			unknown = append(unknown, mark)
		}
		args = append(args, value)
		if e.numbered == "" {
			return "?"
		}
		return e.numbered + strconv.Itoa(len(args))
	})
	if len(unknown) > 0 { // a missing one would be NULL
		return 0, nil, fmt.Errorf("%s: the example has no value for %q", name, unknown)
	}

	if !strings.HasPrefix(text, "SELECT") && !strings.Contains(text, "RETURNING") {
		result, err := e.db.ExecContext(ctx, text, args...)
		if err != nil {
			return 0, nil, fmt.Errorf("%s: %w", name, err)
		}
		rows, err = result.RowsAffected()
		return rows, nil, err
	}
	rows, first, err = e.query(ctx, text, args)
	if err != nil {
		err = fmt.Errorf("%s: %w", name, err)
	}
	return rows, first, err
}

func (e *engine) query(ctx context.Context, text string, args []any) (rows int64, first any, err error) {
	answer, err := e.db.QueryContext(ctx, text, args...)
	if err != nil {
		return 0, nil, err
	}
	defer func() { _ = answer.Close() }() // Err says what has failed
	columns, err := answer.Columns()
	if err != nil {
		return 0, nil, err
	}

	row := make([]any, len(columns))
	row[0] = &first
	for i := range row[1:] {
		row[i+1] = new(any)
	}
	for answer.Next() {
		if err := answer.Scan(row...); err != nil {
			return 0, nil, err
		}
		rows++
	}
	return rows, first, answer.Err()
}

// empty makes both tables anew.
func (e *engine) empty(ctx context.Context) error {
	for _, text := range []string{
		"DROP TABLE IF EXISTS snowflake_leases", "DROP TABLE IF EXISTS snowflake_namespaces",
		e.statements["CreateNamespaces"], e.statements["CreateLeases"],
	} {
		if _, err := e.db.ExecContext(ctx, text); err != nil {
			return err
		}
	}
	return nil
}

// lease returns the only lease as the example shows one, and its claim.
func (e *engine) lease(ctx context.Context) (shown, claim string, err error) {
	var epoch, horizon, expires int64
	var token string
	err = e.db.QueryRowContext(ctx, "SELECT epoch, token, horizon, expires_ms FROM snowflake_leases").
		Scan(&epoch, &token, &horizon, &expires)
	return fmt.Sprintf("%d, %s, %d, %d", epoch, token, horizon, expires), fmt.Sprintf("%d, %s", epoch, token), err
}

// check executes the example, and returns the first thing that it says and is not so.
func (x *example) check(ctx context.Context, e *engine) error {
	layout := snowflake.Default()
	if err := e.empty(ctx); err != nil {
		return err
	}
	tickAt := func(clock int64) int64 { return int64(time.UnixMilli(clock).Sub(layout.Epoch()) / layout.Tick()) }
	if tick := tickAt(x.clock); tick != x.tick {
		return fmt.Errorf("the clock shows tick %d, not %d", tick, x.tick)
	}

	// What the example does not give, as a new namespace has it. The reach may end within a tick.
	given := values{
		"namespace": "orders", "layout": layout.String(), "generation": 0, "server_since_ms": 0, "revision": 0, "epoch": 1,
		"reserved_for": "", "host": "host", "pid": 1, "version": "", "first_worker": 0, "last_worker": layout.MaxWorker(),
	}
	reach := (x.window + x.lead + x.skew + layout.Tick()).Milliseconds()
	clock, claim, before := x.clock, "", ""
	for _, s := range x.steps {
		clock += s.later.Milliseconds()
		maps.Copy(given, s.values)
		if err := x.checkValues(ctx, e, s, clock, given, tickAt(clock), reach); err != nil {
			return err
		}

		rows, first, err := e.execute(ctx, s.call, clock, given)
		if err != nil {
			return err
		}
		if changes := rows > 0; changes == s.isLost {
			return fmt.Errorf("%s changes %d rows", s.call, rows)
		}
		if s.call == "AddNamespace" {
			continue // there is no lease yet
		}

		lease, owner, err := e.lease(ctx)
		switch {
		case err != nil:
			return err
		case !s.isLost && lease != s.lease:
			return fmt.Errorf("after %s the lease is %s, not %s", s.call, lease, s.lease)
		case s.isLost && fmt.Sprintf("%d, %s", given["epoch"], given["token"]) != before:
			return fmt.Errorf("the first process has the claim %s", before)
		case s.call == "TakeOver" && first != nil && !strings.Contains(lease, fmt.Sprintf(", %v, ", first)):
			return fmt.Errorf("TakeOver returns the horizon %v, and the lease is %s", first, lease)
		}
		if s.call == "TakeOver" {
			before = claim
		}
		claim = owner
	}
	return nil
}

// checkValues checks the parameters of a step by the rules of the section.
func (x *example) checkValues(
	ctx context.Context, e *engine, s step, clock int64, given values, tick, reach int64,
) error {
	fail := func(want any) error { return fmt.Errorf("%s has %v, want %v", s.call, s.values, want) }
	switch s.call {
	case "AddNamespace":
		if given["reach_ms"] != reach {
			return fail(reach)
		}

	case "AddLease":
		_, unused, err := e.execute(ctx, "Gap", clock, given)
		if err != nil {
			return err
		}
		if given["worker"] != unused {
			return fail(unused)
		}

	case "Extend":
		if horizon := tick + (x.window + x.lead).Milliseconds(); !s.isLost && given["horizon"] != horizon {
			return fail(horizon)
		}

	case "Release":
		if s.frozen != tick || given["horizon"] != tick+1 {
			return fail(tick + 1)
		}
	}

	return nil
}

func TestTheExampleOfALeaseIsWhatDatabasesDo(t *testing.T) {
	x, err := parseExample(exampleText(t))
	must(t, err)
	testdb.Each(t, func(t *testing.T, target testdb.Target) {
		if err := x.check(t.Context(), newEngine(t, target)); err != nil {
			t.Error(err)
		}
	})
}
