package sqllease_test

import (
	"context"
	"database/sql"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"

	"github.com/sqlflake/sqlflake/internal/skip"
	"github.com/sqlflake/sqlflake/internal/testdb"
	"github.com/sqlflake/sqlflake/snowflake"
	"github.com/sqlflake/sqlflake/snowflake/lease"
	"github.com/sqlflake/sqlflake/snowflake/lease/leasestore"
	"github.com/sqlflake/sqlflake/snowflake/lease/leasetest"
	"github.com/sqlflake/sqlflake/snowflake/lease/sqllease"
	"github.com/sqlflake/sqlflake/snowflake/sqldb"
)

// TestTheGrantsOfTheGuideAreEnoughAndNeeded uses a table that somebody else has created, with the rights that
// PRODUCTION.md lists, and without one of them each.
func TestTheGrantsOfTheGuideAreEnoughAndNeeded(t *testing.T) {
	all := []string{"SELECT", "INSERT", "UPDATE"}
	for name, kind := range map[string]struct {
		dialect sqldb.Dialect
		target  func(testing.TB) testdb.Target
		open    func(t *testing.T, target testdb.Target, owner *sql.DB, rights string) sqldb.DB
	}{
		"postgres": {sqldb.Postgres, testdb.Postgres, asPostgresRole},
		"mariadb":  {sqldb.MySQL, testdb.MariaDB, asMySQLUser},
	} {
		t.Run(name, func(t *testing.T) {
			target := kind.target(t)
			owner := target.Open(t)
			use := func(t *testing.T, rights []string) error {
				t.Helper()
				return useLease(t, kind.open(t, target, owner, strings.Join(rights, ", ")), kind.dialect)
			}

			newSQL(t, owner, kind.dialect)
			wantErr(t, "with all", use(t, all), nil)
			quiet := lease.WithLogger(slog.New(slog.DiscardHandler))
			l, err := sqllease.Open(t.Context(), kind.open(t, target, owner, strings.Join(all, ", ")), kind.dialect, quiet, lease.WithWorkers(7, 7))
			must(t, err)
			must(t, l.Close(t.Context()))
			wantEqual(t, "the worker", l.Generator().Worker(), 7)
			if ask[string](t, owner, "SELECT server FROM snowflake_namespaces") == "" {
				t.Error("the server has no identity")
			}

			for i, right := range all {
				err := use(t, slices.Delete(slices.Clone(all), i, i+1))
				wantErr(t, "without "+right, err, lease.ErrOption, "the role needs the rights")
			}
		})
	}
}

// useLease calls every method of a store.
func useLease(t *testing.T, db sqldb.DB, dialect sqldb.Dialect) error {
	t.Helper()
	store, err := sqllease.New(db, dialect)
	if err != nil {
		return err
	}

	migrated := store.Migrate(t.Context())
	r := sqlRequest(leasetest.NewToken(), 0, 0) // a new namespace
	grant, acquired := store.Acquire(t.Context(), r)
	_, extended := store.Extend(t.Context(), keep(grant.Claim), 10, time.Hour)
	released := store.Release(t.Context(), grant.Claim, 10)
	r.Token = leasetest.NewToken()
	_, again := store.Acquire(t.Context(), r)
	_, listed := store.List(t.Context(), "")
	return errors.Join(migrated, acquired, extended, released, again, listed)
}

// need runs statements that an administrator may run.
func need(t *testing.T, owner *sql.DB, statements ...string) {
	t.Helper()
	for _, s := range statements {
		if _, err := owner.ExecContext(t.Context(), s); err != nil {
			skip.Missing(t, "", "the tests' user may not manage users: %v", err)
		}
	}
}

