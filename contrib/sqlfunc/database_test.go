package sqlfunc_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/sqlflake/sqlflake/contrib/sqlfunc"
	"github.com/sqlflake/sqlflake/internal/testdb"
	"github.com/sqlflake/sqlflake/snowflake"
	"github.com/sqlflake/sqlflake/snowflake/sqldb"
)

func TestMain(m *testing.M) { os.Exit(testdb.Main(m)) }

// must ends the test if there is an error. what says where, if the error does not.
func must(tb testing.TB, err error, what ...any) {
	tb.Helper()
	if err != nil {
		tb.Fatal(append(what, err)...)
	}
}

// server is an empty database of one test, on PostgreSQL a schema.
type server struct {
	*sql.DB
	dialect sqldb.Dialect
	schema  string // PostgreSQL
}

func openPostgres(tb testing.TB) server {
	tb.Helper()
	s := server{DB: testdb.Postgres(tb).Open(tb), dialect: sqldb.Postgres}
	s.schema = scan[string](tb, s, "SELECT current_schema()")
	return s
}

func openMariaDB(tb testing.TB) server {
	tb.Helper()
	target := testdb.MariaDB(tb)
	target.NeedMariaDB(tb, "the functions of sqlfunc")
	return server{DB: target.Open(tb), dialect: sqldb.MySQL}
}

// worker returns the option for functions that issue IDs, where the database does.
func (s server) worker(worker int64) sqlfunc.Option {
	if s.dialect == sqldb.MySQL {
		return func(*sqlfunc.Functions) error { return nil }
	}
	return sqlfunc.WithWorker(worker)
}

// eachServer runs a test on the databases that read IDs.
func eachServer(t *testing.T, test func(t *testing.T, s server)) {
	t.Helper()
	t.Run("postgres", func(t *testing.T) { test(t, openPostgres(t)) })
	t.Run("mariadb", func(t *testing.T) { test(t, openMariaDB(t)) })
}

// functions returns functions for the schema.
func (s server) functions(tb testing.TB, layout snowflake.Layout, options ...sqlfunc.Option) *sqlfunc.Functions {
	tb.Helper()
	if s.schema != "" {
		options = append([]sqlfunc.Option{sqlfunc.WithSchema(s.schema)}, options...)
	}
	f, err := sqlfunc.New(layout, options...)
	must(tb, err)
	return f
}

// install installs functions in the database.
func (s server) install(tb testing.TB, layout snowflake.Layout, options ...sqlfunc.Option) *sqlfunc.Functions {
	tb.Helper()
	f := s.functions(tb, layout, options...)
	must(tb, f.Install(tb.Context(), s, s.dialect), layout)
	return f
}

// at replaces the server's clock by a time.
func (s server) at(at time.Time) sqlfunc.Option {
	return sqlfunc.WithClock("timestamptz '" + at.UTC().Format("2006-01-02 15:04:05.000000+00") + "'")
}

// series is the table of the numbers seq from 1 to n.
func series(n int) string { return fmt.Sprintf("generate_series(1, %d) AS series (seq)", n) }

func (s server) exec(tb testing.TB, queries ...string) {
	tb.Helper()
	execOn(tb, s, queries...)
}

// execOn runs statements on a pool, a connection or a transaction, also after the test.
func execOn(tb testing.TB, db sqldb.DB, queries ...string) {
	tb.Helper()
	for _, query := range queries {
		_, err := db.ExecContext(context.WithoutCancel(tb.Context()), query)
		must(tb, err, query)
	}
}

// scan reads the only value of a query on a pool, a connection or a transaction.
func scan[T any](tb testing.TB, db sqldb.DB, query string, args ...any) (value T) {
	tb.Helper()
	all := scanAll[T](tb, db, query, args...)
	if len(all) != 1 {
		tb.Fatalf("%s: %d rows", query, len(all))
	}
	return all[0]
}

// wantValue reads the only value of a query, which says what it is.
func wantValue[T comparable](tb testing.TB, db sqldb.DB, want T, query string) {
	tb.Helper()
	if got := scan[T](tb, db, query); got != want {
		tb.Errorf("%s: %v, want %v", query, got, want)
	}
}

