package sqlfunc_test

import (
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/mattn/go-sqlite3"
	"gorm.io/driver/sqlite"
	"gorm.io/gorm"

	"github.com/sqlflake/sqlflake/internal/testdb"
	"github.com/sqlflake/sqlflake/snowflake"
	"github.com/sqlflake/sqlflake/sqltypes/sqlfunc"
)

var drivers atomic.Int64

// openSQLite opens a database whose connections have the functions, under a new driver name.
func openSQLite(tb testing.TB, layout snowflake.Layout, gen *snowflake.Generator) (db server, driver, dsn string) {
	tb.Helper()
	f, err := sqlfunc.New(layout)
	if err != nil {
		tb.Fatal(err)
	}
	driver = fmt.Sprint("sqlite3_sqlfunc_", drivers.Add(1))
	sql.Register(driver, &sqlite3.SQLiteDriver{
		ConnectHook: func(conn *sqlite3.SQLiteConn) error { return f.RegisterSQLite(conn, gen) },
	})
	target := testdb.SQLite(tb)
	target.Driver = driver
	return server{DB: target.Open(tb)}, driver, target.DSN
}

func newGenerator(tb testing.TB, layout snowflake.Layout) *snowflake.Generator {
	tb.Helper()
	gen, err := snowflake.New(3, snowflake.WithLayout(layout))
	if err != nil {
		tb.Fatal(err)
	}
	return gen
}

func TestSQLiteReadsIDsAsGoDoes(t *testing.T) {
	for name, layout := range layouts(t, 6) {
		t.Run(name, func(t *testing.T) {
			db, _, _ := openSQLite(t, layout, nil)
			for _, id := range idsOf(t, layout, 30) {
				id := snowflake.ID(id)
				var text, parts string
				err := db.QueryRowContext(t.Context(), "SELECT snowflake_time(?1), snowflake_parts(?1)", id).Scan(&text, &parts)
				want := layout.Time(id)
				if want.Year() > 9999 {
					if err == nil || !strings.Contains(err.Error(), "after the year 9999") {
						t.Errorf("%d: %v, want an error that names the year 9999", id, err)
					}
					continue
				}
				if err != nil {
					t.Fatalf("%d: %v", id, err)
				}
				if got, err := time.Parse("2006-01-02 15:04:05", text); !got.Equal(want) || err != nil {
					t.Errorf("the time of %d is %s, in Go %s", id, text, want)
				}
				checkPartsJSON(t, parts, layout, id)
			}
			for _, at := range timesOf(layout, 20) {
				var got int64
				want, wantErr := layout.MinAt(at)
				err := db.QueryRowContext(t.Context(), "SELECT snowflake_min(?)", at.Format("2006-01-02 15:04:05.000000")).Scan(&got)
				if (err != nil) != (wantErr != nil) || int64(want) != got && wantErr == nil {
					if at.Year() <= 9999 {
						t.Errorf("MinAt(%s) is %d, %v, in Go %d, %v", at, got, err, want, wantErr)
					}
				}
			}
		})
	}
}

func TestSQLiteDateFunctionsReadTheTime(t *testing.T) {
	layout := snowflake.Default()
	db, _, _ := openSQLite(t, layout, nil)
	id, err := layout.MinAt(time.Date(2026, 1, 2, 3, 4, 5, 678e6, time.UTC))
	if err != nil {
		t.Fatal(err)
	}
	got := scan[string](t, db, "SELECT strftime('%Y-%m-%d %H:%M:%f', snowflake_time(?))", id)
	if got != "2026-01-02 03:04:05.678" {
		t.Errorf("strftime reads %s", got)
	}
	for _, text := range []string{
		"2026-01-02 03:04:05.678", "2026-01-02T03:04:05.678Z", "2026-01-02 04:04:05.678999+01:00", "2026-01-02T03:04:05.678",
	} {
		if got := scan[snowflake.ID](t, db, "SELECT snowflake_min(?)", text); got != id {
			t.Errorf("snowflake_min(%s) = %d, want %d", text, got, id)
		}
	}
	// Deterministic functions are allowed in indexes.
	db.exec(t, "CREATE TABLE visits (id BIGINT PRIMARY KEY)")
	db.exec(t, "CREATE INDEX visits_day ON visits (date(snowflake_time(id)))")
}

func TestSQLiteFunctionsTakeNullAndRefuseOtherArguments(t *testing.T) {
	db, _, _ := openSQLite(t, snowflake.Default(), nil)
	for _, call := range []string{"time(NULL)", "parts(NULL)", "min(NULL)"} {
		if got := scan[sql.NullString](t, db, "SELECT snowflake_"+call); got.Valid {
			t.Errorf("%s is %q, want NULL", call, got.String)
		}
	}
	for _, call := range []string{
		"time('12')", "time(1.5)", "parts('x')", "parts(x'00')", "parts(x'')",
		"min(12)", "min('x')", "min('2026-02-30')", "next()",
	} {
		var got sql.NullString
		if err := db.QueryRowContext(t.Context(), "SELECT snowflake_"+call).Scan(&got); err == nil {
			t.Errorf("%s is %v, want an error", call, got)
		}
	}
}

