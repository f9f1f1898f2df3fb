package partition_test

import (
	"cmp"
	"context"
	"database/sql"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sqlflake/sqlflake/internal/testclock"
	"github.com/sqlflake/sqlflake/snowflake"
	"github.com/sqlflake/sqlflake/sqltypes/partition"
)

// writing is what the writers did.
type writing struct{ written, longest atomic.Int64 }

// write calls insert with new IDs until ctx ends. The first error of each writer fails the test.
func (w *writing) write(ctx context.Context, t *testing.T, what string, gen *snowflake.Generator, insert func(id int64) error) {
	for ctx.Err() == nil {
		id, err := gen.Next()
		start := time.Now()
		if err == nil {
			err = insert(int64(id))
		}
		if err != nil {
			t.Errorf("%s: %v", what, err)
			return
		}
		w.written.Add(1)
		w.longest.Store(max(w.longest.Load(), int64(time.Since(start))))
	}
}

// more waits until the writers have written a hundred rows more.
func (w *writing) more(e *events) {
	e.Helper()
	before := w.written.Load()
	e.until("more rows", func() bool { return w.written.Load() > before+100 })
}

// startWriters starts four writers, each in its own way to use prepared statements. stop ends them.
func startWriters(t *testing.T, db *sql.DB, options ...snowflake.Option) (w *writing, stop func()) {
	ctx, cancel := context.WithCancel(t.Context())
	gen, err := snowflake.New(7, options...)
	if err != nil {
		t.Fatal(err)
	}
	w = &writing{}
	var wg sync.WaitGroup
	prepare := func(query string) *sql.Stmt {
		stmt, err := db.PrepareContext(t.Context(), query)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = stmt.Close() })
		return stmt
	}
	prepared := prepare("INSERT INTO events (id, body) VALUES ($1, 'prepared') RETURNING *")
	reading, updating := prepare("SELECT * FROM events WHERE id = $1"), prepare("UPDATE events SET body = 'b' WHERE id = $1")
	check := func(row *sql.Row, id int64) error {
		var got int64
		var kind, body any
		if err := row.Scan(&got, &kind, &body); err != nil || got != id {
			return fmt.Errorf("row %d, want %d: %w", got, id, err)
		}
		return nil
	}
	for what, insert := range map[string]func(id int64) error{
		"statements that the driver prepares": func(id int64) error {
			_, err := db.Exec("INSERT INTO events (id, body) VALUES ($1, $2) ON CONFLICT (id) DO NOTHING", id, "cached")
			return err
		},
		"a prepared statement": func(id int64) error { return check(prepared.QueryRow(id), id) },
		"a transaction": func(id int64) error {
			tx, err := db.Begin()
			if err != nil {
				return err
			}
			defer func() { _ = tx.Rollback() }()
			if _, err := tx.Exec("INSERT INTO events (id, body) VALUES ($1, 'a')", id); err != nil {
				return err
			}
			if err := check(tx.Stmt(reading).QueryRow(id), id); err != nil { //nolint:sqlclosecheck // Commit and Rollback close it
				return err
			}
			result, err := tx.Stmt(updating).Exec(id) //nolint:sqlclosecheck // Commit and Rollback close it
			if err != nil {
				return err
			}
			if n, err := result.RowsAffected(); n != 1 || err != nil {
				return fmt.Errorf("%d rows updated, %w", n, err)
			}
			return tx.Commit()
		},
		"a table that refers to it": func(id int64) error {
			if _, err := db.Exec("INSERT INTO events (id, kind) VALUES ($1, 2)", id); err != nil {
				return err
			}
			_, err := db.Exec("INSERT INTO lines VALUES ($1, $1)", id)
			return err
		},
	} {
		wg.Go(func() { w.write(ctx, t, what, gen, insert) })
	}
	return w, func() { cancel(); wg.Wait() }
}

const writtenTable = `CREATE TABLE kinds (id bigint PRIMARY KEY);
INSERT INTO kinds VALUES (1), (2);
CREATE TABLE events (id bigint PRIMARY KEY, kind bigint NOT NULL DEFAULT 1 REFERENCES kinds, body text);
CREATE INDEX events_body ON events (body);
CREATE TABLE lines (id bigint PRIMARY KEY, event bigint NOT NULL REFERENCES events ON DELETE CASCADE);
`

