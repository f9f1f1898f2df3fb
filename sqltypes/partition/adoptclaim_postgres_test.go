package partition_test

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sqlflake/sqlflake/sqltypes/partition"
)

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
		done := background(func() error {
			_, err := set.Adopt(ctx, a.DB)
			return err
		})
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
