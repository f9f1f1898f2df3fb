package sqlfunc_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sqlflake/sqlflake/contrib/sqlfunc"
	"github.com/sqlflake/sqlflake/snowflake"
	"github.com/sqlflake/sqlflake/snowflake/lease"
	"github.com/sqlflake/sqlflake/snowflake/sqldb"
)

func next(t *testing.T, db sqldb.DB) snowflake.ID {
	t.Helper()
	return scan[snowflake.ID](t, db, "SELECT snowflake_next()")
}

func TestNextHasTheFieldsAndTheTime(t *testing.T) {
	s := openPostgres(t)
	for _, name := range snowflake.Presets() {
		layout := preset(name)
		if layout.End().Before(time.Now()) {
			continue
		}

		s.install(t, layout, sqlfunc.WithName(name), sqlfunc.WithWorker(layout.MaxWorker()))
		last := snowflake.ID(0)
		for range 20 {
			before := time.Now()
			id := scan[snowflake.ID](t, s, "SELECT "+name+"_next()")
			after := time.Now()
			parts := layout.Decompose(id)
			if err := layout.Validate(id); err != nil || parts.Worker != layout.MaxWorker() {
				t.Fatalf("%s: %d is %v, %v, want worker %d", name, id, parts, err, layout.MaxWorker())
			}

			if parts.Time.Before(before.Add(-layout.Tick())) || parts.Time.After(after.Add(layout.Tick())) {
				t.Fatalf("%s: %d is of %v, made between %v and %v", name, id, parts.Time, before, after)
			}

			if layout.Fields()[len(layout.Fields())-1].Name == snowflake.FieldSequence && id <= last {
				t.Fatalf("%s: %d after %d", name, id, last)
			}

			last = id
		}
	}
}

// All connections have inserted before the first of them commits, so none waits for the end of another transaction.
// Layouts with few numbers a tick reach the lead, wait, and use the guard all the time.
func TestNextIsUniqueUnderEightConnections(t *testing.T) {
	const connections, few, lead = 8, 2_000, 20 * time.Millisecond
	many := 5_000
	if isLong() {
		many = 100_000
	}

	for name, test := range map[string]struct {
		layout snowflake.Layout
		each   int
		lead   time.Duration
	}{
		"default":        {snowflake.Default(), many, sqlfunc.MaxLead},
		"javascriptsafe": {preset("javascriptsafe"), few, lead},
		"sonyflake":      {preset("sonyflake"), few, lead},
		"resource":       {preset("resource"), few, lead},
		"clustered":      {preset("clustered"), few, lead},
		"scattered":      {preset("scattered"), few, lead},
		"mastodon":       {preset("mastodon"), few, lead}, // each ID under the lock
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := openPostgres(t)
			s.install(t, test.layout, sqlfunc.WithWorker(test.layout.MaxWorker()), sqlfunc.WithLead(test.lead))
			s.exec(t, "CREATE TABLE events (id bigint, client int, n int, at timestamptz DEFAULT clock_timestamp())")
			s.insertTogether(t, connections, test.each)
			wantValue(t, s, connections*test.each, "SELECT count(DISTINCT id) FROM events")
			ahead := scan[float64](t, s, "SELECT max(extract(epoch FROM snowflake_time(id) - at)) FROM events")
			if ahead > test.lead.Seconds() {
				t.Errorf("an ID is %v s ahead of its insertion, the lead is %v", ahead, test.lead)
			}

			if name == "default" { // each ID is above the connection's one before
				wantValue(t, s, 0, `SELECT count(*) FROM (SELECT id <= lag(id) OVER (PARTITION BY client ORDER BY n) AS wrong
					FROM events) AS steps WHERE wrong`)
			}
		})
	}
}

// insertTogether inserts rows on several connections, and commits when all have inserted.
func (s server) insertTogether(t *testing.T, connections, each int) {
	t.Helper()
	ctx, stop := context.WithTimeout(t.Context(), 5*time.Minute) // if one waited
	defer stop()
	var inserted, committed sync.WaitGroup
	inserted.Add(connections)
	for client := range connections {
		tx := s.begin(t)
		committed.Go(func() {
			_, err := tx.ExecContext(ctx, fmt.Sprintf("INSERT INTO events SELECT snowflake_next(), %d, seq FROM %s", client, series(each)))
			inserted.Done()
			inserted.Wait()
			if err := errors.Join(err, tx.Commit()); err != nil {
				t.Error(err)
			}
		})
	}

	committed.Wait()
}

