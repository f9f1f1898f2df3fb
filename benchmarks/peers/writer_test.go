package main

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	sonyflakev1 "github.com/sony/sonyflake"

	"github.com/sqlflake/sqlflake/snowflake"
	"github.com/sqlflake/sqlflake/snowflake/lease"
	"github.com/sqlflake/sqlflake/snowflake/lease/sqllease"
	"github.com/sqlflake/sqlflake/snowflake/sqldb"
)

// writerVariable makes the test binary a writer; it holds an order.
const writerVariable = "SNOWFLAKE_PEERS_WRITER"

// order says what a writer does: it inserts rows with IDs of a generator into a table until its standard input ends.
type order struct {
	DSN              string
	Slot, Generation int    // which process it is, and the how many-th in its place
	Library          string // "" is this module
	Node             int    // of another library
	Ahead            time.Duration
	Layout           string // of this module
	First, Last      int64  // workers of this module
	Window           time.Duration
}

const batch = 16 // rows of a statement

// patience bounds waits. It is no promise: the machine may be busy.
const patience = 3 * time.Minute

// runWriter inserts rows and returns true if this process was started for that.
func runWriter() bool {
	text, ok := os.LookupEnv(writerVariable)
	if !ok {
		return false
	}

	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()

	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		cancel()
	}()
	var o order
	err := json.Unmarshal([]byte(text), &o)

	if err == nil {
		err = o.write(ctx)
	}
	if err != nil && ctx.Err() == nil {
		fmt.Fprintln(os.Stderr, err)
	}

	return true
}

// write writes a byte for each statement.
func (o order) write(ctx context.Context) (err error) {
	db, err := sql.Open("pgx", o.DSN)
	if err != nil {
		return err
	}
	defer db.Close()

	draw, end, err := o.open(ctx, db)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, end()) }()

	for n := 0; ; n += batch {
		ids := make([]int64, batch)
		for i := range ids {
			if ids[i], err = draw(); err != nil {
				return err
			}
		}

		// Not ctx: a statement that is cancelled may insert or not, and the end of this process is to be orderly.
		_, err := db.Exec(`INSERT INTO orders SELECT id, $2, $3, $4::int + n
			FROM unnest($1::bigint[]) WITH ORDINALITY AS t (id, n)`,
			ids, o.Slot, o.Generation, n)
		if err != nil {
			return err
		}

		if _, err := os.Stdout.WriteString("."); err != nil || ctx.Err() != nil {
			return err
		}

		time.Sleep(time.Millisecond) // the events are the test, not the number of rows
	}
}

// open returns a generator.
func (o order) open(ctx context.Context, db *sql.DB) (draw func() (int64, error), end func() error, err error) {
	if o.Library == "" {
		return o.lease(ctx, db)
	}
	draw, err = openPeer(ctx, o.Library, o.Node, o.Ahead)
	return draw, func() error { return nil }, err
}

// sonyflakeV1 is not among the libraries: one of the two is enough there.
const sonyflakeV1 = "sonyflake v1"

// openPeer returns the generator of another library, with its defaults, on a clock that is ahead.
func openPeer(ctx context.Context, library string, node int, ahead time.Duration) (
	draw func() (int64, error), err error,
) {
	if library != sonyflakeV1 {
		s := spec{Library: library, Back: -ahead, Workers: []int{node}}
		one, err := s.library().open(ctx, s, node)
		return one.next, err
	}

	flake, err := sonyflakev1.New(sonyflakev1.Settings{
		StartTime: time.Date(2014, 9, 1, 0, 0, 0, 0, time.UTC).Add(-ahead), // the default
		MachineID: func() (uint16, error) { return uint16(node), nil },
	})
	return func() (int64, error) { id, err := flake.NextID(); return int64(id), err }, err
}

// afterOthers leases a worker in a range that no other process has. Its IDs have the layout of the others.
func afterOthers(ctx context.Context, db *sql.DB, old snowflake.Layout, first, last int64,
	more ...lease.Option,
) (*lease.Lease, error) {
	options := []lease.Option{lease.WithGenerator(snowflake.WithLayout(old)), lease.WithWorkers(first, last)}
	return sqllease.Open(ctx, db, sqldb.Postgres, append(options, more...)...)
}

