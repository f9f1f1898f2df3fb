package main

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/sqlflake/sqlflake/cmd/sqlflake/internal/audit"
	"github.com/sqlflake/sqlflake/snowflake"
)

// someIDs are of two workers, one ID a second each, up to a minute before now.
func someIDs(n int, workers ...int64) (ids []snowflake.ID) {
	for i := range n {
		for _, worker := range workers {
			id, _ := snowflake.Default().Compose(snowflake.Parts{Time: now.Add(time.Duration(i-n-60) * time.Second), Worker: worker})
			ids = append(ids, id)
		}
	}
	return ids
}

func text(ids []snowflake.ID) string {
	var b strings.Builder
	for _, id := range ids {
		b.WriteString(id.String() + "\n")
	}
	return b.String()
}

func (s site) exec(t *testing.T, query string) {
	t.Helper()
	execSQL(t, s.pool, query)
}

func execSQL(t *testing.T, db *sql.DB, query string) {
	t.Helper()
	_, err := db.ExecContext(t.Context(), query)
	must(t, err)
}

// insert writes IDs, with the order in which they were issued.
func (s site) insert(t *testing.T, table string, ids []snowflake.ID) {
	t.Helper()
	var values []string
	for i, id := range ids {
		values = append(values, fmt.Sprintf("(%d, %d)", id, i))
	}
	s.exec(t, "INSERT INTO "+table+" VALUES "+strings.Join(values, ", "))
}

// found returns the kinds of the findings, and their counts.
func found(r audit.Report) map[string]int64 {
	all := map[string]int64{}
	for _, f := range r.Findings {
		all[f.Kind] = f.Count
	}
	return all
}

// audited runs an audit that prints JSON.
func audited(t *testing.T, r result) audit.Report {
	t.Helper()
	var report audit.Report
	if err := json.Unmarshal([]byte(r.out), &report); err != nil {
		t.Fatalf("%v: %+v", err, r)
	}
	if want := map[bool]int{true: exitFindings, false: exitOK}[len(report.Findings) > 0]; r.code != want || r.err != "" {
		t.Errorf("exit code %d, want %d: %s", r.code, want, r.err)
	}
	return report
}

// reject prints a report that is wrong.
func reject(t *testing.T, isWrong bool, r audit.Report) {
	t.Helper()
	if isWrong {
		t.Errorf("%+v", r)
	}
}

