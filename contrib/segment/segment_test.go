package segment_test

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"math"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sqlflake/sqlflake/contrib/segment"
	"github.com/sqlflake/sqlflake/gormplugin"
	"github.com/sqlflake/sqlflake/internal/testdb"
	"github.com/sqlflake/sqlflake/snowflake"
	"github.com/sqlflake/sqlflake/snowflake/sqldb"
)

func dialectOf(t testdb.Target) sqldb.Dialect {
	return map[string]sqldb.Dialect{"mariadb": sqldb.MySQL, "postgres": sqldb.Postgres, "sqlite": sqldb.SQLite}[t.Name]
}

func must(tb testing.TB, err error) {
	tb.Helper()
	if err != nil {
		tb.Fatal(err)
	}
}

// run runs statements on a pool or a connection.
func run(t *testing.T, db sqldb.DB, statements ...string) {
	t.Helper()
	for _, s := range statements {
		_, err := db.ExecContext(t.Context(), s)
		must(t, err)
	}
}

// opened is a sequence in a new table.
func opened(t *testing.T, db sqldb.DB, dialect sqldb.Dialect, opts ...segment.Option) *segment.Sequence {
	t.Helper()
	must(t, segment.Migrate(t.Context(), db, dialect))
	return named(t, db, dialect, "invoices", opts...)
}

// named is a sequence in a table that exists.
func named(t *testing.T, db sqldb.DB, dialect sqldb.Dialect, name string, opts ...segment.Option) *segment.Sequence {
	t.Helper()
	s, err := segment.Open(t.Context(), db, dialect, name, opts...)
	must(t, err)
	t.Cleanup(func() { _ = s.Close() }) // never fails
	return s
}

func next(t *testing.T, s *segment.Sequence) snowflake.ID {
	t.Helper()
	n, err := s.Next(t.Context())
	must(t, err)
	return n
}

func TestNumbersBeginWithOneAndHaveNoGapsInAProcess(t *testing.T) {
	testdb.Each(t, func(t *testing.T, target testdb.Target) {
		db := &counting{DB: target.Open(t)}
		s := opened(t, db, dialectOf(target), segment.WithBlock(50))
		want := snowflake.ID(1)
		for i := range 200 {
			batch := make([]snowflake.ID, 1+i%130) // some are longer than a block
			must(t, s.Fill(t.Context(), batch))
			for _, n := range batch {
				if n != want {
					t.Fatalf("got %d, want %d", n, want)
				}
				want++
			}
		}

		_ = s.Close() // never fails
		if most := int64(want)/50 + 2; db.takes.Load() > most {
			t.Errorf("%d numbers in blocks of 50 took %d blocks, at most %d are needed", want-1, db.takes.Load(), most)
		}

		if n := next(t, named(t, db, dialectOf(target), "Invoices")); n != 1 {
			t.Errorf("the first number of another name is %d", n)
		}
	})
}

func TestCallersAndProcessesShareNoNumber(t *testing.T) {
	testdb.Each(t, func(t *testing.T, target testdb.Target) {
		db := target.Open(t)
		var wg sync.WaitGroup
		var seen sync.Map
		for range 3 { // as three processes would
			s := opened(t, db, dialectOf(target), segment.WithBlock(7))
			for range 4 {
				wg.Go(func() {
					last := snowflake.ID(0)
					for range 200 {
						n, err := s.Next(t.Context())
						if err != nil || n <= last {
							t.Errorf("%d, %v, after %d", n, err, last)
							return
						}
						if _, twice := seen.LoadOrStore(n, true); twice {
							t.Errorf("%d came twice", n)
						}
						last = n
					}
				})
			}
		}

		wg.Wait()
	})
}

// counting counts the statements that take blocks, and fails if it is set to.
type counting struct {
	sqldb.DB
	takes atomic.Int64
	away  atomic.Bool
}

var errAway = errors.New("the database is away")

