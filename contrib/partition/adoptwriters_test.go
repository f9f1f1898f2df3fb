package partition_test

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sqlflake/sqlflake/contrib/partition"
	"github.com/sqlflake/sqlflake/internal/testclock"
	"github.com/sqlflake/sqlflake/snowflake"
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
func (a *events) startWriters(db *sql.DB, options ...snowflake.Option) (w *writing, stop func()) {
	a.Helper()
	ctx, cancel := context.WithCancel(a.Context())
	gen, err := snowflake.New(7, options...)
	a.must(err)
	w = &writing{}
	var wg sync.WaitGroup
	prepare := func(query string) *sql.Stmt {
		stmt, err := db.PrepareContext(a.Context(), query)
		a.must(err)
		a.Cleanup(func() { _ = stmt.Close() })
		return stmt
	}

	prepared := prepare("INSERT INTO events (id, body) VALUES ($1, 'prepared') RETURNING *")
	reading := prepare("SELECT * FROM events WHERE id = $1")
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
			_, err = tx.Exec("INSERT INTO events (id, body) VALUES ($1, 'a')", id)
			row := tx.Stmt(reading).QueryRow(id) //nolint:sqlclosecheck // Commit closes it
			return errors.Join(err, check(row, id), tx.Commit())
		},
		"a table that refers to it": func(id int64) error {
			_, err := db.Exec("INSERT INTO events (id, kind) VALUES ($1, 2)", id)
			_, lineErr := db.Exec("INSERT INTO lines VALUES ($1, $1)", id)
			return errors.Join(err, lineErr)
		},
	} {
		wg.Go(func() { w.write(ctx, a.T, what, gen, insert) })
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
	w, stop := a.startWriters(a.DB)
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
	w, stop := a.startWriters(a.DB, snowflake.WithClock(writing))
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
		// pg_get_constraintdef reads the catalogue anew: it is NULL for a constraint dropped since the statement began.
		return strings.Join(a.texts("SELECT COALESCE(pg_get_constraintdef(oid), '') FROM pg_constraint "+
			"WHERE conname = 'sqlflake_adopt' AND convalidated AND connamespace = current_schema()::regnamespace"), "")
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
	w, stop := a.startWriters(limited)
	defer stop()
	end := a.hold("LOCK TABLE kinds IN ROW EXCLUSIVE MODE")
	pid := a.count("SELECT pid FROM pg_locks WHERE relation = 'kinds'::regclass AND mode = 'RowExclusiveLock'")
	before := a.describe()
	set := a.newSet(partition.Day, partition.WithLockTimeout(50*time.Millisecond), partition.WithPatience(time.Second))
	_, err = set.Adopt(t.Context(), a.DB)
	a.is(err, partition.ErrLocked, fmt.Sprintf(".kinds is locked by process %d postgres", pid))
	w.more(a)
	stop()
	a.same(a.describe(), before...)
	end()
	a.adopt(a.newSet(partition.Day)) // with patience, as the server may still end what the writers have left
}

// afterStep is the output of a log. It calls a function once, after the first step whose line contains a text and before
// the next one begins.
type afterStep struct {
	text string
	once sync.Once
	f    func()
}

func (w *afterStep) Write(line []byte) (int, error) {
	if strings.Contains(string(line), w.text) {
		w.once.Do(w.f)
	}
	return len(line), nil
}

func after(text string, f func()) partition.Option {
	return partition.WithLogger(slog.New(slog.NewTextHandler(&afterStep{text: text, f: f}, nil)))
}

const ordinaryTable = "CREATE TABLE events (id bigint PRIMARY KEY, body text);\n"

// Reasons of steps.
const (
	constrained = "limits the keys"
	validated   = "reads all rows, without blocking writers"
)

// adoptChecks returns the constraints of Adopt, and whether they are validated.
func (a *events) adoptChecks() []string {
	a.Helper()
	return a.texts(`SELECT conname || ' ' || convalidated FROM pg_constraint WHERE conname = 'sqlflake_adopt' AND conrelid = 'events'::regclass`)
}

// validationStop is a lock that VALIDATE CONSTRAINT waits for.
const validationStop = "LOCK TABLE events IN SHARE UPDATE EXCLUSIVE MODE"

const waitsToValidate = " FROM pg_locks WHERE relation = 'events'::regclass AND NOT granted"

// A context that ends while VALIDATE CONSTRAINT runs, as in a deployment, leaves no constraint: the server may still hold
// the lock of the cancelled step when its removal begins.
func TestAdoptRemovesItsConstraintWhenCancelled(t *testing.T) {
	t.Parallel()
	for range 3 {
		a := onPostgres(t, ordinaryTable)
		ctx, cancel := context.WithCancel(t.Context())
		reached := make(chan func())
		set := a.newSet(partition.Day, partition.WithPatience(0), after(constrained, func() { reached <- a.hold(validationStop) }))
		done := a.adopting(ctx, set)
		end := <-reached
		a.waitFor("SELECT count(*)" + waitsToValidate)
		cancel()
		end()
		a.cancelled(<-done)
	}
}

