package settled_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	_ "github.com/go-sql-driver/mysql"
	_ "github.com/jackc/pgx/v5/stdlib"

	"github.com/sqlflake/sqlflake/contrib/settled"
	"github.com/sqlflake/sqlflake/internal/dbserver"
	"github.com/sqlflake/sqlflake/internal/skip"
	"github.com/sqlflake/sqlflake/internal/sqltable"
	"github.com/sqlflake/sqlflake/internal/testclock"
	"github.com/sqlflake/sqlflake/internal/testdb"
	"github.com/sqlflake/sqlflake/snowflake"
	"github.com/sqlflake/sqlflake/snowflake/lease"
	"github.com/sqlflake/sqlflake/snowflake/lease/leasestore"
	"github.com/sqlflake/sqlflake/snowflake/lease/sqllease"
	"github.com/sqlflake/sqlflake/snowflake/sqldb"
)

func TestBoundIsTheMarginBeforeTheDatabasesTime(t *testing.T) {
	testdb.Each(t, func(t *testing.T, target testdb.Target) {
		db := target.Open(t)
		for _, layout := range []snowflake.Layout{snowflake.Default(), snowflake.Clustered()} {
			before := time.Now()
			b := passes(t, 1, func() (settled.Bound, error) {
				b, err := settled.Read(t.Context(), db, dialectOf(target), layout)
				if err == nil && b.Lag > time.Minute { // by a transaction of another test
					err = errors.New(b.Reason)
				}
				return b, err
			})
			if b.Lag < settled.DefaultMargin {
				t.Errorf("the lag is %v, want the margin", b.Lag)
			}

			// The clock is that of this machine.
			at := layout.Time(b.Below).Add(b.Lag)
			if at.Add(layout.Period()).Before(before.Add(-5*time.Second)) || at.After(time.Now().Add(5*time.Second)) {
				t.Errorf("the bound is %v before %v, and it is %v", b.Lag, at, before)
			}

			if id, err := layout.MinAt(layout.Time(b.Below)); id != b.Below || err != nil {
				t.Errorf("the bound %d does not begin a period, %v", b.Below, err)
			}
		}
	})
}

func TestReadRejectsWhatHasNoBound(t *testing.T) {
	db, usual := testdb.SQLite(t).Open(t), snowflake.Default()
	layout := func(epoch time.Time, fields ...snowflake.Field) snowflake.Layout {
		return snowflake.MustLayout(epoch, time.Millisecond, append(fields, snowflake.Field{Name: "sequence", Bits: 10})...)
	}

	bits := func(n int) snowflake.Field { return snowflake.Field{Name: "time", Bits: n} }
	shard := layout(time.Unix(0, 0), snowflake.Field{Name: "shard", Bits: 4}, bits(42))
	strange := []leasestore.Entry{{Held: true, Horizon: 1, Expires: time.Now(), Layout: "?"}}
	for name, c := range map[string]struct {
		dialect sqldb.Dialect
		layout  snowflake.Layout
		option  settled.Option
		want    error
	}{
		"dialect":        {"oracle", usual, settled.WithMargin(0), settled.ErrOption},
		"margin":         {sqldb.SQLite, usual, settled.WithMargin(-1), settled.ErrOption},
		"nil option":     {sqldb.SQLite, usual, nil, settled.ErrOption},
		"nil store":      {sqldb.SQLite, usual, settled.WithLeases(nil, "a", 0), settled.ErrOption},
		"no namespace":   {sqldb.SQLite, usual, settled.WithLeases(&sqllease.Store{}, "", 0), settled.ErrOption},
		"long window":    {sqldb.SQLite, usual, settled.WithLeases(&sqllease.Store{}, "a", lease.MaxWindow+1), settled.ErrOption},
		"store":          {sqldb.SQLite, usual, settled.WithLeases(fakeStore{err: errBroken}, "a", 0), errBroken},
		"lease's layout": {sqldb.SQLite, usual, settled.WithLeases(fakeStore{entries: strange}, "a", 0), snowflake.ErrLayout},
		"zero layout":    {sqldb.SQLite, snowflake.Layout{}, settled.WithMargin(0), snowflake.ErrLayout},
		"scattered":      {sqldb.SQLite, snowflake.Scattered(), settled.WithMargin(0), snowflake.ErrFieldOrder},
		"field order":    {sqldb.SQLite, shard, settled.WithMargin(0), snowflake.ErrFieldOrder},
		"after its end":  {sqldb.SQLite, layout(time.Unix(0, 0), bits(20)), settled.WithMargin(0), snowflake.ErrTimeExhausted},
		"before epoch":   {sqldb.SQLite, layout(time.Now().Add(time.Hour), bits(41)), settled.WithMargin(0), nil}, // before it
	} {
		b, err := settled.Read(t.Context(), db, c.dialect, c.layout, c.option)
		if !errors.Is(err, c.want) || b.Below != 0 || err != nil && b != (settled.Bound{}) {
			t.Errorf("%s: %+v, %v, want %v", name, b, err, c.want)
		}
	}

	if _, err := settled.Read(t.Context(), nil, sqldb.SQLite, usual); !errors.Is(err, settled.ErrOption) {
		t.Errorf("without a database: %v", err)
	}
}

