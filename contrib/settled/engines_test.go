package settled_test

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/mattn/go-sqlite3"

	"github.com/sqlflake/sqlflake/contrib/settled"
	"github.com/sqlflake/sqlflake/internal/dbserver"
	"github.com/sqlflake/sqlflake/internal/testdb"
	"github.com/sqlflake/sqlflake/snowflake"
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
		go func() { slept <- run(t.Context(), writer, "SELECT pg_sleep(1)") }()
		for len(slept) == 0 {
			wantUnknown(t, read, "track_activities")
		}
		must(t, <-slept)
		exec(t, writer, "COMMIT") // ROLLBACK would undo the SET
		passes(t, gen.MustNext(), read)
	})

	t.Run("hidden", func(t *testing.T) {
		u, err := url.Parse(dsn)
		must(t, err)
		u.User = url.User("reader")
		read := readerOf(t, open(t, "pgx", u.String()), sqldb.Postgres, margin)
		session(t, db) // even if it does nothing now
		wantUnknown(t, read, "GRANT pg_read_all_stats")
		exec(t, db, "GRANT pg_read_all_stats TO reader")
		passes(t, gen.MustNext(), read)
	})
}

func TestMariaDBTransactionsHoldTheBound(t *testing.T) {
	t.Parallel()
	dsn := startServer(t, "SNOWFLAKE_TEST_MYSQL", dbserver.Config{Name: "mariadb", Env: []string{"TZ=CET-1CEST,M3.5.0,M10.5.0/3"}})
	root := open(t, "mysql", dsn)
	exec(t, root, "CREATE DATABASE test", "CREATE TABLE test.events (id bigint PRIMARY KEY)", "CREATE USER reader@localhost")
	db := open(t, "mysql", dsn+"test?time_zone=%27-07:00%27")
	gen := newGenerator(t, 1)
	readBy := func(db *sql.DB) reader { return readerOf(t, db, sqldb.MySQL, time.Second) }
	read := readBy(db)

	t.Run("idle", func(t *testing.T) {
		writer := session(t, db)
		exec(t, writer, "START TRANSACTION WITH CONSISTENT SNAPSHOT")
		id := gen.MustNext()
		// The margin, and what rounding to seconds may add, would be above the ID.
		b := holds(t, id, read, func(b settled.Bound) bool { return b.Lag > 4*time.Second })
		if !strings.Contains(b.Reason, "connection ") || b.Lag > time.Hour/2 {
			t.Errorf("%+v, want the reason, and no lag from a time zone", b)
		}
		exec(t, writer, insert(id), "COMMIT")
		passes(t, id, read)
	})

	t.Run("waits for a table", func(t *testing.T) {
		locker, writer := session(t, db), session(t, db)
		inserted := make(chan error, 1)
		unlock := func() {
			exec(t, locker, "UNLOCK TABLES")
			must(t, <-inserted)
		}
		var id snowflake.ID
		for {
			exec(t, locker, "LOCK TABLES events WRITE")
			id = gen.MustNext()
			go func() { inserted <- run(t.Context(), writer, insert(id)) }()
			for n := 0; n == 0; {
				waits, err := testdb.MetadataLockWaits(t.Context(), db)
				must(t, err)
				n = waits
			}
			if age(gen, id) < time.Second { // the margin counts from the start of the statement, so it must not be later
				break
			}
			unlock()
		}
		holds(t, id, read, func(settled.Bound) bool { return age(gen, id) >= 4*time.Second })
		unlock()
		passes(t, id, read)
	})

	t.Run("list that others read", func(t *testing.T) {
		writer, monitor := session(t, db), session(t, db)
		passes(t, gen.MustNext(), read) // the list with its transaction is the one that is kept
		var reading sync.WaitGroup
		ctx, stop := context.WithCancel(t.Context())
		defer stop()
		reading.Go(func() {
			for ctx.Err() == nil {
				time.Sleep(10 * time.Millisecond)
				_, _ = monitor.ExecContext(ctx, "SELECT COUNT(*) FROM information_schema.innodb_trx")
			}
		})
		time.Sleep(100 * time.Millisecond) // the list is older than the transaction
		exec(t, writer, "START TRANSACTION WITH CONSISTENT SNAPSHOT")
		id := gen.MustNext()
		for age(gen, id) < 3*time.Second {
			if b, err := read(); err != nil && !errors.Is(err, settled.ErrUnknown) || b.Below > id {
				t.Fatalf("%+v, %v; the transaction that has drawn %d is open", b, err, id)
			}
		}
		exec(t, writer, insert(id), "COMMIT")
		stop()
		reading.Wait()
		passes(t, gen.MustNext(), read)
	})

	t.Run("prepared", func(t *testing.T) {
		writer := open(t, "mysql", dsn+"test")
		writer.SetMaxOpenConns(1)
		exec(t, writer, "XA START 'transfer'", insert(gen.MustNext()), "XA END 'transfer'", "XA PREPARE 'transfer'")
		must(t, writer.Close())
		for end := time.Now().Add(time.Minute); ; { // MariaDB lists it with its connection until that ends
			b, err := read()
			if errors.Is(err, settled.ErrUnknown) && strings.Contains(err.Error(), "XA PREPARE") {
				break
			}
			if err != nil || time.Now().After(end) {
				t.Fatalf("%+v, %v; want ErrUnknown", b, err)
			}
		}
		exec(t, root, "XA ROLLBACK 'transfer'")
		passes(t, gen.MustNext(), read)
	})

	t.Run("no right", func(t *testing.T) {
		dsn := strings.Replace(dsn, "root@", "reader@", 1)
		wantUnknown(t, readBy(open(t, "mysql", dsn)), "GRANT PROCESS")
		exec(t, root, "GRANT PROCESS ON *.* TO reader@localhost")
		passes(t, gen.MustNext(), readBy(open(t, "mysql", dsn))) // connections keep the rights that they began with
	})

	t.Run("SET timestamp", func(t *testing.T) {
		one := open(t, "mysql", dsn+"test")
		one.SetMaxOpenConns(1)
		exec(t, one, "SET timestamp = UNIX_TIMESTAMP() + 3600")
		wantUnknown(t, readBy(one), "SET timestamp")
	})

	t.Run("read only", func(t *testing.T) {
		exec(t, root, "SET GLOBAL read_only = 1")
		wantUnknown(t, read, "read_only")
	})

	t.Run("repeated hour", func(t *testing.T) {
		for local, want := range map[string]string{
			"2026-10-25 01:59:59": "2026-10-24 23:59:59",
			"2026-10-25 02:30:00": "2026-10-25 00:30:00", // the first time
			"2026-10-25 03:00:00": "2026-10-25 02:00:00",
			"2026-07-01 12:00:00": "2026-07-01 10:00:00",
			"2026-12-01 12:00:00": "2026-12-01 11:00:00",
		} {
			var got string
			query := "SELECT CAST(" + strings.ReplaceAll(settled.MySQLStarted, "trx_started", "CAST('"+local+"' AS DATETIME)") + " AS CHAR)"
			if err := root.QueryRowContext(t.Context(), query).Scan(&got); err != nil || got != want {
				t.Errorf("%s is %s in UTC, want %s: %v", local, got, want, err)
			}
		}
	})
}

