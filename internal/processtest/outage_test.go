package processtest

import (
	"database/sql"
	"log/slog"
	"testing"
	"time"

	"github.com/sqlflake/sqlflake/snowflake/lease"
	"github.com/sqlflake/sqlflake/snowflake/lease/sqllease"
)

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