// cancelled checks that Adopt has removed the constraint.
func (a *events) cancelled(err error) {
	a.Helper()
	if !errors.Is(err, context.Canceled) || strings.Contains(err.Error(), "sqlflake_adopt stays") {
		a.Errorf("%v, want context.Canceled and the constraint removed", err)
	}
	a.same(a.adoptChecks())
}

// Neither another process that maintains the table at the moment, such as each replica once a minute, nor a transaction
// that uses it for a while prevents it.
func TestAdoptRemovesItsConstraintBesideOthers(t *testing.T) {
	t.Parallel()
	a := onPostgres(t, ordinaryTable)
	ctx, cancel := context.WithCancel(t.Context())
	set := a.newSet(partition.Day, partition.WithPatience(0), partition.WithLockTimeout(100*time.Millisecond), after(constrained, func() {
		time.AfterFunc(600*time.Millisecond, a.hold("LOCK TABLE events IN ACCESS SHARE MODE"))
		time.AfterFunc(300*time.Millisecond, a.hold(lockOfChange))
		cancel()
	}))
	_, err := set.Adopt(ctx, a.DB)
	a.cancelled(err)
}

// If the constraint can't be removed, the error has the statement that does it.
func TestAdoptNamesTheConstraintThatStays(t *testing.T) {
	t.Parallel()
	a := onPostgres(t, ordinaryTable)
	db := a.target.Open(t)
	set := a.newSet(partition.Day, after(constrained, func() { _ = db.Close() })) // as if the server went away
	_, err := set.Adopt(t.Context(), db)
	if err == nil || len(a.adoptChecks()) != 1 {
		t.Fatalf("%v, %v; want an error and the constraint", err, a.adoptChecks())
	}

	_, statement, _ := strings.Cut(err.Error(), "execute ")
	statement, _, _ = strings.Cut(statement, ":")
	if !strings.Contains(statement, a.schema()) || !strings.Contains(statement, "events") {
		t.Fatalf("%v, want it to name the table with its schema, and a statement", err)
	}

	a.exec(statement)
	a.same(a.adoptChecks())
}

// A call that ends leaves a constraint that another one has validated, which may have taken hours, also if it has added
// it, and says so.
func TestAdoptLeavesTheConstraintOfAnother(t *testing.T) {
	t.Parallel()
	a := onPostgres(t, "CREATE TABLE kinds (id bigint PRIMARY KEY);\nCREATE TABLE events (id bigint PRIMARY KEY, kind bigint REFERENCES kinds);\n")
	end := a.hold("LOCK TABLE kinds IN ROW EXCLUSIVE MODE") // no swap for now
	reached, ended := make(chan struct{}), make(chan struct{})
	var done <-chan error
	impatient := []partition.Option{partition.WithPatience(0), partition.WithLockTimeout(100 * time.Millisecond)}
	first := a.set(append(impatient, after(constrained, func() {
		other := a.set(after(validated, func() {
			close(reached)
			<-ended
		}))

		done = background(func() error {
			steps, err := other.Adopt(t.Context(), a.DB)
			n := len(slices.DeleteFunc(steps, func(s partition.Step) bool { return s.Why != validated }))
			if n != 1 {
				t.Errorf("%d times validated, want once", n)
			}
			return err
		})

		<-reached
	}))...)

	for _, set := range []*partition.Set{first, a.set(impatient...)} {
		_, err := set.Adopt(t.Context(), a.DB)
		a.is(err, partition.ErrLocked, "sqlflake_adopt stays")
		a.same(a.adoptChecks(), "sqlflake_adopt true")
	}

	end()
	close(ended)
	a.ok(<-done)
}

// A VALIDATE CONSTRAINT that an administrator cancels, or that takes too long, is not repeated.
func TestAdoptEndsWithACancelledStatement(t *testing.T) {
	t.Parallel()
	a := onPostgres(t, ordinaryTable)
	var cancelled sync.WaitGroup
	set := a.newSet(partition.Day, after(constrained, func() {
		end := a.hold(validationStop)
		cancelled.Go(func() {
			defer end()
			a.until("VALIDATE CONSTRAINT", func() bool { return a.texts("SELECT pg_cancel_backend(pid)::text"+waitsToValidate) != nil })
		})
	}))

	_, err := set.Adopt(a.limit(), a.DB)
	cancelled.Wait()
	var server interface{ SQLState() string }
	if !errors.As(err, &server) || server.SQLState() != "57014" || a.adoptChecks() != nil {
		t.Errorf("%v, %v; want the error of the server, and no constraint", err, a.adoptChecks())
	}
}
