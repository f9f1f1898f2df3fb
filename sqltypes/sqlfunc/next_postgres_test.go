package sqlfunc_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/stdlib"

	"github.com/sqlflake/sqlflake/snowflake"
	"github.com/sqlflake/sqlflake/sqltypes/sqlfunc"
)

// sqlState returns the SQLSTATE of an error, "" if it has none.
func sqlState(err error) string {
	var pgErr *pgconn.PgError
	if errors.As(err, &pgErr) {
		return pgErr.Code
	}
	return ""
}

func TestPostgresNextIsTheDefaultOfAColumn(t *testing.T) {
	db := openPostgres(t)
	for name, layout := range presets {
		if name == "baidu" {
			continue // its time has ended
		}
		t.Run(name, func(t *testing.T) {
			options := []sqlfunc.Option{sqlfunc.WithName(name), sqlfunc.WithWorker(layout.MaxWorker())}
			want := map[string]int64{}
			for _, field := range layout.Fields() {
				switch field.Name {
				case snowflake.FieldTime, snowflake.FieldSequence, layout.WorkerField():
				default:
					want[field.Name] = 1<<field.Bits - 2
					options = append(options, sqlfunc.WithField(field.Name, want[field.Name]))
				}
			}
			db.install(t, layout, options...)
			db.exec(t, "CREATE TABLE t_"+name+" (id bigint PRIMARY KEY DEFAULT "+name+"_next(), n int)")
			before := time.Now()
			db.exec(t, "INSERT INTO t_"+name+" (n) SELECT generate_series(1, 100)")
			rows, err := db.QueryContext(t.Context(), "SELECT id FROM t_"+name+" ORDER BY n")
			if err != nil {
				t.Fatal(err)
			}
			defer rows.Close()
			var last snowflake.ID
			for rows.Next() {
				var id snowflake.ID
				if err := rows.Scan(&id); err != nil {
					t.Fatal(err)
				}
				parts := layout.Decompose(id)
				if err := layout.Validate(id); err != nil || parts.Worker != layout.MaxWorker() ||
					fmt.Sprint(parts.Fields) != fmt.Sprint(want) && len(want) > 0 {
					t.Fatalf("%d is %v, %v, want the fields %v", id, parts, err, want)
				}
				if parts.Time.Before(before.Add(-layout.Tick() - time.Second)) {
					t.Fatalf("%d is of %v, asked for at %v", id, parts.Time, before)
				}
				if layout.Fields()[len(layout.Fields())-1].Name == snowflake.FieldSequence && id <= last {
					t.Fatalf("%d after %d", id, last)
				}
				last = id
			}
			if rows.Err() != nil || last == 0 {
				t.Fatal(rows.Err())
			}
		})
	}
}

func TestPostgresNextFillsColumnsThatCopyOmits(t *testing.T) {
	db := openPostgres(t)
	db.install(t, snowflake.Default(), sqlfunc.WithWorker(5))
	db.exec(t, "CREATE TABLE events (id bigint PRIMARY KEY DEFAULT snowflake_next(), n int)")
	conn := db.settings(t)
	text := strings.Repeat("7\n", 10_000)
	if err := conn.Raw(func(driver any) error {
		pg := driver.(*stdlib.Conn).Conn().PgConn()
		_, err := pg.CopyFrom(t.Context(), strings.NewReader(text), "COPY events (n) FROM STDIN")
		return err
	}); err != nil {
		t.Fatal(err)
	}
	if got := scan[int](t, db, "SELECT count(*) FROM events WHERE (snowflake_parts(id)).worker = 5"); got != 10_000 {
		t.Errorf("%d rows, want 10,000", got)
	}
}

// All connections have inserted before the first of them commits, so none waits for the end of another transaction.
func TestPostgresNextIsUniqueUnderEightConnections(t *testing.T) {
	const connections = 8
	each := rowsOfAConnection()
	db := openPostgres(t)
	ctx, stop := context.WithTimeout(t.Context(), 5*time.Minute) // if one waited
	defer stop()
	layout := snowflake.Default()
	db.install(t, layout, sqlfunc.WithWorker(1023))
	db.exec(t, "CREATE TABLE events (id bigint NOT NULL DEFAULT snowflake_next(), client int, n int)")
	var inserted, committed sync.WaitGroup
	inserted.Add(connections)
	for client := range connections {
		committed.Go(func() {
			tx, err := db.BeginTx(ctx, nil)
			if err == nil {
				_, err = tx.ExecContext(ctx,
					fmt.Sprintf("INSERT INTO events (client, n) SELECT %d, generate_series(1, %d)", client, each))
			}
			inserted.Done()
			if err != nil {
				t.Error(err)
				return
			}
			inserted.Wait()
			if err := tx.Commit(); err != nil {
				t.Error(err)
			}
		})
	}
	ids := make([]snowflake.ID, each)
	gen, err := snowflake.New(1022)
	if err != nil {
		t.Fatal(err)
	}
	if err := gen.Fill(t.Context(), ids); err != nil {
		t.Fatal(err)
	}
	committed.Wait()
	if t.Failed() {
		return
	}
	if got := scan[int](t, db, "SELECT count(DISTINCT id) FROM events"); got != connections*each {
		t.Errorf("%d different IDs, want %d", got, connections*each)
	}
	if got := scan[int](t, db, `SELECT count(*) FROM (SELECT id <= lag(id) OVER (PARTITION BY client ORDER BY n) AS wrong
		FROM events) AS steps WHERE wrong`); got != 0 {
		t.Errorf("%d IDs are not above the connection's one before", got)
	}
	raw := make([]int64, len(ids))
	for i, id := range ids {
		raw[i] = int64(id)
	}
	if got := scan[int](t, db, "SELECT count(*) FROM events WHERE id = ANY ($1::bigint[])", raw); got != 0 {
		t.Errorf("%d IDs are also those of a generator in Go", got)
	}
	if got := scan[int](t, db, "SELECT count(*) FROM events WHERE (snowflake_parts(id)).worker <> 1023"); got != 0 {
		t.Errorf("%d IDs have another worker", got)
	}
}

