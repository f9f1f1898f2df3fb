package settled_test

import (
	"context"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/sqlflake/sqlflake/contrib/settled"
	"github.com/sqlflake/sqlflake/internal/dbserver"
	"github.com/sqlflake/sqlflake/snowflake/sqldb"
)

func TestPostgresTransactionsHoldTheBound(t *testing.T) {
	t.Parallel()
	dsn := startServer(t, "SNOWFLAKE_TEST_POSTGRES", dbserver.Config{Name: "postgres", Args: []string{"-c", "max_prepared_transactions=2"}})
	db := open(t, "pgx", dsn)
	exec(t, db, "CREATE TABLE events (id bigint PRIMARY KEY)", "CREATE ROLE reader LOGIN", "CREATE DATABASE elsewhere")
	gen := newGenerator(t, 1)
	const margin = 100 * time.Millisecond
	read := readerOf(t, db, sqldb.Postgres, margin)

	t.Run("idle", func(t *testing.T) {
		writer := session(t, db)
		exec(t, writer, "BEGIN")
		id := gen.MustNext()
		holds(t, id, readerOf(t, db, sqldb.Postgres, 0), func(settled.Bound) bool { return true })
		later := gen.MustNext()
		other := session(t, open(t, "pgx", strings.Replace(dsn, "/postgres?", "/elsewhere?", 1)))
		exec(t, other, "BEGIN") // of another database
		holds(t, id, read, func(b settled.Bound) bool {
			if b.Lag < margin || !strings.Contains(b.Reason, "idle in transaction") {
				t.Fatalf("%+v, want a longer lag and the reason", b)
			}
			return b.Lag > 3*margin // the margin alone would be above both
		})
		exec(t, writer, insert(id), "COMMIT")
		if b := passes(t, later, read); b.Reason != "" {
			t.Errorf("the reason is %q after the commit", b.Reason)
		}
	})

	t.Run("prepared", func(t *testing.T) {
		exec(t, session(t, db), "BEGIN", insert(gen.MustNext()), "PREPARE TRANSACTION 'transfer'")
		wantUnknown(t, read, `"transfer"`)
		exec(t, db, "ROLLBACK PREPARED 'transfer'")
		passes(t, gen.MustNext(), read)
	})

	t.Run("disconnected", func(t *testing.T) {
		// While the server ends a session that is in a transaction, it shows no start of it for a moment.
		ctx, stop := context.WithCancel(t.Context())
		var leaving sync.WaitGroup
		for range 2 {
			leaving.Go(func() {
				for ctx.Err() == nil {
					conn, err := pgx.Connect(t.Context(), dsn)
					if err != nil {
						t.Error(err)
						return
					}
					if _, err := conn.Exec(t.Context(), "BEGIN; CREATE TEMP TABLE own (a int)"); err != nil {
						t.Error(err)
					}
					_ = conn.Close(t.Context())
				}
			})
		}
		for range 300 {
			if _, err := read(); err != nil {
				t.Error(err)
			}
		}
		stop()
		leaving.Wait()
	})

	t.Run("not tracked", func(t *testing.T) {
		writer := session(t, db)
		exec(t, writer, "SET track_activities = off", "BEGIN")
		wantUnknown(t, read, "track_activities")
		exec(t, writer, "SET track_activities = on") // its start stays unknown
		wantUnknown(t, read, "track_activities")
		slept := make(chan error, 1)
		go func() {
			_, err := writer.ExecContext(t.Context(), "SELECT pg_sleep(1)")
			slept <- err
		}()
		for len(slept) == 0 {
			wantUnknown(t, read, "track_activities")
		}
		if err := <-slept; err != nil {
			t.Fatal(err)
		}
		exec(t, writer, "COMMIT") // ROLLBACK would undo the SET
		passes(t, gen.MustNext(), read)
	})

	t.Run("hidden", func(t *testing.T) {
		u, err := url.Parse(dsn)
		if err != nil {
			t.Fatal(err)
		}
		u.User = url.User("reader")
		read := readerOf(t, open(t, "pgx", u.String()), sqldb.Postgres, margin)
		session(t, db) // even if it does nothing now
		wantUnknown(t, read, "GRANT pg_read_all_stats")
		exec(t, db, "GRANT pg_read_all_stats TO reader")
		passes(t, gen.MustNext(), read)
	})
}