var errBroken = errors.New("broken")

type fakeStore struct {
	leasestore.Store
	entries []leasestore.Entry
	err     error
}

func (s fakeStore) List(context.Context, string) ([]leasestore.Entry, error) { return s.entries, s.err }

func newStore(t *testing.T, db *sql.DB) *sqllease.Store {
	t.Helper()
	store, err := sqllease.New(db, sqldb.SQLite)
	must(t, err)
	must(t, store.Migrate(t.Context()))
	return store
}

func openLease(t *testing.T, store leasestore.Store, opts ...lease.Option) *lease.Lease {
	t.Helper()
	l, err := lease.Open(t.Context(), store, append(opts, lease.WithLogger(slog.New(slog.DiscardHandler)))...)
	must(t, err)
	t.Cleanup(func() { _ = l.Close(context.WithoutCancel(t.Context())) })
	return l
}

// On SQLite no other test has transactions.
func TestLaggingClockOfALeaseHoldsTheBound(t *testing.T) {
	db := testdb.SQLite(t).Open(t)
	store := newStore(t, db)
	const window, behind = 2 * time.Minute, time.Minute // the time that an extension takes counts, too
	read := func(window time.Duration) settled.Bound {
		t.Helper()
		b, err := settled.Read(t.Context(), db, sqldb.SQLite, snowflake.Default(), settled.WithMargin(time.Second),
			settled.WithLeases(store, lease.DefaultNamespace, window))
		must(t, err)
		return b
	}

	lag := func(window time.Duration) time.Duration { return read(window).Lag - time.Second }
	if got := lag(window); got != 0 {
		t.Errorf("without leases the lag is %v, want 0", got)
	}

	openLease(t, store, lease.WithWindow(window)) // its clock is right
	if got := lag(window); got > behind/2 {
		t.Errorf("the lag is %v with a right clock", got)
	}

	late := openLease(t, store, lease.WithWindow(window), lease.WithMaxSkew(2*behind), lease.WithClock(testclock.New(-behind)))
	id := late.Generator().MustNext()
	if b := read(window); b.Below > id || !strings.Contains(b.Reason, "behind") {
		t.Errorf("%+v, above %d of a clock that is %v behind", b, id, behind)
	}

	for _, known := range []time.Duration{0, window / 2, window} {
		if got := lag(known); got < behind-time.Second || got > behind+window/3 {
			t.Errorf("the lag is %v with a clock that is %v behind, if the window is at least %v", got, behind, known)
		}
	}

	must(t, late.Close(t.Context()))
	if got := lag(0); got > behind/2 {
		t.Errorf("the lag is %v after the late one has closed", got)
	}
}