// These layouts have few numbers a tick, so calls reach the lead, wait, and use the guard all the time.
func TestPostgresNextIsUniqueWithFewNumbersATick(t *testing.T) {
	const connections, each = 8, 2_000
	for name, layout := range map[string]snowflake.Layout{
		"javascriptsafe": snowflake.MustPreset("javascriptsafe"),
		"sonyflake":      preset("sonyflake"),
		"resource":       preset("resource"),
		"mastodon":       preset("mastodon"), // each ID under the lock
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			db := openPostgres(t)
			lead := 20 * time.Millisecond
			db.install(t, layout, sqlfunc.WithWorker(0), sqlfunc.WithLead(lead))
			db.exec(t, "CREATE TABLE events (id bigint NOT NULL DEFAULT snowflake_next(), at timestamptz DEFAULT clock_timestamp())")
			var group sync.WaitGroup
			for range connections {
				group.Go(func() {
					_, err := db.ExecContext(t.Context(), "INSERT INTO events SELECT FROM generate_series(1, $1::int)", each)
					if err != nil {
						t.Error(err)
					}
				})
			}
			group.Wait()
			if got := scan[int](t, db, "SELECT count(DISTINCT id) FROM events"); got != connections*each {
				t.Errorf("%d different IDs, want %d", got, connections*each)
			}
			ahead := scan[float64](t, db, "SELECT max(extract(epoch FROM snowflake_time(id) - at)) FROM events")
			if ahead > lead.Seconds() {
				t.Errorf("an ID is %v s ahead of its insertion, the lead is %v", ahead, lead)
			}
		})
	}
}

func TestPostgresNextOfTwoLayoutsSideBySide(t *testing.T) {
	db := openPostgres(t)
	db.install(t, snowflake.Default(), sqlfunc.WithWorker(1))
	db.install(t, snowflake.MustPreset("javascriptsafe"), sqlfunc.WithWorker(2), sqlfunc.WithName("web"))
	var a, b snowflake.ID
	for range 10 {
		if err := db.QueryRowContext(t.Context(), "SELECT snowflake_next(), web_next()").Scan(&a, &b); err != nil {
			t.Fatal(err)
		}
		one, two := snowflake.Default().Decompose(a), snowflake.MustPreset("javascriptsafe").Decompose(b)
		if one.Worker != 1 || two.Worker != 2 || one.Time.Sub(two.Time).Abs() > 10*time.Second {
			t.Errorf("%v and %v", one, two)
		}
	}
	if got := scan[string](t, db, "SELECT web_layout()"); got != snowflake.MustPreset("javascriptsafe").String() {
		t.Errorf("the layout is %s", got)
	}
}

func TestPostgresNextFailsInReadOnlyTransactions(t *testing.T) {
	db := openPostgres(t)
	db.install(t, snowflake.Default(), sqlfunc.WithWorker(1))
	tx := db.begin(t)
	if _, err := tx.ExecContext(t.Context(), "SET TRANSACTION READ ONLY"); err != nil {
		t.Fatal(err)
	}
	if _, err := tx.ExecContext(t.Context(), "SELECT snowflake_next()"); sqlState(err) != "25006" {
		t.Errorf("error %v, want 25006, read_only_sql_transaction", err)
	}
}

func TestPostgresNextDoesNotGoBackOnRollback(t *testing.T) {
	db := openPostgres(t)
	db.install(t, snowflake.Default(), sqlfunc.WithWorker(1))
	var ids []int64
	for range 20 {
		tx, err := db.BeginTx(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		var id int64
		row := tx.QueryRowContext(t.Context(), "SELECT max(snowflake_next()) FROM generate_series(1, 10)")
		if err := row.Scan(&id); err != nil {
			t.Fatal(err)
		}
		if err := tx.Rollback(); err != nil {
			t.Fatal(err)
		}
		ids = append(ids, id, scan[int64](t, db, "SELECT snowflake_next()"))
	}
	if !slices.IsSorted(ids) || len(slices.Compact(ids)) != 40 {
		t.Errorf("not in order: %v", ids)
	}
}
