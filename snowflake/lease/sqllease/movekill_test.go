package sqllease_test

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"os"
	osexec "os/exec"
	"strconv"
	"testing"
	"time"

	"github.com/sqlflake/sqlflake/internal/testdb"
	"github.com/sqlflake/sqlflake/snowflake/lease"
	"github.com/sqlflake/sqlflake/snowflake/lease/sqllease"
	"github.com/sqlflake/sqlflake/snowflake/sqldb"
)

// movingConn is a countedConn whose transactions count, too: their begin, and their commit as two, before and after it.
type movingConn struct{ countedConn }

func (c movingConn) BeginTx(ctx context.Context, opts driver.TxOptions) (driver.Tx, error) {
	c.counter.count()
	tx, err := c.Conn.(driver.ConnBeginTx).BeginTx(ctx, opts)
	return movingTx{tx, c.counter}, err
}

type movingTx struct {
	driver.Tx
	counter *counter
}

func (tx movingTx) Commit() error {
	tx.counter.count()
	err := tx.Tx.Commit()
	tx.counter.count()
	return err
}

type movingConnector struct{ *counter }

func (c movingConnector) Connect(ctx context.Context) (driver.Conn, error) {
	conn, err := c.counter.Connect(ctx)
	if err != nil {
		return nil, err
	}
	return movingConn{conn.(countedConn)}, nil
}

// movingStore returns a store on the tables of db that calls before with the number of each step of a move.
func movingStore(t *testing.T, db *sql.DB, target testdb.Target, dialect sqldb.Dialect, before func(n int64)) *sqllease.Store {
	t.Helper()
	pool := movingPool(db, target.DSN, before)
	t.Cleanup(func() { _ = pool.Close() })
	store, err := sqllease.New(pool, dialect)
	if err != nil {
		t.Fatal(err)
	}
	return store
}

func movingPool(db *sql.DB, dsn string, before func(n int64)) *sql.DB {
	return sql.OpenDB(movingConnector{&counter{driver: db.Driver(), dsn: dsn, before: before}})
}

const killVariable = "SQLLEASE_MOVE_KILL" // the step before which the process kills itself

// runMover is the process that TestAMoverThatIsKilledAtAnyStepLeavesAllOrNothing starts.
func runMover() error {
	step, err := strconv.ParseInt(os.Getenv(killVariable), 10, 64)
	if err != nil {
		return err
	}
	dsn := os.Getenv("SQLLEASE_MOVE_DSN")
	db, err := sql.Open(os.Getenv("SQLLEASE_MOVE_DRIVER"), dsn)
	if err != nil {
		return err
	}

	pool := movingPool(db, dsn, func(n int64) {
		if n == step {
			process, _ := os.FindProcess(os.Getpid())
			_ = process.Kill()
			select {}
		}
	})
	store, err := sqllease.New(pool, sqldb.Dialect(os.Getenv("SQLLEASE_MOVE_DIALECT")))
	if err != nil {
		return err
	}
	_, err = store.Move(context.Background(), "n", laterLayout)
	return err
}

// kill -9 before each statement, the begin and the commit, and after that.
func TestAMoverThatIsKilledAtAnyStepLeavesAllOrNothing(t *testing.T) {
	eachDatabase(t, func(t *testing.T, target testdb.Target, dialect sqldb.Dialect) {
		db := target.Open(t)
		store := newSQL(t, db, dialect)
		kept, moved := 0, 0
		for step := 1; ; step++ {
			clear(t, db)
			used(t, store, formerLayout, 1, time.Now())
			used(t, store, formerLayout, 4, time.Now())
			before := content(t, db)

			child := moverProcess(t, target, dialect, step)
			output, err := child.CombinedOutput()
			var exit *osexec.ExitError
			killed := errors.As(err, &exit) && exit.ExitCode() == -1
			if err != nil && !killed {
				t.Fatalf("step %d: %v\n%s", step, err, output)
			}

			// The server may still be undoing the transaction: Move waits for it.
			layout, err := store.Layout(t.Context(), "n")
			if err != nil {
				t.Fatal(err)
			}
			switch layout {
			case formerLayout:
				kept++
				if after := content(t, db); after != before {
					t.Errorf("step %d: the tables were\n%sand are\n%s", step, before, after)
				}
				claim := mustAcquire(t, store, layoutRequest(formerLayout, 1, 1)).Claim // an old process starts again
				mustExtend(t, store, keep(claim), tickAt(formerLayout, time.Now()))
				mustRelease(t, store, claim)
			case laterLayout:
				moved++
				_, err := store.Acquire(t.Context(), layoutRequest(formerLayout, 1, 1))
				wantErr(t, "an old process", err, lease.ErrLayout)
			}
			if _, err := store.Move(t.Context(), "n", laterLayout); err != nil {
				t.Errorf("step %d: the next call: %v", step, err)
			}
			old := ask[int64](t, db, "SELECT COUNT(*) FROM snowflake_leases WHERE generation <> 1")
			if start := ask[int64](t, db, "SELECT COUNT(DISTINCT horizon) FROM snowflake_leases"); old != 0 || start != 1 {
				t.Errorf("step %d: %d leases of the old layout, %d horizons", step, old, start)
			}
			if !killed {
				break
			}
		}
		if kept < 5 || moved < 2 {
			t.Errorf("%d steps have changed nothing, %d all", kept, moved)
		}
	})
}

// moverProcess returns the process that moves the namespace, and kills itself before a step.
func moverProcess(t *testing.T, target testdb.Target, dialect sqldb.Dialect, step int) *osexec.Cmd {
	t.Helper()
	child := osexec.CommandContext(t.Context(), os.Args[0])
	child.Env = append(os.Environ(), killVariable+"="+strconv.Itoa(step), "SQLLEASE_MOVE_DRIVER="+target.Driver,
		"SQLLEASE_MOVE_DSN="+target.DSN, "SQLLEASE_MOVE_DIALECT="+string(dialect))
	return child
}