// scanAll reads the only column of a query.
func scanAll[T any](tb testing.TB, db sqldb.DB, query string, args ...any) (all []T) {
	tb.Helper()
	rows, err := db.QueryContext(tb.Context(), query, args...)
	must(tb, err, query)
	defer rows.Close()
	for rows.Next() {
		var value T
		must(tb, rows.Scan(&value), query)
		all = append(all, value)
	}
	must(tb, rows.Err(), query)
	return all
}

// fails checks that a statement fails with the text, and on PostgreSQL with the SQLSTATE.
func (s server) fails(tb testing.TB, db sqldb.DB, query, state, text string) {
	tb.Helper()
	_, err := db.ExecContext(tb.Context(), query)
	s.failed(tb, query, err, state, text)
}

func (s server) failed(tb testing.TB, what string, err error, state, text string) {
	tb.Helper()
	var postgres *pgconn.PgError
	var mariadb *mysql.MySQLError
	switch {
	case err == nil || !strings.Contains(err.Error(), text), errors.As(err, &postgres) && postgres.Code != state,
		!errors.As(err, &postgres) && !errors.As(err, &mariadb):
		tb.Errorf("%s: %v, want SQLSTATE %s on PostgreSQL, and %q", what, err, state, text)
	}
}

// drop runs the statements of Drop.
func (s server) drop(tb testing.TB, f *sqlfunc.Functions) {
	tb.Helper()
	statements, err := f.Drop(s.dialect)
	must(tb, err)
	s.exec(tb, statements...)
}

// conn returns a separate connection with settings.
func (s server) conn(tb testing.TB, settings ...string) *sql.Conn {
	tb.Helper()
	conn, err := s.Conn(tb.Context())
	must(tb, err)
	tb.Cleanup(func() { _ = conn.Close() })
	for _, setting := range settings {
		execOn(tb, conn, "SET "+setting)
	}
	return conn
}

// begin returns a transaction that is rolled back at the end of the test.
func (s server) begin(tb testing.TB) *sql.Tx {
	tb.Helper()
	tx, err := s.BeginTx(tb.Context(), nil)
	must(tb, err)
	tb.Cleanup(func() { _ = tx.Rollback() })
	return tx
}

// isLong reports whether the long versions of tests are to run. Run them after changes of the functions that issue IDs.
func isLong() bool { return os.Getenv("SNOWFLAKE_TEST_LONG") == "1" }

func preset(name string) snowflake.Layout { return snowflake.MustPreset(name) }

func parse(tb testing.TB, text string) snowflake.Layout {
	tb.Helper()
	layout, err := snowflake.ParseLayout(text)
	must(tb, err)
	return layout
}

// layouts returns the presets, layouts with unusual ticks and epochs, and random ones.
func layouts(tb testing.TB, random int) map[string]snowflake.Layout {
	tb.Helper()
	all := map[string]snowflake.Layout{}
	for _, name := range snowflake.Presets() {
		all[name] = preset(name)
	}

	for i, text := range []string{
		"epoch=2025-01-01T00:00:00.000000001Z tick=1.000001ms time:40 worker:10 sequence:12",
		"epoch=1969-12-31T23:59:59.123456789Z tick=1µs time:52 worker:3 sequence:8",
		"epoch=1678-01-01T00:00:00.999999999Z tick=1.5µs time:53 sequence:10",
		"epoch=2262-01-01T00:00:00Z tick=1h time:20 sequence:43",
		"epoch=2025-01-01T00:00:00Z tick=1ms shard:8 time:41 sequence:14",
		"epoch=2025-01-01T00:00:00Z tick=1ms time:41 sequence:12 id:4 timestamp:1 select:2 at:1",
		"epoch=1960-01-01T00:00:00.000000123Z tick=1.5µs region:2 time:30 worker:5 sequence:2 time:17 kind:1",
		"epoch=2000-01-01T00:00:00Z tick=24h time:1 sequence:62",
		"epoch=2000-01-01T00:00:00Z tick=1us time:62 sequence:1",
	} {
		all[fmt.Sprint("odd", i)] = parse(tb, text)
	}

	for i := range few(random) {
		layout := randomLayout()
		tb.Logf("random%d: %s", i, layout)
		all[fmt.Sprint("random", i)] = layout
	}

	return all
}