// account returns the name for a new account, and removes that at the end.
func account(t *testing.T, owner *sql.DB, remove ...string) string {
	t.Helper()
	name := "sf_" + leasetest.NewToken()[:20]
	t.Cleanup(func() {
		if t.Skipped() {
			return
		}
		for _, s := range remove {
			if _, err := owner.ExecContext(context.WithoutCancel(t.Context()), strings.ReplaceAll(s, "{name}", name)); err != nil {
				t.Errorf("%s: %v", s, err)
			}
		}
	})

	return name
}

// asPostgresRole needs no password: it takes the role on a connection of the owner.
func asPostgresRole(t *testing.T, _ testdb.Target, owner *sql.DB, rights string) sqldb.DB {
	t.Helper()
	name := account(t, owner, "DROP OWNED BY {name}", "DROP ROLE {name}")
	schema := ask[string](t, owner, "SELECT current_schema()")
	need(t, owner, "CREATE ROLE "+name, "GRANT USAGE ON SCHEMA "+schema+" TO "+name,
		"GRANT "+rights+" ON snowflake_namespaces, snowflake_leases TO "+name)
	conn, err := owner.Conn(t.Context())
	must(t, err)
	t.Cleanup(func() {
		_, err := conn.ExecContext(context.WithoutCancel(t.Context()), "RESET ROLE")
		if err = errors.Join(err, conn.Close()); err != nil {
			t.Error(err)
		}
	})

	must(t, errOf(conn.ExecContext(t.Context(), "SET ROLE "+name)))
	return conn
}

func asMySQLUser(t *testing.T, target testdb.Target, owner *sql.DB, rights string) sqldb.DB {
	t.Helper()
	name := account(t, owner, "DROP USER {name}@'%'")
	config, err := mysql.ParseDSN(target.DSN)
	must(t, err)
	config.User, config.Passwd = name, leasetest.NewToken()+"-A"
	need(t, owner, "CREATE USER "+name+"@'%' IDENTIFIED BY '"+config.Passwd+"'",
		"GRANT "+rights+" ON "+config.DBName+".snowflake_namespaces TO "+name+"@'%'",
		"GRANT "+rights+" ON "+config.DBName+".snowflake_leases TO "+name+"@'%'")
	db, err := sql.Open("mysql", config.FormatDSN())
	must(t, err)
	t.Cleanup(func() { _ = db.Close() })
	return db
}

// Whoever may only create objects in a schema of the search_path runs nothing as a process with a lease.
func TestNoCodeOfAStrangerRuns(t *testing.T) {
	testdb.EachTrapped(t, func(t *testing.T, victim testdb.Trapped) {
		db := victim.Open(t)
		opened, err := sqllease.Open(t.Context(), db, sqldb.Postgres, lease.WithNamespace("opened"))
		if err == nil {
			err = opened.Close(t.Context())
		}
		must(t, err)
		store := newSQL(t, db, sqldb.Postgres)
		leasetest.Run(t, func(*testing.T) leasestore.Store { return store }, settings(victim.Safe))
		clear(t, victim.Safe)

		// A share, a failover, and the extensions after it.
		must(t, store.SetShare(t.Context(), "n", snowflake.Default(), 0, 2))
		r := layoutRequest(snowflake.Default(), 0, 2)
		r.Reach = time.Minute
		known, assured := mustAcquire(t, store, r).Claim, mustAcquire(t, store, layoutRequest(snowflake.Default(), 0, 2)).Claim
		exec(t, victim.Safe, "UPDATE snowflake_namespaces SET server = 'another'")
		mustExtend(t, store, keep(known), tickAt(snowflake.Default(), time.Now()))
		assured.Deadline = far{}
		mustExtend(t, store, keep(assured), tickAt(snowflake.Default(), time.Now()))
		mustRelease(t, store, known)
		mustRelease(t, store, assured)
		entries, err := store.List(t.Context(), "")
		if err != nil || len(entries) < 2 {
			t.Fatalf("%d workers, %v", len(entries), err)
		}
		for _, entry := range entries {
			must(t, store.Revoke(t.Context(), entry))
		}
	})
}