func TestAnAuditReadsTables(t *testing.T) {
	eachDatabase(t, func(t *testing.T, s site) {
		do := func(args string, want map[string]int64) audit.Report {
			t.Helper()
			r := audited(t, s.do(t, "audit --json "+args))
			if found := found(r); !maps.Equal(found, want) {
				t.Errorf("%s: found %v, want %v", args, found, want)
			}
			return r
		}
		s.exec(t, "CREATE TABLE orders (id bigint, at bigint)")
		r := do("--table orders", nil)
		reject(t, r.Rows != 0 || r.First != nil || r.Notes[0] != "there are no IDs to look at" || r.Layout.Guessed || r.Layout.Why != "" || r.End != "", r)
		ids := someIDs(500, 3, 7)
		s.insert(t, "orders", ids)
		for _, layout := range []string{"", "--layout default"} {
			r = do("--table orders "+layout, nil)
			reject(t, r.IDs != 1000 || len(r.Workers) != 2 || r.Workers[1].Worker != "7" || r.Workers[1].IDs != 500 ||
				r.Greatest != ids[999] || r.Above53 != 1000 || r.Layout.Layout != snowflake.Default().String() || r.Layout.Guessed != (layout == ""), r)
		}
		r = do("--table orders --layout default --since 101s", nil)
		reject(t, r.IDs != 82 || r.Rows != 1000, r)
		// Where the sequence is above the time, the least IDs are not the first.
		var scattered []snowflake.ID
		for i := range 500 {
			at := now.Add(time.Duration(i/100-60) * time.Second) // 100 a second, 50 a tick
			id, _ := snowflake.Scattered().Compose(snowflake.Parts{Time: at.Add(time.Duration(i%2) * time.Millisecond), Worker: 3, Sequence: int64(i*77) & 127})
			scattered = append(scattered, id)
		}
		s.exec(t, "CREATE TABLE scattered (id bigint, at bigint)")
		s.insert(t, "scattered", scattered)
		for _, layout := range []string{"", "--layout scattered"} {
			r := do("--table scattered "+layout, nil)
			if w := r.Workers[0]; w.PerSecond != 100 || w.PerTick != 50 || r.Greatest != slices.Max(scattered) || w.Greatest != r.Greatest ||
				!w.First.Equal(now.Add(-time.Minute)) || !w.Last.Equal(now.Add(-56*time.Second+time.Millisecond)) {
				t.Errorf("scattered, %q: %+v", layout, w)
			}
		}
		// The clock of worker 7 is set back by 30 s.
		back := slices.Clone(ids)
		for i := 501; i < 1000; i += 2 {
			back[i] -= 30_000 << 22
			back[i]++ // so that none is equal
		}
		s.exec(t, "CREATE TABLE back (id bigint, at bigint)")
		s.insert(t, "back", back)
		r = do("--table back --by at", map[string]int64{"step_back": 1})
		reject(t, r.Findings[0].Workers[0] != "7" || !strings.Contains(r.Findings[0].Shows, "by 29s at most"), r)
		s.exec(t, "INSERT INTO back VALUES ("+ids[1].String()+", NULL), ("+ids[999].String()+", NULL)") // sorted first or last
		r = do("--table back --by at", map[string]int64{"step_back": 1, "duplicate": 1})
		reject(t, !strings.HasPrefix(r.Notes[0], "2 rows without"), r)
		s.exec(t, "DELETE FROM back WHERE at IS NULL")
		do("--table back", nil)
		do("--table back --by at --slack 1m", nil)

		// What is no ID.
		s.exec(t, "INSERT INTO orders VALUES (NULL, 1), (0, 1), (-5, 1), (9223372036854775807, 1), ("+ids[3].String()+", 1)")
		bad := map[string]int64{"null": 1, "impossible": 2, "future": 1, "duplicate": 1}
		do("--table orders --layout default", bad)
		do("--table orders", bad)
		s.exec(t, "CREATE TABLE texts (id varchar(36))")
		s.exec(t, "INSERT INTO texts VALUES ('90000000000000000'), ('"+ids[0].String()+"'), ('10000000000000000'), ('0190b5a0-0000-7000-8000-000000000000'), (''), ('9223372036854775808')")
		r = do("--table texts --layout default", map[string]int64{"not_an_id": 3}) // as texts 9... is greater
		reject(t, r.Greatest != ids[0], r)
		s.exec(t, "CREATE TABLE floats (id double precision)")
		s.exec(t, "INSERT INTO floats VALUES (1.5e18)")
		do("--table floats", map[string]int64{"not_an_id": 1})
		switch s.Name {
		case "mariadb":
			s.exec(t, "CREATE TABLE positive (id bigint unsigned)")
			s.exec(t, "INSERT INTO positive VALUES (18446744073709551615), ("+ids[0].String()+")")
			r = do("--table positive --layout default", map[string]int64{"not_an_id": 1})
			reject(t, !strings.Contains(r.Findings[0].Shows, `"18446744073709551615" is not an ID`), r)
		case "sqlite": // a column of integers has texts, and sorts them as such
			s.exec(t, "CREATE TABLE mixture (id int)")
			s.exec(t, "INSERT INTO mixture VALUES ('"+ids[1].Base32()+"'), ('"+ids[0].Base32()+"'), ("+ids[999].String()+")")
			r = do("--table mixture --layout default", nil)
			reject(t, r.Greatest != ids[999], r)
		case "postgres":
			s.endsItsQuery(t)
			s.exec(t, "CREATE TABLE forever AS SELECT "+ids[0].String()+" AS id, t::timestamptz AS at FROM (VALUES ('infinity'), ('-infinity')) v (t)")
			do("--table forever --by at --layout default", map[string]int64{"duplicate": 1})
			s.exec(t, "CREATE TABLE points (id point)")
			if r := s.do(t, "audit --table points"); r.code != exitFailed || strings.Contains(r.err, "Is this the database") {
				t.Errorf("%+v", r)
			}
		}
		// A name with a dot.
		quoted := map[string]string{"postgres": `"we.ird"`, "mariadb": "`we.ird`", "sqlite": "`we.ird`"}[s.Name]
		s.exec(t, "CREATE TABLE "+quoted+" AS SELECT * FROM back")
		r = do(`--table "we.ird"`, nil)
		reject(t, r.IDs != 1000, r)
		s.auditsLocalTimes(t)

		s.do(t, "audit --table nothing").fails(t, exitFailed, "Is this the database with the table?")
		s.do(t, "audit --table orders --column nothing").fails(t, exitFailed, "Is this the database with the table?")

		// Two databases.
		other := t.TempDir() + "/other.db"
		eu := sqliteWith(t, other, someIDs(500, 8, 9))
		r = do("--table back --with "+eu, nil)
		reject(t, r.IDs != 2000 || r.IDsWith != 1000 || !strings.Contains(r.Notes[0], "nothing against a merge"), r)
		same := sqliteWith(t, t.TempDir()+"/same.db", append(someIDs(10, 9), someIDs(20, 3)...))
		t.Setenv("SQLFLAKE_WITH", same)
		do("--table back", map[string]int64{"shared_worker": 1, "in_both": 20})
		do("--table back --by at", map[string]int64{"step_back": 1})
		t.Setenv("SQLFLAKE_WITH", "")
		do("--layout default --table back --with "+same, map[string]int64{"shared_worker": 1, "in_both": 20})
		do("--table back --with "+same, map[string]int64{"shared_worker": 1, "in_both": 20})
		do("--table back --with "+sqliteWith(t, t.TempDir()+"/none.db", someIDs(0)), map[string]int64{"empty": 1})
		if r := s.do(t, "audit --table back --layout default --with "+same); !strings.HasPrefix(r.out, "rows     1030, of which 1030 IDs were looked at: 1000 of the first database, 30\n         of the second\n") {
			t.Errorf("%+v", r)
		}
		do("--table back --layout default --since 61s --with "+same, map[string]int64{"shared_worker": 1, "in_both": 1})
		twitter := someIDs(500, 4)
		for i, id := range twitter {
			twitter[i] = id + snowflake.ID(snowflake.Default().Epoch().Sub(snowflake.MustPreset("twitter").Epoch()).Milliseconds())<<22
		}
		do("--table back --with "+sqliteWith(t, t.TempDir()+"/twitter.db", twitter), map[string]int64{"layout": 1500})
		twice := append(someIDs(2, 3), someIDs(1, 3)...)
		do("--table back --dsn "+sqliteWith(t, t.TempDir()+"/x.db", twice)+" --with "+sqliteWith(t, t.TempDir()+"/y.db", twice),
			map[string]int64{"duplicate": 2, "in_both": 2, "shared_worker": 1})

		ctx, interrupt := context.WithCancel(t.Context())
		interrupt()
		doAt(ctx, testNow, nil, "audit", "--table", "orders").fails(t, exitInterrupted, "interrupted")
	})
}