// No insert fails and no row is lost, whatever way statements are prepared.
func TestAdoptBesideWriters(t *testing.T) {
	a := onPostgres(t, writtenTable)
	rows, err := strconv.Atoi(cmp.Or(os.Getenv("SNOWFLAKE_TEST_ADOPT_ROWS"), "50000")) // of the old table
	a.must(err)
	a.exec(fmt.Sprintf("INSERT INTO events (id, body) SELECT %d - n::bigint * 100000, 'body ' || n FROM generate_series(1, %d) AS n",
		idAt(time.Now().Add(-time.Hour)), rows))
	w, stop := startWriters(t, a.DB)
	defer stop()
	w.more(a)
	w.longest.Store(0)
	start := time.Now()
	steps := a.adopt(a.newSet(partition.Day))
	took := time.Since(start)
	during, longest := w.written.Load(), time.Duration(w.longest.Load())
	w.more(a)
	stop()
	a.rows("events", rows+int(w.written.Load()))
	if a.count("SELECT count(*) FROM lines JOIN events ON event = events.id") == 0 {
		t.Error("no lines")
	}
	t.Logf("%d rows adopted in %v, %d steps, beside 4 writers with %d inserts; the longest insert took %v", rows,
		took.Round(time.Millisecond), len(steps), during, longest.Round(time.Millisecond))
}

// The constraint rejects rows from the cut on. If the swap does not get its locks before, it has to go.
func TestAdoptMovesTheCutAheadOfTheClock(t *testing.T) {
	t.Parallel()
	a := onPostgres(t, writtenTable)
	adopting, writing := testclock.New(0), testclock.New(0)
	w, stop := startWriters(t, a.DB, snowflake.WithClock(writing))
	defer stop()
	// Somebody holds a lock that the swap waits for, but not the constraint: that of a referred table.
	end := a.hold("INSERT INTO kinds VALUES (3)")
	var steps []partition.Step
	done := background(func() (err error) {
		steps, err = a.newSet(partition.Day, partition.WithLockTimeout(20*time.Millisecond), partition.WithPatience(time.Hour),
			partition.WithNow(adopting.Now)).Adopt(a.limit(), a.DB)
		return err
	})
	cut := func() string { // of the constraint that all rows fulfil
		return strings.Join(a.texts("SELECT pg_get_constraintdef(oid) FROM pg_constraint WHERE conname = 'sqlflake_adopt' AND convalidated "+
			"AND connamespace = current_schema()::regnamespace"), "")
	}
	first := ""
	a.until("a constraint", func() bool { first = cut(); return first != "" })
	// It is noon: the first cut is 36 hours ahead, and has to go when it is closer than 6. The second is 60 hours ahead.
	adopting.Push(32 * time.Hour)
	a.until("another constraint", func() bool { second := cut(); return second != "" && second != first })
	writing.Push(40 * time.Hour)
	w.more(a) // from the first cut on
	end()
	a.must(<-done)
	for _, step := range steps {
		if step.Action == "create" && step.Why != "day ahead" {
			t.Errorf("%s is for the %s", step.Partition, step.Why)
		}
	}
	stop()
	a.rows("events", int(w.written.Load()))
}

// A transaction that uses the table keeps the swap from its lock. Writers continue meanwhile. Adopt gives up in time
// and leaves no constraint.
func TestAdoptGivesUpWithoutItsLock(t *testing.T) {
	t.Parallel()
	a := onPostgres(t, writtenTable)
	limited, err := sql.Open("pgx", a.target.DSN+"&lock_timeout=60000") // a writer that waits for longer fails
	a.must(err)
	defer limited.Close()
	w, stop := startWriters(t, limited)
	defer stop()
	end := a.hold("LOCK TABLE kinds IN ROW EXCLUSIVE MODE")
	pid := a.count("SELECT pid FROM pg_locks WHERE relation = 'kinds'::regclass AND mode = 'RowExclusiveLock'")
	before := a.describe()
	set := a.newSet(partition.Day, partition.WithLockTimeout(50*time.Millisecond), partition.WithPatience(time.Second))
	_, err = set.Adopt(t.Context(), a.DB)
	a.is(err, partition.ErrLocked, fmt.Sprintf(".kinds is locked by process %d postgres", pid))
	w.more(a)
	stop()
	if got := a.describe(); fmt.Sprint(got) != fmt.Sprint(before) {
		t.Errorf("%v\nwas changed to\n%v", before, got)
	}
	end()
	a.adopt(set)
}
