package processtest

import (
	"context"
	"database/sql"
	"errors"
	"log/slog"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sqlflake/sqlflake/snowflake"
	"github.com/sqlflake/sqlflake/snowflake/lease"
	"github.com/sqlflake/sqlflake/snowflake/lease/sqllease"
)

// outage makes the database unreachable and reachable again.
type outage struct{ begin, end func() }

// outageOf returns the place for the lease and its outage: a proxy that refuses connections, or for SQLite another
// writer that does not end.
func outageOf(t *testing.T, p place) (place, outage) {
	t.Helper()
	if p.Kind != "sqlite" {
		x, far := through(t, p)
		return far, outage{
			begin: func() { x.gone.Store(true); x.closeAll() },
			end:   func() { x.gone.Store(false) },
		}
	}
	db, err := sql.Open(p.Driver, p.DSN)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	db.SetMaxOpenConns(1)
	exec := func(text string) {
		t.Helper()
		if _, err := db.ExecContext(t.Context(), text); err != nil {
			t.Error(err)
		}
	}
	return p, outage{begin: func() { exec("BEGIN IMMEDIATE") }, end: func() { exec("ROLLBACK") }}
}

// The generator issues IDs up to its horizon. Then calls wait until their deadlines, calls without one for the patience
// of the lease, and it continues by itself when the database is back.
func TestGeneratorOutlivesAnOutageOfItsDatabase(t *testing.T) {
	t.Parallel()
	eachDatabase(t, func(t *testing.T, p place) {
		near := p.store(t)
		far, database := outageOf(t, p)
		store := far.store(t)
		var extensions atomic.Int64
		l := openPatiently(t, func() (*lease.Lease, error) {
			return lease.Open(t.Context(), store,
				lease.WithGenerator(snowflake.WithLayout(snowflake.Default())),
				lease.WithWindow(600*time.Millisecond),
				lease.WithPatience(50*time.Millisecond),
				lease.WithLogger(slog.New(slog.DiscardHandler)),
				lease.WithObserver(func(e lease.Event) {
					if e.Kind == lease.Extended {
						extensions.Add(1)
					}
				}))
		})
		g := l.Generator()
		var last snowflake.ID
		next := func(err error, id snowflake.ID) error {
			if err == nil && id <= last {
				t.Fatalf("ID %d came after %d", id, last)
			}
			last = max(last, id)
			return err
		}
		// drain lets the outage begin after an extension, when half a window is left at least, and returns how many IDs
		// there are until the end.
		drain := func() (served int) {
			before := extensions.Load()
			Eventually(t, "an extension", func() bool { return extensions.Load() > before })
			database.begin()
			horizon := Entries(t, near)[l.Status().Worker].Horizon
			for begin := time.Now(); ; served++ {
				id, err := g.Next()
				if next(err, id) != nil {
					if !errors.Is(err, snowflake.ErrLeaseStalled) {
						t.Fatalf("Next during the outage: %v, want ErrLeaseStalled", err)
					}
					return served
				}
				if tick := tickOf(id); tick >= horizon {
					t.Fatalf("ID %d has tick %d, the horizon is %d", id, tick, horizon)
				}
				if time.Since(begin) > Patience {
					t.Fatal("no end of IDs")
				}
			}
		}
		served := drain()
		for tries := 1; served == 0; tries++ { // the test may have been held up for half a window
			if tries == 10 {
				t.Fatal("no ID during ten outages")
			}
			database.end()
			served = drain()
		}

		for deadline := 20 * time.Millisecond; ; deadline *= 2 {
			short, cancel := context.WithTimeout(t.Context(), deadline)
			_, err := g.NextContext(short)
			cancel()
			if errors.Is(err, snowflake.ErrLeaseStalled) && errors.Is(err, context.DeadlineExceeded) {
				break
			}
			// It may have ended before the call.
			if !errors.Is(err, context.DeadlineExceeded) || deadline > Patience {
				t.Fatalf("NextContext with a deadline: %v, want ErrLeaseStalled and DeadlineExceeded", err)
			}
		}
		long, stop := context.WithTimeout(t.Context(), Patience)
		defer stop()
		const rest = time.Second // longer than the window and than the lease's expiry
		begin := time.Now()
		time.AfterFunc(rest, database.end)
		for range 2 {
			id, err := g.NextContext(long)
			if next(err, id) != nil || time.Since(begin) < rest {
				t.Errorf("NextContext in the outage and after it: %v after %v", err, time.Since(begin))
			}
		}
		status := l.Status()
		if err := l.Close(t.Context()); err != nil {
			t.Error(err)
		}
		if status.Epoch != 1 {
			t.Errorf("epoch %d after the outage: nobody has taken the worker over", status.Epoch)
		}
		t.Logf("%d IDs served during the outage", served)
	})
}

// Connecting takes longer than a call of the store may take, as on a server that is far away or busy.
func TestALeaseGetsAConnectionHoweverLongConnectingTakes(t *testing.T) {
	t.Parallel()
	eachServer(t, func(t *testing.T, p place) {
		p.store(t) // makes the table
		for _, window := range []time.Duration{300 * time.Millisecond, time.Second} {
			t.Run(window.String(), func(t *testing.T) {
				t.Parallel()
				x, far := through(t, p)
				x.late.Store(int64(2500 * time.Millisecond))
				db, err := sql.Open(p.Driver, far.DSN)
				if err != nil {
					t.Fatal(err)
				}
				store, err := sqllease.New(db, far.dialect())
				if err != nil {
					t.Fatal(err)
				}

				l, err := lease.Open(t.Context(), store, lease.WithWindow(window), lease.WithMaxSkew(time.Minute),
					lease.WithLogger(slog.New(slog.DiscardHandler)))
				if err != nil {
					t.Fatal(err)
				}

				x.closeAll()
				cut := time.Now()
				Eventually(t, "an extension", func() bool { return l.Status().Extended.After(cut) })
				if stats := db.Stats(); stats.OpenConnections > 1 {
					t.Errorf("%d connections, want 1: the first attempt's", stats.OpenConnections)
				}
				if err := l.Close(t.Context()); err != nil {
					t.Error(err)
				}
				if err := db.Close(); err != nil {
					t.Error(err)
				}
			})
		}
	})
}

// openPatiently opens a lease with a window within which a busy store may not answer.
func openPatiently(t *testing.T, open func() (*lease.Lease, error)) (l *lease.Lease) {
	t.Helper()
	var err error
	for begin := time.Now(); time.Since(begin) < Patience; {
		if l, err = open(); err == nil {
			return l
		}
	}
	t.Fatal(err)
	return nil
}