func TestSQLiteDefaultIsTheNextID(t *testing.T) {
	gen := newGenerator(t, snowflake.Default())
	db, _, _ := openSQLite(t, snowflake.Default(), gen)
	for _, table := range []string{
		"t (id BIGINT PRIMARY KEY NOT NULL DEFAULT (snowflake_next()), n INT)",
		"t (id INTEGER PRIMARY KEY NOT NULL DEFAULT (snowflake_next()), n INT) WITHOUT ROWID",
		"t (id BIGINT NOT NULL UNIQUE DEFAULT (snowflake_next()), n INT)",
	} {
		db.exec(t, "CREATE TABLE "+table)
		db.exec(t, "INSERT INTO t (n) VALUES (1), (2)")
		db.exec(t, "INSERT INTO t (n) WITH RECURSIVE seq (i) AS "+
			"(SELECT 1 UNION ALL SELECT i + 1 FROM seq WHERE i < 1000) SELECT i FROM seq")
		rows := scan[int](t, db, "SELECT count(DISTINCT id) FROM t")
		least := scan[snowflake.ID](t, db, "SELECT min(id) FROM t")
		if rows != 1002 || snowflake.Default().Decompose(least).Worker != 3 {
			t.Errorf("%s: %d IDs from %d on", table, rows, least)
		}
		db.exec(t, "DROP TABLE t")
	}
	// The documented exception.
	db.exec(t, "CREATE TABLE t (id INTEGER PRIMARY KEY DEFAULT (snowflake_next()), n INT)")
	db.exec(t, "INSERT INTO t (n) VALUES (1)")
	if id := scan[int64](t, db, "SELECT id FROM t"); id != 1 {
		t.Errorf("INTEGER PRIMARY KEY is %d; the documentation says that SQLite ignores its DEFAULT", id)
	}
}

func TestSQLiteNeverRepeatsAnIDOnEightConnections(t *testing.T) {
	const connections = 8
	rows := 4 * rowsOfAConnection()
	db, _, _ := openSQLite(t, snowflake.Default(), newGenerator(t, snowflake.Default()))
	db.exec(t, "CREATE TABLE t (id BIGINT PRIMARY KEY NOT NULL DEFAULT (snowflake_next()), n INT)")
	var done sync.WaitGroup
	for range connections {
		done.Go(func() {
			_, err := db.ExecContext(t.Context(), fmt.Sprintf("INSERT INTO t (n) WITH RECURSIVE seq (i) AS "+
				"(SELECT 1 UNION ALL SELECT i + 1 FROM seq WHERE i < %d) SELECT i FROM seq", rows/connections))
			if err != nil {
				t.Error(err)
			}
		})
	}
	done.Wait()
	if n := scan[int](t, db, "SELECT count(DISTINCT id) FROM t"); n != rows {
		t.Errorf("%d different IDs, want %d", n, rows)
	}
}

func TestSQLiteNextFailsAsTheGeneratorDoes(t *testing.T) {
	gen, lessee, err := snowflake.NewLeased(time.Minute, nil)
	if err != nil {
		t.Fatal(err)
	}
	lessee.Close(errors.New("no worker is leased"))
	db, _, _ := openSQLite(t, snowflake.Default(), gen)
	db.exec(t, "CREATE TABLE t (id BIGINT PRIMARY KEY NOT NULL DEFAULT (snowflake_next()), n INT)")
	_, err = db.ExecContext(t.Context(), "INSERT INTO t (n) VALUES (1)")
	if err == nil || !strings.Contains(err.Error(), "no worker is leased") {
		t.Errorf("error %v, want that of the generator", err)
	}
	if n := scan[int](t, db, "SELECT count(*) FROM t"); n != 0 {
		t.Errorf("%d rows were inserted", n)
	}
}

func TestSQLiteRefusesAGeneratorOfAnotherLayout(t *testing.T) {
	f, err := sqlfunc.New(snowflake.MustPreset("twitter"))
	if err != nil {
		t.Fatal(err)
	}
	if err := f.RegisterSQLite(nil, newGenerator(t, snowflake.Default())); !errors.Is(err, sqlfunc.ErrOption) {
		t.Errorf("error %v, want ErrOption", err)
	}
}

func TestSQLiteThroughGORM(t *testing.T) {
	_, driver, dsn := openSQLite(t, snowflake.Default(), newGenerator(t, snowflake.Default()))
	db, err := gorm.Open(sqlite.Dialector{DriverName: driver, DSN: dsn}, &gorm.Config{})
	if err != nil {
		t.Fatal(err)
	}
	pool, err := db.DB()
	if err != nil {
		t.Fatal(err)
	}
	defer pool.Close()
	type Visit struct {
		ID   snowflake.ID `gorm:"primaryKey;default:(snowflake_next())"`
		Page string
	}
	if err := db.AutoMigrate(&Visit{}); err != nil {
		t.Fatal(err)
	}
	visit := Visit{Page: "home"}
	if err := db.Create(&visit).Error; err != nil {
		t.Fatal(err)
	}
	if err := snowflake.Default().Validate(visit.ID); err != nil {
		t.Errorf("GORM read back %d: %v", visit.ID, err)
	}
	if err := db.Exec("INSERT INTO visits (page) VALUES ('raw')").Error; err != nil {
		t.Fatal(err)
	}
	var times []string
	if err := db.Raw("SELECT snowflake_time(id) FROM visits").Scan(&times).Error; err != nil || len(times) != 2 {
		t.Errorf("times %q, %v", times, err)
	}
}
