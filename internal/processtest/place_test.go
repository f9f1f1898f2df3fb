package processtest

import (
	"context"
	"database/sql"
	"encoding/json"
	"os"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"

	"github.com/sqlflake/sqlflake/internal/testdb"
	"github.com/sqlflake/sqlflake/snowflake/lease/filelease"
	"github.com/sqlflake/sqlflake/snowflake/lease/leasestore"
	"github.com/sqlflake/sqlflake/snowflake/lease/sqllease"
	"github.com/sqlflake/sqlflake/snowflake/sqldb"
)

// place is where a store keeps its leases.
type place struct {
	Kind   string // "postgres", "mariadb", "sqlite" or "file"
	Driver string // of database/sql
	DSN    string // or the folder

	NoFloor bool // the floor of grants is ignored
}

const fileKind = "file"

// String is for Order.Place, parsePlace reads it.
func (p place) String() string {
	text, _ := json.Marshal(p) // three strings never fail
	return string(text)
}

func parsePlace(text string) (p place) {
	_ = json.Unmarshal([]byte(text), &p) // the zero place can't be opened
	return p
}

func placeOf(target testdb.Target) place {
	return place{Kind: target.Name, Driver: target.Driver, DSN: target.DSN}
}

// eachPlace runs f as a parallel subtest on every store.
func eachPlace(t *testing.T, f func(t *testing.T, p place)) {
	t.Helper()
	eachDatabase(t, f)
	t.Run(fileKind, func(t *testing.T) {
		t.Parallel()
		f(t, place{Kind: fileKind, DSN: t.TempDir()})
	})
}

// eachDatabase leaves the file store out.
func eachDatabase(t *testing.T, f func(t *testing.T, p place)) {
	t.Helper()
	testdb.Each(t, func(t *testing.T, target testdb.Target) {
		t.Parallel()
		f(t, placeOf(target))
	})
}

// eachServer has only what is reached over a connection that can be cut.
func eachServer(t *testing.T, f func(t *testing.T, p place)) {
	t.Helper()
	for name, open := range map[string]func(testing.TB) testdb.Target{"postgres": testdb.Postgres, "mariadb": testdb.MariaDB} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f(t, placeOf(open(t)))
		})
	}
}

func (p place) dialect() sqldb.Dialect {
	return map[string]sqldb.Dialect{"postgres": sqldb.Postgres, "mariadb": sqldb.MySQL, "sqlite": sqldb.SQLite}[p.Kind]
}

// open returns the store, without its table.
func (p place) open() (store leasestore.Store, closeStore func() error, err error) {
	if p.Kind == fileKind {
		f, err := filelease.New(p.DSN)
		if err != nil {
			return nil, nil, err
		}
		return f, f.Close, nil
	}

	db, err := sql.Open(p.Driver, p.DSN)
	if err != nil {
		return nil, nil, err
	}

	db.SetMaxOpenConns(1)
	s, err := sqllease.New(db, p.dialect())
	if err != nil {
		return nil, nil, err
	}

	if p.NoFloor {
		return noFloor{s}, db.Close, nil
	}

	return s, db.Close, nil
}

// store opens the store for the test itself.
func (p place) store(tb testing.TB) leasestore.Store {
	tb.Helper()
	s, closeStore, err := p.open()
	must(tb, err)
	tb.Cleanup(func() {
		if err := closeStore(); err != nil {
			tb.Errorf("close the store: %v", err)
		}
	})
	Eventually(tb, "a table", func() bool { err = migrate(tb.Context(), s, Patience); return err == nil })
	return s
}

// noFloor is a store on which owners do not wait after a failover.
type noFloor struct{ *sqllease.Store }

func (s noFloor) Acquire(ctx context.Context, r leasestore.Request) (leasestore.Grant, error) {
	grant, err := s.Store.Acquire(ctx, r)
	grant.Floor = time.Time{}
	return grant, err
}

func TestMain(m *testing.M) {
	_ = mysql.SetLogger(&mysql.NopLogger{}) // fails for nil only; the standard error of issuers is for notes
	Main(func(text string) (leasestore.Store, error) {
		store, _, err := parsePlace(text).open()
		return store, err
	})
	os.Exit(testdb.Main(m))
}

func TestKilledProcessesNeverRepeatAnID(t *testing.T) {
	t.Parallel()
	eachPlace(t, func(t *testing.T, p place) { KilledProcesses(t, p.String(), p.store(t), NothingElse) })
}

func TestProcessesThatStartAtOnceHaveDifferentWorkers(t *testing.T) {
	eachPlace(t, func(t *testing.T, p place) {
		ProcessesStartedTogether(t, p.String(), func() leasestore.Store { return p.store(t) })
	})
}