// Each reading of the clock is a second later than the one before, as for a session that inserts single rows. The hashes
// of the ticks are the same in each run.
func TestNextSpreadsIDsThatSortByTheSequence(t *testing.T) {
	const rows, ranges = 4096, 16
	s := openPostgres(t)
	s.exec(t, "CREATE SEQUENCE seconds")
	clock := fmt.Sprintf("timestamptz '2026-01-01 00:00:00Z' + interval '1 s' * nextval('%s.seconds')", s.schema)
	s.install(t, snowflake.Scattered(), sqlfunc.WithWorker(7), sqlfunc.WithClock(clock))

	var counts [ranges]int
	for _, id := range scanAll[snowflake.ID](t, s, "SELECT snowflake_next() FROM "+series(rows)) {
		counts[id>>59]++
	}
	if most := slices.Max(counts[:]); most > rows/ranges*3/2 {
		t.Errorf("the fullest of %d ranges has %d of %d rows: %v", ranges, most, rows, counts)
	}
}

// The clock stands still, so only the state prevents duplicates.
func TestNextDoesNotGoBackOnRollback(t *testing.T) {
	s := openPostgres(t)
	s.install(t, snowflake.Default(), sqlfunc.WithWorker(1), s.at(time.Date(2027, 1, 15, 8, 0, 0, 0, time.UTC)))
	var ids []snowflake.ID
	for range 20 {
		tx := s.begin(t)
		ids = append(ids, scanAll[snowflake.ID](t, tx, "SELECT snowflake_next() FROM "+series(10))...)
		must(t, tx.Rollback())
		ids = append(ids, next(t, s))
	}
	if !slices.IsSorted(ids) || len(slices.Compact(ids)) != 220 {
		t.Errorf("not in order: %v", ids)
	}
}

func TestNextContinuesWhenTheClockIsSetBack(t *testing.T) {
	start := time.Date(2026, 6, 1, 12, 0, 0, 0, time.UTC)
	s := openPostgres(t)
	for _, name := range []string{"javascriptsafe", "sonyflake", "mastodon", "seconds", "clustered"} {
		layout := preset(name)
		install := func(at time.Time) {
			t.Helper()
			s.install(t, layout, sqlfunc.WithName(name), sqlfunc.WithWorker(0), sqlfunc.WithLead(5*time.Second), s.at(at))
		}

		var last, first snowflake.ID
		for _, step := range []struct {
			clock, from, to time.Duration // after the start
		}{
			{0, 0, 5 * time.Second},
			{-time.Millisecond, 0, 5 * time.Second},
			{-time.Second, 0, 5 * time.Second},
			{-3 * time.Second, 0, 5 * time.Second},
			{time.Hour, time.Hour, time.Hour + 5*time.Second},
		} {
			if step.clock > 0 {
				install(start.Add(-time.Hour))
				s.fails(t, s, "SELECT "+name+"_next()", "55000", "s ahead of the clock, 5s is the lead")
			}

			install(start.Add(step.clock))
			ids := scanAll[snowflake.ID](t, s, "SELECT "+name+"_next() FROM "+series(300))
			first = ids[0]
			if first <= last || !slices.IsSorted(ids) || len(slices.Compact(ids)) != 300 {
				t.Fatalf("%s, the clock at %v: %d after %d, then %v", name, step.clock, first, last, ids)
			}

			last = ids[299]
			if at := layout.Time(first); at.Before(start.Add(step.from)) || at.After(start.Add(step.to)) {
				t.Errorf("%s, the clock at %v: the first ID is of %v", name, step.clock, at)
			}
		}
	}
}

func TestNextWaitsAtMostASecond(t *testing.T) {
	s := openPostgres(t)
	layout := snowflake.Default()
	ahead := time.Now().Add(600 * time.Millisecond)
	s.install(t, layout, sqlfunc.WithWorker(1), sqlfunc.WithLead(0), s.at(ahead))
	first := next(t, s)
	s.install(t, layout, sqlfunc.WithWorker(1), sqlfunc.WithLead(0))
	id := next(t, s)
	if at, now := layout.Time(id), time.Now(); id <= first || at.After(now) {
		t.Errorf("%d after %d is of %v, at %v", id, first, at, now)
	}
}