func (c *counting) ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error) {
	if err := c.count(args); err != nil {
		return nil, err
	}
	return c.DB.ExecContext(ctx, query, args...)
}

func (c *counting) QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error) {
	if err := c.count(args); err != nil {
		return nil, err
	}
	return c.DB.QueryContext(ctx, query, args...)
}

func (c *counting) count(args []any) error {
	if len(args) == 3 {
		c.takes.Add(1)
	}
	if c.away.Load() {
		return errAway
	}
	return nil
}

func TestADatabaseThatIsAwayIsNoticedWhenTheNumbersAreUsedUp(t *testing.T) {
	pool := testdb.SQLite(t).Open(t)
	must(t, segment.Migrate(t.Context(), pool, sqldb.SQLite))
	synctest.Test(t, func(t *testing.T) {
		db := &counting{DB: pool}
		s := named(t, db, sqldb.SQLite, "invoices", segment.WithBlock(100))
		db.away.Store(true)
		before := db.takes.Load()
		for range 100 {
			next(t, s)
			synctest.Wait() // a fetch has ended
		}

		batch := make([]snowflake.ID, 10)
		for range 3 {
			if err := s.Fill(t.Context(), batch); !errors.Is(err, errAway) || batch[0] != 0 {
				t.Errorf("Fill: %v, %v, want the database's error and nothing filled", err, batch[0])
			}
		}

		if tried := db.takes.Load() - before; tried != 4 {
			t.Errorf("a database that is away was asked %d times, want once ahead and then by each call", tried)
		}

		db.away.Store(false)
		if n := next(t, s); n != 101 {
			t.Errorf("after it is back: %d, want 101", n)
		}
	})
}

// hanging never answers after the first block.
type hanging struct{ counting }