// few is how many random values a test takes of what its long version does.
func few(n int) int {
	if isLong() {
		return n
	}
	return (n + 3) / 4
}

// randomLayout returns a layout whose times are mostly in the range of timestamps.
func randomLayout() snowflake.Layout {
	ticks := []time.Duration{
		time.Microsecond, 1001, 7919, 100 * time.Microsecond, time.Millisecond, 10 * time.Millisecond, time.Second,
	}

	for {
		fields := []snowflake.Field{{Name: "time", Bits: 20 + rand.IntN(30)}, {Name: "sequence", Bits: 1 + rand.IntN(20)}}
		for _, name := range []string{"worker", "region", "kind"}[:rand.IntN(4)] {
			fields = append(fields, snowflake.Field{Name: name, Bits: 1 + rand.IntN(10)})
		}

		if rand.IntN(4) == 0 {
			rand.Shuffle(len(fields), func(i, j int) { fields[i], fields[j] = fields[j], fields[i] })
		}

		if rand.IntN(4) == 0 {
			fields = append(fields, snowflake.Field{Name: "time", Bits: 1 + rand.IntN(20)})
		}

		epoch := time.Unix(0, rand.Int64N(math.MaxInt64)-rand.Int64N(math.MaxInt64))
		layout, err := snowflake.NewLayout(epoch, ticks[rand.IntN(len(ticks))], fields...)
		if err == nil {
			return layout
		}
	}
}

// idsOf returns limits and random IDs of the layout, and numbers that are not IDs.
func idsOf(layout snowflake.Layout, random int) []int64 {
	greatest := int64(1)<<layout.Bits() - 1
	ids := []int64{0, 1, -1, 2, math.MaxInt64, math.MinInt64, math.MinInt64 + 1, greatest, greatest - 1, -greatest}
	if layout.Bits() < 63 {
		ids = append(ids, greatest+1)
	}
	for shift := range 63 {
		ids = append(ids, 1<<shift, 1<<shift-1)
	}
	for range few(random) {
		ids = append(ids, rand.Int64N(greatest)+1, int64(rand.Uint64()))
	}
	return ids
}

// timesOf returns limits and random times of the layout in microseconds, and times outside of it.
func timesOf(layout snowflake.Layout, random int) []time.Time {
	epoch, end := layout.Epoch(), layout.End()
	times := []time.Time{
		epoch, epoch.Add(-1), epoch.Add(-time.Microsecond), epoch.Add(layout.Tick()), epoch.Add(layout.Tick() - 1000),
		end, end.Add(-1), end.Add(time.Microsecond), end.Add(-layout.Tick()), end.Add(-time.Microsecond),
		time.Unix(0, 0), time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC), time.Date(1, 1, 1, 0, 0, 0, 0, time.UTC),
	}

	seconds := max(1, min(end.Unix()-epoch.Unix(), 1<<40))
	for range few(random) {
		at := epoch.Add(time.Duration(rand.Int64N(int64(time.Second))))
		times = append(times, time.Unix(at.Unix()+rand.Int64N(seconds), int64(at.Nanosecond())))
	}

	for i, t := range times {
		times[i] = t.UTC().Add(-time.Duration(t.Nanosecond() % 1000))
	}

	return times
}

func TestTheScriptForMariaDBsClientSetsItsDelimiter(t *testing.T) {
	script, err := server{}.functions(t, snowflake.Default()).Script(sqldb.MySQL)
	if err != nil || !strings.HasPrefix(script, "DELIMITER //\n") || !strings.HasSuffix(script, "//\n\nDELIMITER ;\n") {
		t.Errorf("%v, %s", err, script)
	}
}

// The script is sent as psql and migration tools send the text of a file.
func TestPostgresScriptRuns(t *testing.T) {
	db := openPostgres(t)
	f := db.functions(t, snowflake.Default(), sqlfunc.WithWorker(1), sqlfunc.WithLeaseTables("", "shop"))
	script, err := f.Script(sqldb.Postgres)
	must(t, err)
	db.exec(t, script, script)
	must(t, snowflake.Default().Validate(scan[snowflake.ID](t, db, "SELECT snowflake_next()")))
}