func TestNextEndsWithTheLayout(t *testing.T) {
	s := openPostgres(t)
	layout := parse(t, "epoch=2026-01-01T00:00:00Z tick=1s time:8 worker:4 sequence:2")
	install := func(at time.Time) { s.install(t, layout, sqlfunc.WithWorker(3), s.at(at)) }
	install(layout.End().Add(-time.Microsecond))
	for sequence := range int64(4) {
		parts := layout.Decompose(next(t, s))
		if parts.Sequence != sequence || !parts.Time.Equal(layout.End().Add(-time.Second)) {
			t.Errorf("ID %d is %v", sequence, parts)
		}
	}

	for _, at := range []time.Time{layout.End().Add(-time.Second), layout.End(), layout.End().AddDate(100, 0, 0)} {
		install(at)
		s.fails(t, s, "SELECT snowflake_next()", "2200H", "it ends at 2026-01-01 00:04:16 UTC")
	}
}

func TestNextDoesNotStartBeforeTheEpoch(t *testing.T) {
	s := openPostgres(t)
	for name, layout := range map[string]snowflake.Layout{
		"default": snowflake.Default(),
		"odd":     parse(t, "epoch=2025-01-01T00:00:00.000000001Z tick=1.000001s time:30 worker:3 sequence:20"),
	} {
		install := func(at time.Time) {
			s.install(t, layout, sqlfunc.WithName(name), sqlfunc.WithWorker(0), s.at(at))
		}

		epoch := floor(layout.Epoch().Add(time.Microsecond - 1))
		for _, early := range []time.Duration{time.Microsecond, layout.Tick() - time.Microsecond, layout.Tick(), time.Hour} {
			install(epoch.Add(-early))
			s.fails(t, s, "SELECT "+name+"_next()", "55000", "before the epoch, 2025-01-01 00:00:00")
		}

		install(epoch)
		if id := scan[snowflake.ID](t, s, "SELECT "+name+"_next()"); id <= 0 || !layout.Time(id).Equal(layout.Epoch()) {
			t.Errorf("%s: the first ID is %d, of %v; 0 means none", name, id, layout.Time(id))
		}

		install(epoch.Add(-1)) // also when IDs were issued
		s.fails(t, s, "SELECT "+name+"_next()", "55000", "before the epoch")
	}
}

// Calls of nextval past the last sequence number use up the guard, which lasts for one call of each session. Waiting
// calls use nothing of it.
func TestPostgresNextDoesNotUseUpTheGuardWhileItWaits(t *testing.T) {
	db := openPostgres(t)
	layout := snowflake.Default()
	db.install(t, layout, sqlfunc.WithWorker(1), sqlfunc.WithLead(0), db.at(layout.Epoch().Add(time.Hour)))
	const full = "(3600000::bigint << 19) + 4095"
	db.exec(t, "SELECT setval('snowflake_state', "+full+")")
	conn := db.conn(t, "statement_timeout = 10")
	for range 3 {
		db.fails(t, conn, "SELECT snowflake_next()", "57014", "") // query_canceled: the clock stands still
	}
	wantValue(t, db, 0, "SELECT last_value - ("+full+") FROM snowflake_state")
}

// The state stays where a clock was years ahead for a moment. With another worker it can start again.
func TestNextStartsAgainWithAnotherWorker(t *testing.T) {
	s := openPostgres(t)
	s.install(t, snowflake.Default(), sqlfunc.WithWorker(1), s.at(time.Date(2090, 1, 1, 0, 0, 0, 0, time.UTC)))
	next(t, s)
	s.install(t, snowflake.Default(), sqlfunc.WithWorker(1))
	s.fails(t, s, "SELECT snowflake_next()", "55000", "ahead of the clock, 10s is the lead")
	s.install(t, snowflake.Default(), sqlfunc.WithWorker(2))
	s.exec(t, "SELECT setval('snowflake_state', 1)")
	first, second := next(t, s), next(t, s)
	if parts := snowflake.Default().Decompose(first); time.Since(parts.Time).Abs() > time.Minute || parts.Worker != 2 || second <= first {
		t.Errorf("the IDs are %v and %d", parts, second)
	}
}

