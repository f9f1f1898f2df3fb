package sqllease_test

import (
	"database/sql"
	"log/slog"
	"testing"
	"time"

	"github.com/sqlflake/sqlflake/internal/testdb"
	"github.com/sqlflake/sqlflake/snowflake/lease"
	"github.com/sqlflake/sqlflake/snowflake/sqldb"
)

// The application holds the only connection beyond the horizon, and takes it again as soon as it has given it back.
func TestAPoolOfOneExtendsWheneverItsConnectionIsFree(t *testing.T) {
	eachSQL(t, func(t *testing.T, target testdb.Target, dialect sqldb.Dialect) {
		const window = 500 * time.Millisecond
		db := target.Open(t)
		db.SetMaxOpenConns(1)
		l, err := lease.Open(t.Context(), newSQL(t, db, dialect), lease.WithWindow(window),
			lease.WithMaxSkew(time.Minute), lease.WithLogger(slog.New(slog.DiscardHandler)))
		if err != nil {
			t.Fatal(err)
		}

		revision := int64(-1)
		var conn *sql.Conn
		for n := range 6 {
			if conn, err = db.Conn(t.Context()); err != nil {
				t.Fatal(err)
			}
			before := revision
			row := conn.QueryRowContext(t.Context(), "SELECT revision FROM snowflake_leases")
			if err := row.Scan(&revision); err != nil {
				t.Fatal(err)
			}
			if revision == before {
				t.Error("the connection was free, and the lease has not used it")
			}
			time.Sleep(window * 5 / 4)
			if n == 5 {
				time.AfterFunc(window, func() { _ = conn.Close() })
			} else if err := conn.Close(); err != nil {
				t.Fatal(err)
			}
		}

		if err := l.Close(t.Context()); err != nil { // it waits for the connection
			t.Error(err)
		}
		for start := time.Now(); db.Stats().InUse > 0; time.Sleep(time.Millisecond) {
			if time.Since(start) > time.Minute {
				t.Fatalf("the lease has kept a connection: %+v", db.Stats())
			}
		}
	})
}