// auditsLocalTimes has a night in which clocks are set back: an order by local times has a descent of an hour.
func (s site) auditsLocalTimes(t *testing.T) {
	t.Helper()
	berlin, err := time.LoadLocation("Europe/Berlin")
	must(t, err)
	kind := map[string]string{"postgres": "timestamp", "mariadb": "datetime", "sqlite": "text"}[s.Name]
	s.exec(t, "CREATE TABLE night (id bigint, created_at "+kind+")")
	for i := range 54 {
		at := time.Date(2026, 10, 25, 0, 0, 200*i, 0, time.UTC)
		id, err := snowflake.Default().Compose(snowflake.Parts{Time: at})
		must(t, err)
		s.exec(t, fmt.Sprintf("INSERT INTO night VALUES (%d, '%s')", id, at.In(berlin).Format(time.DateTime)))
	}

	const command = "audit --json --by created_at --layout default --table night"
	r := audited(t, s.do(t, command))
	if len(r.Findings) > 0 || !strings.Contains(strings.Join(r.Notes, "\n"), "created_at has no time zone") {
		t.Errorf("%+v", r)
	}
	if r := audited(t, s.do(t, command+" --slack 10s")); found(r)["interleaved"]+found(r)["step_back"] == 0 {
		t.Errorf("%+v", r)
	}
}