func TestNewRefusesInvalidArguments(t *testing.T) {
	layout := func(name string) snowflake.Layout {
		return snowflake.MustLayout(time.Unix(0, 0), time.Millisecond, snowflake.Field{Name: "time", Bits: 41},
			snowflake.Field{Name: "sequence", Bits: 8}, snowflake.Field{Name: name, Bits: 3})
	}

	long := layout(strings.Repeat("f", 64))
	_, err := sqlfunc.New(layout(strings.Repeat("f", 63)))
	must(t, err)
	with := func(options ...sqlfunc.Option) []sqlfunc.Option { return options }
	worker := sqlfunc.WithWorker
	twitter := preset("twitter")
	for name, test := range map[string]struct {
		layout  snowflake.Layout
		options []sqlfunc.Option
		want    error
	}{
		"the zero layout":           {snowflake.Layout{}, nil, snowflake.ErrLayout},
		"a long field name":         {long, nil, snowflake.ErrLayout},
		"a nil option":              {twitter, with(nil), sqlfunc.ErrOption},
		"a worker above":            {twitter, with(worker(32)), snowflake.ErrFieldRange},
		"a worker below 0":          {twitter, with(worker(-1)), snowflake.ErrFieldRange},
		"a worker, and no field":    {preset("mastodon"), with(worker(1)), snowflake.ErrFieldRange},
		"no name":                   {twitter, with(sqlfunc.WithName("")), sqlfunc.ErrOption},
		"a name with a quote":       {twitter, with(sqlfunc.WithName(`a"b`)), sqlfunc.ErrOption},
		"a name with a capital":     {twitter, with(sqlfunc.WithName("Orders")), sqlfunc.ErrOption},
		"a name with a line":        {twitter, with(sqlfunc.WithName("orders\n")), sqlfunc.ErrOption},
		"a name of 49 bytes":        {twitter, with(sqlfunc.WithName(strings.Repeat("n", 49))), sqlfunc.ErrOption},
		"no schema":                 {twitter, with(sqlfunc.WithSchema("")), sqlfunc.ErrOption},
		"a schema with a zero byte": {twitter, with(sqlfunc.WithSchema("a\x00")), sqlfunc.ErrOption},
		"a schema not in UTF-8":     {twitter, with(sqlfunc.WithSchema("a\xff")), sqlfunc.ErrOption},
		"a schema of 64 bytes":      {twitter, with(sqlfunc.WithSchema(strings.Repeat("n", 64))), sqlfunc.ErrOption},
		"a lease table injected":    {twitter, with(worker(1), sqlfunc.WithLeaseTables(`x"; --`, "n")), sqlfunc.ErrOption},
		"no namespace":              {twitter, with(worker(1), sqlfunc.WithLeaseTables("", "")), lease.ErrOption},
		"a lease without a worker":  {twitter, with(sqlfunc.WithLeaseTables("", "n")), sqlfunc.ErrOption},
	} {
		if f, err := sqlfunc.New(test.layout, test.options...); f != nil || !errors.Is(err, test.want) {
			t.Errorf("%s: %v, %v, want %v", name, f, err, test.want)
		}
	}

	_, err = sqlfunc.New(twitter, worker(math.MaxInt64))
	if err == nil || !strings.Contains(err.Error(), "worker") {
		t.Errorf("error %v, want one that names the field", err)
	}
}

func TestOtherDialectsAreRefused(t *testing.T) {
	f, err := sqlfunc.New(snowflake.Default())
	must(t, err)
	for _, dialect := range []sqldb.Dialect{"", sqldb.SQLite, "oracle"} {
		_, script := f.Script(dialect)
		_, drop := f.Drop(dialect)
		for _, err := range []error{script, drop, f.Install(t.Context(), nil, dialect)} {
			if !errors.Is(err, sqlfunc.ErrOption) {
				t.Errorf("%v: %v, want ErrOption", dialect, err)
			}
		}
	}
}

// BenchmarkPostgresInsert inserts rows in one statement; the server makes the keys.
func BenchmarkPostgresInsert(b *testing.B) {
	for _, key := range []struct{ name, column string }{
		{"none/heap", "id bigint DEFAULT 1"},
		{"bigserial/heap", "id bigserial"},
		{"bigserial/key", "id bigserial PRIMARY KEY"},
		{"snowflake/heap", "id bigint DEFAULT snowflake_next()"},
		{"snowflake/key", "id bigint DEFAULT snowflake_next() PRIMARY KEY"},
		{"mastodon/key", "id bigint DEFAULT status_next() PRIMARY KEY"}, // each ID under the lock
		{"uuid/key", "id uuid DEFAULT gen_random_uuid() PRIMARY KEY"},
	} {
		b.Run(key.name, func(b *testing.B) {
			db := openPostgres(b)
			db.install(b, snowflake.Default(), sqlfunc.WithWorker(1))
			db.install(b, preset("mastodon"), sqlfunc.WithWorker(0), sqlfunc.WithName("status"))
			db.exec(b, "CREATE TABLE events ("+key.column+", n int)")
			b.ResetTimer()
			db.exec(b, fmt.Sprintf("INSERT INTO events (n) SELECT generate_series(1, %d)", b.N))
		})
	}
}
