package partition_test

import (
	"context"
	"database/sql"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sqlflake/sqlflake/sqltypes/partition"
)

// afterStep is a logger's handler that calls a function once, after the first step whose reason contains a text and
// before the next one begins.
type afterStep struct {
	text string
	once sync.Once
	f    func()
}

func (h *afterStep) Enabled(context.Context, slog.Level) bool { return true }
func (h *afterStep) WithAttrs([]slog.Attr) slog.Handler       { return h }
func (h *afterStep) WithGroup(string) slog.Handler            { return h }

func (h *afterStep) Handle(_ context.Context, r slog.Record) error {
	r.Attrs(func(attr slog.Attr) bool {
		if attr.Key == "why" && strings.Contains(attr.Value.String(), h.text) {
			h.once.Do(h.f)
		}
		return true
	})
	return nil
}

func after(text string, f func()) partition.Option {
	return partition.WithLogger(slog.New(&afterStep{text: text, f: f}))
}

// Reasons of steps.
const (
	constrained = "limits the keys"
	validated   = "reads all rows, without blocking writers"
)

// adoptChecks returns the constraints of Adopt, and whether they are validated.
func (a adopter) adoptChecks() []string {
	a.Helper()
	return a.texts(`SELECT conname || ' ' || convalidated FROM pg_constraint WHERE conname = 'sqlflake_adopt' AND conrelid = 'events'::regclass`)
}

// begin returns a transaction of another client that has executed a statement.
func (a adopter) begin(statement string) *sql.Tx {
	a.Helper()
	tx, err := a.Begin()
	a.must(err)
	if _, err := tx.Exec(statement); err != nil {
		a.Fatal(err)
	}
	a.Cleanup(func() { _ = tx.Rollback() }) // it may have ended
	return tx
}

// A context that ends while VALIDATE CONSTRAINT runs, as in a deployment, leaves no constraint: the server may still hold
// the lock of the cancelled step when its removal begins.
func TestAdoptRemovesItsConstraintWhenCancelled(t *testing.T) {
	t.Parallel()
	for range 3 {
		a := newAdopter(t, "CREATE TABLE events (id bigint PRIMARY KEY);\n")
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		done := make(chan error, 1)
		var tx *sql.Tx
		reached := make(chan struct{})
		set := a.newSet(partition.Day, partition.WithPatience(0), after(constrained, func() {
			tx = a.begin("LOCK TABLE events IN SHARE UPDATE EXCLUSIVE MODE") // VALIDATE waits for it
			close(reached)
		}))
		go func() {
			_, err := set.Adopt(ctx, a.DB)
			done <- err
		}()
		<-reached
		for len(a.texts("SELECT pid::text FROM pg_locks WHERE relation = 'events'::regclass AND NOT granted")) == 0 {
			time.Sleep(time.Millisecond)
		}
		cancel()
		a.ok(tx.Rollback())
		if err := <-done; !errors.Is(err, context.Canceled) || strings.Contains(err.Error(), "sqlflake_adopt stays") {
			t.Errorf("%v, want context.Canceled and the constraint removed", err)
		}
		a.same(a.adoptChecks())
	}
}

// Neither another process that maintains the table at the moment, such as each replica once a minute, nor a transaction
// that uses it for a while prevents it.
func TestAdoptRemovesItsConstraintBesideOthers(t *testing.T) {
	t.Parallel()
	a := newAdopter(t, "CREATE TABLE events (id bigint PRIMARY KEY);\n")
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	set := a.newSet(partition.Day, partition.WithPatience(0), partition.WithLockTimeout(100*time.Millisecond), after(constrained, func() {
		reader := a.begin("LOCK TABLE events IN ACCESS SHARE MODE")
		time.AfterFunc(600*time.Millisecond, func() { _ = reader.Rollback() })
		tx := a.begin(lockOfChange)
		time.AfterFunc(300*time.Millisecond, func() { _ = tx.Rollback() })
		cancel()
	}))
	if _, err := set.Adopt(ctx, a.DB); !errors.Is(err, context.Canceled) || strings.Contains(err.Error(), "sqlflake_adopt stays") {
		t.Errorf("%v, want context.Canceled and the constraint removed", err)
	}
	a.same(a.adoptChecks())
}