// sqliteWith returns the DSN of a new database with IDs in the tables of the test.
func sqliteWith(t *testing.T, path string, ids []snowflake.ID) string {
	t.Helper()
	s := newSQLite(t, path)
	s.exec(t, "CREATE TABLE back (id bigint, at bigint)")
	if len(ids) > 0 {
		s.insert(t, "back", ids)
	}
	return s.DSN
}

// endsItsQuery interrupts an audit, and holds that the server has ended its query by then.
func (s site) endsItsQuery(t *testing.T) {
	t.Helper()
	name := fmt.Sprintf("slow_%d_%d", os.Getpid(), time.Now().UnixNano())
	s.exec(t, "CREATE VIEW "+name+" AS SELECT 1 AS id FROM pg_sleep(100)")
	queries := func() (n int) {
		query := "SELECT count(*) FROM pg_stat_activity WHERE state = 'active' AND pid <> pg_backend_pid() AND query LIKE $1"
		must(t, s.pool.QueryRowContext(t.Context(), query, "%"+name+"%").Scan(&n))
		return n
	}

	ctx, interrupt := context.WithCancel(t.Context())
	defer interrupt()
	go func() {
		for queries() == 0 && ctx.Err() == nil {
			time.Sleep(10 * time.Millisecond)
		}
		interrupt()
	}()

	r := doAt(ctx, testNow, nil, "audit", "--table", name)
	if n := queries(); r.code != exitInterrupted || n > 0 {
		t.Errorf("%d queries go on: %+v", n, r)
	}
}