// Only a lease whose owner issues IDs, in a store with a clock, shows a lag. The layout of others is not read.
func TestLeasesThatHoldTheBound(t *testing.T) {
	db, text := testdb.SQLite(t).Open(t), snowflake.Default().String()
	expires := time.Now().Add(2 * lease.DefaultWindow) // as of an extension now
	for name, c := range map[string]struct {
		entry leasestore.Entry
		holds bool
	}{
		"smallest horizon": {leasestore.Entry{Held: true, Horizon: 1, Expires: expires, Layout: text}, true}, // years behind
		"no horizon":       {leasestore.Entry{Held: true, Expires: expires, Layout: "?"}, false},
		"free":             {leasestore.Entry{Horizon: 1, Expires: expires, Layout: "?"}, false},
		"no clock":         {leasestore.Entry{Held: true, Horizon: 1, Layout: "?"}, false},
	} {
		b, err := settled.Read(t.Context(), db, sqldb.SQLite, snowflake.Default(), settled.WithMargin(0),
			settled.WithLeases(fakeStore{entries: []leasestore.Entry{c.entry}}, "a", lease.DefaultWindow))
		if err != nil || (b.Lag > 0) != c.holds || (b.Below == 0) != c.holds {
			t.Errorf("%s: %+v, %v, want a lag: %t", name, b, err, c.holds)
		}
	}
}

// An extension rounds its window up to ticks.
func TestTickThatAWindowBeginsIsNoLead(t *testing.T) {
	layout := snowflake.Default()
	for window, ticks := range map[time.Duration]int64{
		2 * time.Millisecond: 2, 2*time.Millisecond + 1: 3, 3*time.Millisecond - 1: 3, 3 * time.Millisecond: 3,
	} {
		e := leasestore.Entry{Expires: layout.Start(1000).Add(2 * window)}
		e.Horizon = 1000 + ticks
		if got := settled.Lag(e, layout, window, e.Expires); got != 0 {
			t.Errorf("with a window of %v the lag is %v, want 0", window, got)
		}
	}
}

func TestTickOfALeaseIsNoReason(t *testing.T) {
	db := testdb.SQLite(t).Open(t)
	store := newStore(t, db)
	// The time of the test is the last third of a tick, which does not end meanwhile.
	layout := snowflake.MustLayout(time.Now().Add(-time.Hour-8*time.Minute), 12*time.Minute, snowflake.Field{Name: "time", Bits: 41},
		snowflake.Field{Name: "worker", Bits: 10}, snowflake.Field{Name: "sequence", Bits: 12})
	openLease(t, store, lease.WithGenerator(snowflake.WithLayout(layout)))
	b, err := settled.Read(t.Context(), db, sqldb.SQLite, layout, settled.WithLeases(store, lease.DefaultNamespace, lease.DefaultWindow))
	if err != nil || b.Lag < settled.DefaultMargin+10*time.Second || b.Reason != "" {
		t.Errorf("%+v, %v; want a lag of a part of a tick, and no reason", b, err)
	}
}

// Whoever may only create objects in a schema of the search_path runs nothing as a reader.
func TestNoCodeOfAStrangerRuns(t *testing.T) {
	testdb.EachTrapped(t, func(t *testing.T, victim testdb.Trapped) {
		_, err := settled.Read(t.Context(), victim.Open(t), sqldb.Postgres, snowflake.Default())
		must(t, err)
	})
}

func TestMain(m *testing.M) { os.Exit(testdb.Main(m)) }

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func dialectOf(target testdb.Target) sqldb.Dialect {
	return map[string]sqldb.Dialect{"postgres": sqldb.Postgres, "mariadb": sqldb.MySQL, "sqlite": sqldb.SQLite}[target.Name]
}

// startServer starts a server of this test's own, and returns its DSN. With settings of the machine's server the test
// could disturb others.
func startServer(t *testing.T, variable string, config dbserver.Config) string {
	t.Helper()
	config.NoSync = true
	server, err := dbserver.Start(t.Context(), config)
	if errors.Is(err, dbserver.ErrNotInstalled) {
		skip.Missing(t, variable, "%v", err)
	}
	must(t, err)
	t.Cleanup(func() { must(t, server.Stop()) })
	return server.DSN
}

