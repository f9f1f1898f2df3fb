package main

import (
	"bufio"
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sqlflake/sqlflake/snowflake"
	"github.com/sqlflake/sqlflake/snowflake/lease"
	"github.com/sqlflake/sqlflake/snowflake/lease/sqllease"
	"github.com/sqlflake/sqlflake/snowflake/sqldb"
)

// writerVariable makes the test binary a writer; it holds one.
const writerVariable = "SQLFLAKE_TEST_WRITER"

// writer is a process of a region: it leases a worker of the share there, and inserts rows until its standard input ends.
type writer struct {
	DSN, Region, Namespace string
	First, Last            int64 // the share
	Untold                 bool  // it leases workers of this range, and does not tell the table that this is the share
}

// running is a writer that was started.
type running struct {
	writer
	cmd   *exec.Cmd
	stdin io.WriteCloser
	ended chan struct{}
	count atomic.Int64 // statements
	fault atomic.Pointer[string]
}

// write is the process.
func write(text string) error {
	var w writer
	if err := json.Unmarshal([]byte(text), &w); err != nil {
		return err
	}

	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		cancel()
	}()

	db, err := sql.Open("pgx", w.DSN)
	if err != nil {
		return err
	}

	defer db.Close()
	var l *lease.Lease
	if w.Untold {
		l, err = sqllease.Open(ctx, db, sqldb.Postgres, lease.WithNamespace(w.Namespace), lease.WithWorkers(w.First, w.Last))
	} else {
		l, err = inRegion(ctx, db, w.Namespace, w.First, w.Last)
	}

	if err != nil {
		return err
	}

	defer func() { _ = l.Close(context.Background()) }() // it expires
	for ctx.Err() == nil {
		ids := make([]int64, 16)
		for i := range ids {
			id, err := l.Generator().NextContext(ctx)
			if ctx.Err() != nil {
				return nil
			}
			if err != nil {
				return err
			}
			ids[i] = int64(id)
		}

		if _, err := db.Exec("INSERT INTO orders SELECT id, $2 FROM unnest($1::bigint[]) AS id", ids, w.Region); err != nil {
			return err
		}

		fmt.Println("inserted")
		time.Sleep(time.Millisecond)
	}

	return nil
}

// inRegion leases a worker of the region's share.
func inRegion(ctx context.Context, db *sql.DB, namespace string, first, last int64) (*lease.Lease, error) {
	store, err := sqllease.New(db, sqldb.Postgres)
	if err != nil {
		return nil, err
	}
	if err := store.Migrate(ctx); err != nil {
		return nil, err
	}
	if err := store.SetShare(ctx, namespace, snowflake.Default(), first, last); err != nil {
		return nil, err
	}
	return lease.Open(ctx, store, lease.WithNamespace(namespace))
}

// start starts the process.
func (w writer) start(t *testing.T) *running {
	t.Helper()
	text, err := json.Marshal(w)
	must(t, err)
	self, err := os.Executable()
	must(t, err)
	p := &running{writer: w, ended: make(chan struct{})}
	p.cmd = exec.Command(self) // without a context, whose end would look like one of the kills
	p.cmd.Env = append(os.Environ(), writerVariable+"="+string(text))
	out, err := p.cmd.StdoutPipe()
	if err == nil {
		p.stdin, err = p.cmd.StdinPipe()
	}

	if err == nil {
		err = p.cmd.Start()
	}

	must(t, err)
	t.Cleanup(func() {
		_ = p.cmd.Process.Kill() // most have ended
		<-p.ended
	})

	go func() {
		for lines := bufio.NewScanner(out); lines.Scan(); {
			if text := lines.Text(); text == "inserted" {
				p.count.Add(1)
			} else {
				p.fault.Store(&text)
			}
		}
		_ = p.cmd.Wait() // a fault has a line
		close(p.ended)
	}()

	return p
}

// inserts waits for n more statements.
func (w *running) inserts(t *testing.T, n int64) *running {
	t.Helper()
	n += w.count.Load()
	eventually(t, fmt.Sprintf("%d statements in %s", n, w.Region), func() bool {
		w.check(t)
		return w.count.Load() >= n
	})
	return w
}

func (w *running) check(t *testing.T) {
	t.Helper()
	if fault := w.fault.Load(); fault != nil {
		t.Fatalf("a process in %s: %s", w.Region, *fault)
	}
}

// kill is kill -9.
func (w *running) kill(t *testing.T) {
	t.Helper()
	_ = w.cmd.Process.Kill() // if it has ended by itself there is a fault
	<-w.ended
	w.check(t)
}

// finish lets the process end by itself.
func (w *running) finish(t *testing.T) {
	t.Helper()
	_ = w.stdin.Close() // as in kill
	<-w.ended
	w.check(t)
}

func eventually(t *testing.T, what string, condition func() bool) {
	t.Helper()
	for begin := time.Now(); !condition(); time.Sleep(5 * time.Millisecond) {
		if time.Since(begin) > 3*time.Minute {
			t.Fatalf("not after three minutes: %s", what)
		}
	}
}