// TestThePageOfAnAudit is what a person reads.
func TestThePageOfAnAudit(t *testing.T) {
	ids := someIDs(20, 3, 7)
	do(t, text(ids)+"x\n"+ids[5].String()+"\n", "audit", "--layout", "default").check(t, result{code: exitFindings, out: `rows     42, of which 41 IDs were looked at
layout   epoch=2025-01-01T00:00:00Z tick=1ms time:41 worker:10 sequence:12
times    2026-11-22T21:38:40Z to 2026-11-22T21:38:59Z
greatest 250374527123484672
rate     at most 1 a second (under 0.1% of the ceiling), by worker 7
2^53     is reached by 41 of the IDs, which JavaScript rounds as numbers
ends     2094-09-07T15:47:35.552Z (67.8 years from now)

WORKER  IDS  A SECOND  FIRST                 LAST
7       21   1         2026-11-22T21:38:40Z  2026-11-22T21:38:59Z
3       20   1         2026-11-22T21:38:40Z  2026-11-22T21:38:59Z

2 findings

not_an_id: 1
  shows  values that are no IDs. The first: "x" is not an ID: want decimal
         digits only, byte 0 is "x"
  do     is it the right column?

duplicate: 1, such as 250374455820316672
  shows  equal IDs: two generators have one worker, IDs were rounded by a
         float64 (JavaScript) or a spreadsheet, or rows were read twice
  do     compare with the numbers at their source. If these are equal, look for
         two processes with one worker number: a random number, a copied
         configuration, a rolling restart. Leases give each process its own

note: without the order of issue, steps back can't be seen, nor two generators
      that both start at 0 in each tick
note: equal IDs that a primary key refused are in no table: look for unique
      violations in the logs
`})
	do(t, text(ids), "audit").says(t, exitOK, "\n0 findings\n", "guessed: with it the latest IDs are of 2026-11-22")
	t.Setenv("SQLFLAKE_DSN", "sqlite:none.db")
	do(t, "", "audit").fails(t, exitFailed, "there is no ID in the standard input; for a table give --table")
	t.Setenv("SQLFLAKE_DSN", "")
	t.Setenv("SQLFLAKE_WITH", "sqlite:none.db") // for tables
	do(t, text(ids), "audit").says(t, exitOK)
	t.Setenv("SQLFLAKE_WITH", "")
	// The time is not in the highest bits, so the greatest ID is not the latest.
	above, ahead := "epoch=2025-01-01T00:00:00Z tick=1ms worker:10 time:41 sequence:12", int64(59874000060)<<12 // a minute after now
	do(t, fmt.Sprintln(ahead|1<<53, int64(59_000_000_000)<<12|1000<<53), "audit", "--layout", above).says(t, exitFindings, "2026-11-24T23:40:00.06Z\n")
	burst := do(t, fmt.Sprintln(ids[0], ids[0]+1, int64(1)<<53, "1 2 3"), "audit", "--layout", "epoch=2025-01-01T00:00:00Z tick=1s time:41 worker:20 sequence:1")
	burst.says(t, exitFindings, "(100.0% of the ceiling)", "2^53     is reached by 3 of the IDs", "\ncounter: 3, such as 1\n")
	// The page is the same each time, with workers in the order of numbers.
	back := append(someIDs(20, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0), someIDs(25, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0)...)
	first := do(t, text(back), "audit", "--order", "issue", "--layout", "default")
	first.says(t, exitFindings, fmt.Sprintf("step_back: 12, such as %v, worker 0, 1, 2, 3, 4, 5, 6, 7, 8, 9\n", someIDs(25, 0)[0]))
	do(t, text(back), "audit", "--order", "issue", "--layout", "default").check(t, first)
	for _, future := range []string{"2027-01-01", "2027-01-01T00:00:00Z"} {
		do(t, text(ids), "audit", "--since", future).fails(t, exitUsage, "--since "+future+" is in the future")
	}
	do(t, "", "audit", "--table", "orders", "--by", "id").fails(t, exitUsage, "--by id")
	years := "epoch=2025-01-01T00:00:00Z tick=1h time:41 worker:10 sequence:12" // a time.Time in JSON ends in 9999
	do(t, "9000000000000000000\n", "audit", "--json", "--layout", years).says(t, exitFindings, `"first": "244789986-11-15T02:00:00Z",`)
	do(t, strconv.Itoa(1<<40)+"\n-3\n-4\n", "audit").says(t, exitFindings, "layout: 1\n  shows  a guess that fits badly")
	root := testCommand(testNow, strings.NewReader(text(ids)), &closedPipe{}, &strings.Builder{})
	if code := runCommand(t.Context(), root, []string{"audit", "--json"}); code != exitOK {
		t.Errorf("a reader that ends early: %d", code)
	}
}

// TestIDsThatWereIssuedWhileAnAuditReadsAreNotOfTheFuture has a pipe that lasts an hour.
func TestIDsThatWereIssuedWhileAnAuditReadsAreNotOfTheFuture(t *testing.T) {
	id, err := snowflake.Default().Compose(snowflake.Parts{Time: now.Add(59 * time.Minute)})
	must(t, err)
	begin := now
	in := reader(func(p []byte) (int, error) {
		if begin.After(now) {
			return 0, io.EOF
		}
		begin = now.Add(time.Hour)
		return copy(p, id.String()), nil
	})
	doAt(t.Context(), func() time.Time { return begin }, in, "audit", "--layout", "default").says(t, exitOK)
}

type reader func(p []byte) (int, error)

func (r reader) Read(p []byte) (int, error) { return r(p) }