// untilPassed returns how long the clock needs to pass the greatest ID of the table. Only if the clock of another host
// is or was ahead, it is more than a tick.
func untilPassed(ctx context.Context, db *sql.DB, layout snowflake.Layout) (
	wait time.Duration, greatest snowflake.ID, err error,
) {
	err = db.QueryRowContext(ctx, "SELECT coalesce(max(id), 0) FROM orders").Scan(&greatest)
	return time.Until(layout.Time(greatest).Add(layout.Tick())), greatest, err
}

// lease takes a worker in the database with the rows. Its first ID is above all IDs that the table has by then; the
// table starts keeps the greatest.
func (o order) lease(ctx context.Context, db *sql.DB) (draw func() (int64, error), end func() error, err error) {
	layout, err := snowflake.ParseLayout(o.Layout)
	if err != nil {
		return nil, nil, err
	}

	var l *lease.Lease
	for l == nil {
		l, err = afterOthers(ctx, db, layout, o.First, o.Last, lease.WithWindow(o.Window),
			lease.WithPatience(patience), quiet)
		// calls of short windows are short
		if err != nil && (!errors.Is(err, context.DeadlineExceeded) || ctx.Err() != nil) {
			return nil, nil, err
		}
	}

	wait, greatest, err := untilPassed(ctx, db, layout)
	if err == nil {
		_, err = db.ExecContext(ctx, "INSERT INTO starts VALUES ($1, $2, $3)", o.Slot, o.Generation, greatest)
	}
	if err != nil {
		return nil, nil, errors.Join(err, l.Close(ctx))
	}

	time.Sleep(wait)
	return func() (int64, error) {
		id, err := l.Generator().NextContext(ctx)
		return int64(id), err
	}, func() error { return l.Close(context.Background()) }, nil
}

// writer is a running writer.
type writer struct {
	o          order
	cmd        *exec.Cmd
	stdin      io.WriteCloser
	statements counter
	ended      chan struct{}   // closed when all that it has written was read
	fault      strings.Builder // complete when it has ended
}

// counter counts the bytes that are written to it.
type counter struct{ atomic.Int64 }

func (c *counter) Write(p []byte) (int, error) {
	c.Add(int64(len(p)))
	return len(p), nil
}

func startWriter(t *testing.T, o order) *writer {
	t.Helper()
	text, err := json.Marshal(o)
	must(t, err)

	self, err := os.Executable()
	must(t, err)

	// Without t.Context(), whose end would look like one of the kills.
	w := &writer{o: o, cmd: exec.Command(self), ended: make(chan struct{})}
	w.cmd.Env = append(os.Environ(), writerVariable+"="+string(text), "GORACE=atexit_sleep_ms=0")
	w.cmd.Stdout, w.cmd.Stderr = &w.statements, &w.fault
	if w.stdin, err = w.cmd.StdinPipe(); err == nil {
		err = w.cmd.Start()
	}
	must(t, err)

	t.Cleanup(func() {
		_ = w.cmd.Process.Kill() // most have ended
		<-w.ended
	})
	go func() {
		_ = w.cmd.Wait() // the writer has said why it failed
		close(w.ended)
	}()

	return w
}

// inserts waits until the writer has inserted n more rows.
func (w *writer) inserts(t *testing.T, n int) {
	t.Helper()
	want := w.statements.Load() + int64((n+batch-1)/batch)
	for begin := time.Now(); w.statements.Load() < want; time.Sleep(time.Millisecond) {
		select {
		case <-w.ended:
			t.Fatalf("%s: %d statements, want %d; %s", w, w.statements.Load(), want, &w.fault)
		default:
			if time.Since(begin) > patience {
				t.Fatalf("%s: %d statements in %v, want %d", w, w.statements.Load(), patience, want)
			}
		}
	}
}

// kill is kill -9.
func (w *writer) kill(t *testing.T) {
	t.Helper()
	if err := w.cmd.Process.Kill(); err != nil {
		t.Errorf("%s: %v", w, err)
	}
	w.check(t)
}

// finish lets the writer end by itself.
func (w *writer) finish(t *testing.T) {
	t.Helper()
	_ = w.stdin.Close() // it is there no more if the writer has ended, which has a fault
	w.check(t)
}

func (w *writer) check(t *testing.T) {
	t.Helper()
	<-w.ended
	if w.fault.Len() > 0 {
		t.Errorf("%s: %s", w, &w.fault)
	}
}

func (w *writer) String() string {
	name := w.o.Library
	if name == "" {
		name = "sqlflake"
	}
	return fmt.Sprintf("place %d, generation %d, %s", w.o.Slot, w.o.Generation, name)
}

// must ends the test if there is an error.
func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