func open(t *testing.T, driver, dsn string) *sql.DB {
	t.Helper()
	db, err := sql.Open(driver, dsn)
	must(t, err)
	t.Cleanup(func() { _ = db.Close() })
	return db
}

// session returns a connection, which is closed at the end of the test.
func session(t *testing.T, db *sql.DB) *sql.Conn {
	t.Helper()
	conn, err := db.Conn(t.Context())
	must(t, err)
	t.Cleanup(func() { _ = conn.Close() })
	return conn
}

type executor interface {
	ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
}

func exec(t *testing.T, db executor, statements ...string) {
	t.Helper()
	must(t, run(t.Context(), db, statements...))
}

// run executes statements up to one that fails.
func run(ctx context.Context, db executor, statements ...string) error {
	for _, statement := range statements {
		if _, err := db.ExecContext(ctx, statement); err != nil {
			return fmt.Errorf("%s: %w", statement, err)
		}
	}
	return nil
}

func insert(ids ...snowflake.ID) string {
	rows := strings.ReplaceAll(fmt.Sprint(ids), " ", "), (") // [1), (2]
	return "INSERT INTO events (id) VALUES (" + strings.Trim(rows, "[]") + ")"
}

func newGenerator(t *testing.T, worker int64, options ...snowflake.Option) *snowflake.Generator {
	t.Helper()
	g, err := snowflake.New(worker, options...)
	must(t, err)
	return g
}

// age returns by how much the ID is older than the next one.
func age(g *snowflake.Generator, id snowflake.ID) time.Duration {
	return snowflake.Default().Time(g.MustNext()).Sub(snowflake.Default().Time(id))
}

type reader = func() (settled.Bound, error)

// readerOf returns a reader with a margin.
func readerOf(t *testing.T, db *sql.DB, dialect sqldb.Dialect, margin time.Duration) reader {
	return func() (settled.Bound, error) {
		return settled.Read(t.Context(), db, dialect, snowflake.Default(), settled.WithMargin(margin))
	}
}

// holds checks that the bound stays at or below the ID, whose transaction is open, until it is enough.
func holds(t *testing.T, id snowflake.ID, read reader, enough func(b settled.Bound) bool) settled.Bound {
	t.Helper()
	for {
		b, err := read()
		if err != nil || b.Below > id {
			t.Fatalf("%+v, %v; the transaction that has drawn %d is open", b, err, id)
		}
		if enough(b) {
			return b
		}
	}
}

func wantUnknown(t *testing.T, read reader, reason string) {
	t.Helper()
	if b, err := read(); !errors.Is(err, settled.ErrUnknown) || !strings.Contains(err.Error(), reason) {
		t.Errorf("the bound %+v, error %v; want ErrUnknown with %q", b, err, reason)
	}
}

// passes waits until the bound is above the ID, also for transactions of other tests.
func passes(t *testing.T, id snowflake.ID, read reader) settled.Bound {
	t.Helper()
	for end := time.Now().Add(2 * time.Minute); ; time.Sleep(20 * time.Millisecond) {
		bound, err := read()
		if err == nil && bound.Below > id {
			return bound
		}
		if time.Now().After(end) {
			t.Fatalf("the bound %+v, %v does not pass %d", bound, err, id)
		}
	}
}

func TestReaderMissesNoRow(t *testing.T) {
	const snapshot = "START TRANSACTION WITH CONSISTENT SNAPSHOT"
	parts, err := snowflake.ParseLayout("epoch=2025-01-01T00:00:00Z tick=1ms time:33 worker:10 time:8 sequence:12") // periods of 256 ms
	must(t, err)
	for name, c := range map[string]struct {
		open   func(testing.TB) testdb.Target
		begin  string
		layout snowflake.Layout
	}{
		"postgres": {testdb.Postgres, "BEGIN", snowflake.Default()},
		"mariadb":  {testdb.MariaDB, snapshot, snowflake.Default()},
		"parts":    {testdb.MariaDB, snapshot, parts},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			testTrial(t, c.open(t), c.begin, c.layout)
		})
	}
}