func (h *hanging) QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error) {
	if len(args) == 3 && h.takes.Load() > 0 {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	return h.counting.QueryContext(ctx, query, args...)
}

func TestWaitsEndWithTheContextAndWithClose(t *testing.T) {
	target := testdb.SQLite(t)
	pool := target.Open(t)
	must(t, segment.Migrate(t.Context(), pool, sqldb.SQLite))
	synctest.Test(t, func(t *testing.T) {
		db := &hanging{counting{DB: pool}}
		s := named(t, db, sqldb.SQLite, "invoices", segment.WithBlock(2))
		next(t, s)
		next(t, s)
		cause := errors.New("the request took too long")
		ctx, cancel := context.WithTimeoutCause(t.Context(), 5*time.Second, cause)
		defer cancel()
		start := time.Now()
		if _, err := s.Next(ctx); !errors.Is(err, context.DeadlineExceeded) || !errors.Is(err, cause) || time.Since(start) != 5*time.Second {
			t.Errorf("Next: %v after %v", err, time.Since(start))
		}

		// A connection that has died, or one of a transaction that waits for this call.
		if _, err := s.Next(t.Context()); err == nil || time.Since(start) != 10*time.Second {
			t.Errorf("Next without a deadline: %v after %v", err, time.Since(start))
		}

		waiting := make(chan error)
		go func() {
			_, err := s.Next(t.Context())
			waiting <- err
		}()

		synctest.Wait()
		must(t, s.Close())
		if err := <-waiting; !errors.Is(err, segment.ErrClosed) {
			t.Errorf("a call that waits at Close: %v", err)
		}

		if _, err := s.Next(t.Context()); !errors.Is(err, segment.ErrClosed) {
			t.Errorf("a call after Close: %v", err)
		}
	})
}

func TestASequenceEndsBeforeItsNumbersOverflow(t *testing.T) {
	testdb.Each(t, func(t *testing.T, target testdb.Target) {
		db := target.Open(t)
		s := opened(t, db, dialectOf(target), segment.WithBlock(10))
		_ = s.Close()
		run(t, db, "UPDATE snowflake_segments SET next_number = 9223372036854775790")
		s = opened(t, db, dialectOf(target), segment.WithBlock(10))
		for last := snowflake.ID(0); ; {
			n, err := s.Next(t.Context())
			if errors.Is(err, segment.ErrExhausted) && last > math.MaxInt64-18 {
				break
			}
			if err != nil || n <= last {
				t.Fatalf("%d, %v, after %d", n, err, last)
			}
			last = n
		}
	})
}

func TestBadArgumentsAreRefused(t *testing.T) {
	db := testdb.SQLite(t).Open(t)
	open := func(db sqldb.DB, dialect sqldb.Dialect, name string, opts ...segment.Option) error {
		_, err := segment.Open(t.Context(), db, dialect, name, opts...)
		return err
	}

	tx, err := db.BeginTx(t.Context(), nil)
	must(t, err)
	migrated := segment.Migrate(t.Context(), tx, sqldb.SQLite)
	if migrated == nil || !strings.Contains(migrated.Error(), "Schema") {
		t.Errorf("Migrate in a transaction: %v, want the way to do it", migrated)
	}

	for what, err := range map[string]error{
		"nil db":     open(nil, sqldb.SQLite, "a"),
		"nil *DB":    open((*sql.DB)(nil), sqldb.SQLite, "a"),
		"dialect":    open(db, "oracle", "a"),
		"no name":    open(db, sqldb.SQLite, ""),
		"nil option": open(db, sqldb.SQLite, "a", nil),
		"block":      open(db, sqldb.SQLite, "a", segment.WithBlock(0)),
		"migrate":    segment.Migrate(t.Context(), db, "oracle"),
		// Its rollback would give the numbers to the next Open.
		"transaction":            open(tx, sqldb.SQLite, "a"),
		"migrate in transaction": migrated,
	} {
		if !errors.Is(err, segment.ErrOption) {
			t.Errorf("%s: %v", what, err)
		}
	}

	must(t, tx.Rollback())
	s := opened(t, db, sqldb.SQLite)
	if err := s.Fill(t.Context(), nil); !errors.Is(err, snowflake.ErrEmptyFill) {
		t.Errorf("Fill of nothing: %v", err)
	}

	if _, err := new(segment.Sequence).Next(t.Context()); !errors.Is(err, segment.ErrClosed) {
		t.Errorf("the zero Sequence: %v", err)
	}
}

// A tag "snowflake:gen=invoices" fills a field from a sequence.
var _ gormplugin.Generator = (*segment.Sequence)(nil)

// SQLite reports a lock with the first row, not with the statement.
func TestALockedDatabaseIsNotASequenceWithoutNumbers(t *testing.T) {
	target := testdb.SQLite(t)
	db := target.Open(t)
	opened(t, db, sqldb.SQLite)
	writer, err := db.Conn(t.Context())
	must(t, err)
	defer func() { _ = writer.Close() }() // ends the transaction
	run(t, writer, "BEGIN IMMEDIATE")
	target.DSN = strings.Replace(target.DSN, "_busy_timeout=10000", "_busy_timeout=1", 1)
	_, err = segment.Open(t.Context(), target.Open(t), sqldb.SQLite, "orders")
	if err == nil || errors.Is(err, segment.ErrExhausted) || !strings.Contains(err.Error(), "locked") {
		t.Errorf("%v, want the error of the database", err)
	}

	run(t, writer, "ROLLBACK")
}

// PostgreSQL refuses one of two such updates that meet.
func TestSequencesWorkInSerializableSessions(t *testing.T) {
	target := testdb.Postgres(t)
	target.DSN += "&default_transaction_isolation=serializable"
	db := target.Open(t)
	var wg sync.WaitGroup
	for range 8 {
		s := opened(t, db, sqldb.Postgres, segment.WithBlock(1))
		wg.Go(func() {
			for range 50 {
				if _, err := s.Next(t.Context()); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}

	wg.Wait()
}

func TestABlockBelowTheLastOneIsNotIssued(t *testing.T) {
	db := testdb.SQLite(t).Open(t)
	s := opened(t, db, sqldb.SQLite, segment.WithBlock(10))
	for range 4 {
		next(t, s)
	}

	run(t, db, "UPDATE snowflake_segments SET next_number = 3")
	for range 6 {
		next(t, s)
	}

	if n, err := s.Next(t.Context()); err == nil || !strings.Contains(err.Error(), "begins at 3, below 11") {
		t.Errorf("%d, %v, want an error", n, err)
	}

	if n := next(t, s); n != 13 {
		t.Errorf("got %d, want 13", n)
	}
}

func TestBlocksComeFromTheTableThatOpenFound(t *testing.T) {
	db := testdb.Postgres(t).Open(t)
	db.SetMaxOpenConns(1) // on which the search_path is set
	run(t, db, "CREATE SCHEMA earlier")
	s := opened(t, db, sqldb.Postgres, segment.WithBlock(2))
	run(t, db, "SELECT set_config('search_path', 'earlier, ' || current_schema(), false)",
		"CREATE TABLE snowflake_segments (name text PRIMARY KEY, next_number bigint NOT NULL)")

	for want := range snowflake.ID(6) {
		if n := next(t, s); n != want+1 {
			t.Fatalf("number %d, want %d", n, want+1)
		}
	}
	var blocks int
	must(t, db.QueryRowContext(t.Context(), "SELECT count(*) FROM earlier.snowflake_segments").Scan(&blocks))
	if blocks != 0 {
		t.Errorf("%d sequences in the later table", blocks)
	}
}

// Two tables would issue each number twice. Package sqllease tests the rule of both.
func TestMigrateCreatesNoSecondTableAndATableOfAStrangerIsRefused(t *testing.T) {
	owner := testdb.Postgres(t).Open(t)
	opened(t, owner, sqldb.Postgres)
	conn := roleWithSchema(t, owner)
	err := segment.Migrate(t.Context(), conn, sqldb.Postgres)
	if !errors.Is(err, segment.ErrOption) || !strings.Contains(err.Error(), "set the search_path to the schema of ") {
		t.Errorf("Migrate: %v, want ErrOption", err)
	}

	run(t, conn, segment.Schema(sqldb.Postgres), "RESET ROLE")
	if err := segment.Migrate(t.Context(), conn, sqldb.Postgres); !errors.Is(err, segment.ErrOption) {
		t.Errorf("Migrate: %v, want ErrOption", err)
	}
	if _, err := segment.Open(t.Context(), conn, sqldb.Postgres, "invoices"); !errors.Is(err, segment.ErrOption) {
		t.Errorf("Open: %v, want ErrOption", err)
	}
}

// roleWithSchema returns a connection with a new role, which may create tables in the first schema of its search_path,
// and use those of the owner's.
func roleWithSchema(t *testing.T, owner *sql.DB) *sql.Conn {
	t.Helper()
	conn, err := owner.Conn(t.Context())
	must(t, err)
	var schema string
	must(t, conn.QueryRowContext(t.Context(), "SELECT current_schema()").Scan(&schema))
	role, shared := schema+"_role", schema+"_shared"
	t.Cleanup(func() {
		_ = conn.Raw(func(any) error { return driver.ErrBadConn })
		_, err := owner.ExecContext(context.WithoutCancel(t.Context()),
			"DROP SCHEMA "+shared+" CASCADE; DROP OWNED BY "+role+" CASCADE; DROP ROLE "+role)
		must(t, err)
	})

	run(t, conn, "CREATE ROLE "+role, "CREATE SCHEMA "+shared, "GRANT ALL ON SCHEMA "+shared+" TO PUBLIC",
		"GRANT ALL ON ALL TABLES IN SCHEMA "+schema+" TO "+role, // and no right to the schema
		"SET ROLE "+role, "SET search_path = "+shared+", "+schema)

	return conn
}