// If the constraint can't be removed, the error has the statement that does it.
func TestAdoptNamesTheConstraintThatStays(t *testing.T) {
	t.Parallel()
	a := newAdopter(t, "CREATE TABLE events (id bigint PRIMARY KEY);\n")
	db := a.target.Open(t)
	set := a.newSet(partition.Day, after(constrained, func() { _ = db.Close() })) // as if the server went away
	_, err := set.Adopt(t.Context(), db)
	if err == nil || len(a.adoptChecks()) != 1 {
		t.Fatalf("%v, %v; want an error and the constraint", err, a.adoptChecks())
	}
	_, statement, _ := strings.Cut(err.Error(), "execute ")
	statement, _, _ = strings.Cut(statement, ":")
	if !strings.Contains(statement, a.texts("SELECT current_schema()::text")[0]) || !strings.Contains(statement, "events") {
		t.Fatalf("%v, want it to name the table with its schema, and a statement", err)
	}
	a.run(statement)
	a.same(a.adoptChecks())
}

// A call that ends leaves a constraint that another one has validated, which may have taken hours, also if it has added
// it, and says so.
func TestAdoptLeavesTheConstraintOfAnother(t *testing.T) {
	t.Parallel()
	a := newAdopter(t, "CREATE TABLE kinds (id bigint PRIMARY KEY);\nCREATE TABLE events (id bigint PRIMARY KEY, kind bigint REFERENCES kinds);\n")
	tx := a.begin("LOCK TABLE kinds IN ROW EXCLUSIVE MODE") // no swap for now
	reached, ended := make(chan struct{}), make(chan struct{})
	var wg sync.WaitGroup
	other := a.newSet(partition.Day, after(validated, func() {
		close(reached)
		<-ended
	}))
	impatient := []partition.Option{partition.WithPatience(0), partition.WithLockTimeout(100 * time.Millisecond)}
	first := a.newSet(partition.Day, append(impatient, after(constrained, func() {
		wg.Go(func() {
			steps, err := other.Adopt(t.Context(), a.DB)
			n := len(slices.DeleteFunc(steps, func(s partition.Step) bool { return s.Why != validated }))
			if err != nil || n != 1 {
				t.Errorf("%d times validated, %v; want once", n, err)
			}
		})
		<-reached
	}))...)
	late := a.newSet(partition.Day, impatient...)
	for _, set := range []*partition.Set{first, late} {
		_, err := set.Adopt(t.Context(), a.DB)
		a.is(err, partition.ErrLocked, "sqlflake_adopt stays")
		a.same(a.adoptChecks(), "sqlflake_adopt true")
	}
	_ = tx.Rollback()
	close(ended)
	wg.Wait()
}

// A VALIDATE CONSTRAINT that an administrator cancels, or that takes too long, is not repeated.
func TestAdoptEndsWithACancelledStatement(t *testing.T) {
	t.Parallel()
	a := newAdopter(t, "CREATE TABLE events (id bigint PRIMARY KEY);\n")
	ended := make(chan struct{})
	var wg sync.WaitGroup
	set := a.newSet(partition.Day, after(constrained, func() {
		tx := a.begin("LOCK TABLE events IN SHARE UPDATE EXCLUSIVE MODE") // VALIDATE waits for it
		wg.Go(func() {
			defer func() { _ = tx.Rollback() }()
			for len(a.texts("SELECT pg_cancel_backend(pid)::text FROM pg_locks WHERE relation = 'events'::regclass AND NOT granted")) == 0 {
				select {
				case <-ended:
					t.Error("VALIDATE CONSTRAINT was not seen")
					return
				case <-time.After(time.Millisecond):
				}
			}
		})
	}))
	_, err := set.Adopt(t.Context(), a.DB)
	close(ended)
	wg.Wait()
	var server interface{ SQLState() string }
	if !errors.As(err, &server) || server.SQLState() != "57014" || a.adoptChecks() != nil {
		t.Errorf("%v, %v; want the error of the server, and no constraint", err, a.adoptChecks())
	}
}