// testTrial follows a table while transactions write to it. They are longer than the margin, so they are what counts. On a
// slow machine there are more of them, until a row has been read beside them.
func testTrial(t *testing.T, target testdb.Target, begin string, layout snowflake.Layout) {
	const writers, transactions = 6, 15
	db := target.Open(t)
	exec(t, db, "CREATE TABLE events (id bigint PRIMARY KEY)")
	var written [writers][]snowflake.ID
	var seen []snowflake.ID
	var found atomic.Bool
	var writing, reading sync.WaitGroup
	for worker := range writers {
		conn, gen := session(t, db), newGenerator(t, int64(worker), snowflake.WithLayout(layout))
		writing.Go(func() {
			for n := 0; n < transactions || n < 100*transactions && !found.Load(); n++ {
				ids, err := transact(t.Context(), conn, gen, begin)
				if err != nil {
					t.Error(err)
					return
				}
				written[worker] = append(written[worker], ids...)
			}
		})
	}

	read := func() (settled.Bound, error) {
		return settled.Read(t.Context(), db, dialectOf(target), layout, settled.WithMargin(200*time.Millisecond))
	}

	ctx, stop := context.WithCancel(t.Context())
	reading.Go(func() {
		for ctx.Err() == nil {
			time.Sleep(10 * time.Millisecond)
			bound, err := read()
			if err == nil {
				seen, err = follow(t.Context(), db, seen, bound)
				found.Store(found.Load() || len(seen) > 0)
			}
			if err != nil && !errors.Is(err, settled.ErrUnknown) { // other tests may read the lists of the server all the time
				t.Error(err)
				return
			}
		}
	})

	writing.Wait()
	stop()
	reading.Wait()
	if t.Failed() {
		return
	}

	if len(seen) == 0 {
		t.Error("no row was read while others were written: the trial shows nothing")
	}

	all := slices.Sorted(slices.Values(slices.Concat(written[:]...)))
	seen, err := follow(t.Context(), db, seen, passes(t, all[len(all)-1], read))
	if err != nil || !slices.Equal(seen, all) {
		t.Errorf("%d of %d rows were read, %v", len(seen), len(all), err)
	}
}

// transact inserts some rows in a transaction, which commits late or rolls back, and returns the IDs that it has
// committed.
func transact(ctx context.Context, conn *sql.Conn, gen *snowflake.Generator, begin string) ([]snowflake.ID, error) {
	ids := make([]snowflake.ID, 2+rand.N(8))
	half := len(ids) / 2
	pause := rand.N(5 * time.Millisecond)
	if rand.N(8) == 0 {
		pause = rand.N(1200 * time.Millisecond)
	}

	err := errors.Join(run(ctx, conn, begin), gen.Fill(ctx, ids), run(ctx, conn, insert(ids[:half]...)))
	time.Sleep(pause)
	err = errors.Join(err, run(ctx, conn, insert(ids[half:]...)))
	if rand.N(10) == 0 {
		return nil, errors.Join(err, run(ctx, conn, "ROLLBACK"))
	}

	return ids, errors.Join(err, run(ctx, conn, "COMMIT"))
}

// follow reads the rows after the last one that was seen, up to the bound.
func follow(ctx context.Context, db *sql.DB, seen []snowflake.ID, bound settled.Bound) ([]snowflake.ID, error) {
	var last snowflake.ID
	if len(seen) > 0 {
		last = seen[len(seen)-1]
	}
	query := fmt.Sprintf("SELECT id FROM events WHERE id > %d AND id < %d ORDER BY id", last, bound.Below)
	err := sqltable.Query(ctx, db, query, nil, func(scan func(...any) error) error {
		seen = append(seen, 0)
		return scan(&seen[len(seen)-1])
	})
	return seen, err
}