func TestSQLiteWriterHoldsTheBound(t *testing.T) {
	target := testdb.SQLite(t)
	target.DSN = strings.Replace(target.DSN, "_busy_timeout=10000", "_busy_timeout=1", 1)
	db := target.Open(t)
	exec(t, db, "CREATE TABLE events (id bigint PRIMARY KEY)")
	writer := session(t, db)
	read := readerOf(t, db, sqldb.SQLite, 0)
	exec(t, writer, "BEGIN IMMEDIATE")
	id := newGenerator(t, 1).MustNext()
	exec(t, writer, insert(id))
	if b, err := read(); err == nil || !strings.Contains(err.Error(), "database is locked") {
		t.Errorf("%+v, %v; want the driver's error while a transaction has the write lock", b, err)
	}

	exec(t, writer, "COMMIT")
	passes(t, id, read)
	exec(t, writer, "BEGIN IMMEDIATE", "COMMIT") // Read has given the lock back
}

func TestReadGivesBackTheLockOfABeginThatWasCancelled(t *testing.T) {
	target := testdb.SQLite(t)
	ctx, cancel := context.WithCancel(t.Context())
	db := sql.OpenDB(&cancelling{dsn: target.DSN, cancel: cancel})
	defer db.Close()
	db.SetMaxOpenConns(1)
	if _, err := settled.Read(ctx, db, sqldb.SQLite, snowflake.Default()); !errors.Is(err, context.Canceled) {
		t.Fatalf("%v, want context.Canceled", err)
	}
	exec(t, session(t, target.Open(t)), "BEGIN IMMEDIATE", "COMMIT")
}

// cancelling connects to SQLite with a driver that returns the context's error although BEGIN has succeeded.
type cancelling struct {
	driver.Connector
	dsn    string
	cancel func()
}

func (c *cancelling) Driver() driver.Driver { return &sqlite3.SQLiteDriver{} }

func (c *cancelling) Connect(context.Context) (driver.Conn, error) {
	conn, err := c.Driver().Open(c.dsn)
	if err != nil {
		return nil, err
	}
	return &cancellingConn{conn.(*sqlite3.SQLiteConn), c.cancel}, nil
}

type cancellingConn struct {
	*sqlite3.SQLiteConn
	cancel func()
}

func (c *cancellingConn) ExecContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Result, error) {
	result, err := c.SQLiteConn.ExecContext(ctx, query, args)
	if strings.HasPrefix(query, "BEGIN") && err == nil {
		c.cancel()
		return nil, ctx.Err()
	}
	return result, err
}
