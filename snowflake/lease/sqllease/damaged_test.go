package sqllease_test

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/sqlflake/sqlflake/internal/testdb"
	"github.com/sqlflake/sqlflake/snowflake/lease"
	"github.com/sqlflake/sqlflake/snowflake/lease/leasestore"
	"github.com/sqlflake/sqlflake/snowflake/lease/leasetest"
	"github.com/sqlflake/sqlflake/snowflake/lease/sqllease"
	"github.com/sqlflake/sqlflake/snowflake/sqldb"
)

// One of the two tables was restored, truncated or dropped without the other.
func TestTablesThatDisagreeAreDamagedAndNothingIsCreated(t *testing.T) {
	eachDatabase(t, func(t *testing.T, target testdb.Target, dialect sqldb.Dialect) {
		for _, lost := range []string{"snowflake_namespaces", "snowflake_leases"} {
			db, store := openSQL(t, target, dialect)
			layout := "epoch=2025-01-01T00:00:00Z tick=1ms time:41 worker:10 sequence:12"
			r := sqlRequest("n", 0, 9)
			r.Layout = layout
			mustAcquire(t, store, r)

			exec(t, db, "DELETE FROM "+lost)
			r.Token = leasetest.NewToken()
			wantErr(t, "Acquire without the rows of "+lost, errOf(store.Acquire(t.Context(), r)), lease.ErrDamaged)
			if lost == "snowflake_namespaces" {
				wantErr(t, "List without namespaces", errOf(store.List(t.Context(), "")), lease.ErrDamaged)
			}

			exec(t, db, "DROP TABLE "+lost)
			again := newStore(t, db, dialect)
			wantErr(t, "Migrate without "+lost, again.Migrate(t.Context()), lease.ErrDamaged)

			other := map[string]string{"snowflake_namespaces": "snowflake_leases", "snowflake_leases": "snowflake_namespaces"}[lost]
			exec(t, db, "DELETE FROM "+other)
			must(t, again.Migrate(t.Context())) // nothing was in it: a process was killed between the two
			exec(t, db, "DROP TABLE "+lost)
			exec(t, db, "DROP TABLE "+other)
		}
	})
}

// The search_path leads to each of the tables in another schema.
func TestTablesInTwoSchemasAreRefused(t *testing.T) {
	db := testdb.Postgres(t).Open(t)
	conn := openConn(t, db)
	newSQL(t, conn, sqldb.Postgres)
	exec(t, conn, "CREATE SCHEMA first")
	exec(t, conn, "CREATE TABLE first.snowflake_namespaces AS SELECT * FROM snowflake_namespaces")
	exec(t, conn, "SELECT set_config('search_path', 'first, ' || current_schema(), false)")
	for what, call := range map[string]func(*sqllease.Store) error{
		"Migrate": func(s *sqllease.Store) error { return s.Migrate(t.Context()) },
		"Acquire": func(s *sqllease.Store) error { return errOf(s.Acquire(t.Context(), sqlRequest("n", 0, 0))) },
	} {
		err := call(newStore(t, conn, sqldb.Postgres))
		wantErr(t, what, err, lease.ErrOption, "first.snowflake_namespaces", "two schemas")
	}
}

// One table was restored, or a node has applied a move without a row that another one added: the horizon of the row says
// nothing in the layout of the namespace.
func TestAWorkerOfAnotherGenerationIsNotLent(t *testing.T) {
	eachDatabase(t, func(t *testing.T, target testdb.Target, dialect sqldb.Dialect) {
		db, store := openSQL(t, target, dialect)
		mustRelease(t, store, mustAcquire(t, store, sqlRequest("n", 0, 0)).Claim)

		for _, generation := range []int{1, -1} {
			exec(t, db, fmt.Sprintf("UPDATE snowflake_leases SET generation = %d WHERE worker = 0", generation))
			err := errOf(store.Acquire(t.Context(), sqlRequest("n", 0, 0)))
			wantErr(t, fmt.Sprint("generation ", generation), err, lease.ErrNoWorker)

			claim := mustAcquire(t, store, sqlRequest("n", 0, 1)).Claim
			if claim.Worker != 1 {
				t.Errorf("generation %d: worker %d, want 1", generation, claim.Worker)
			}
			mustRelease(t, store, claim)
		}
	})
}

// The process ended after it had added the first lease.
func TestAnAcquisitionMarksANamespaceThatHasLeases(t *testing.T) {
	eachDatabase(t, func(t *testing.T, target testdb.Target, dialect sqldb.Dialect) {
		db, store := openSQL(t, target, dialect)
		r := sqlRequest("n", 0, 0)
		mustAcquire(t, store, r)
		exec(t, db, "UPDATE snowflake_namespaces SET has_leases = 0")

		mustAcquire(t, store, r) // finds the token
		wantEqual(t, "has_leases", ask[int64](t, db, "SELECT has_leases FROM snowflake_namespaces"), 1)
		exec(t, db, "UPDATE snowflake_namespaces SET has_leases = 2") // by hand
		mustAcquire(t, store, r)
	})
}

// afterRestore is the statement of PRODUCTION.md for a backup that was restored in place.
var afterRestore = map[sqldb.Dialect]string{
	sqldb.Postgres: `UPDATE snowflake_namespaces SET server_since_ms = CAST(EXTRACT(EPOCH FROM clock_timestamp()) * 1000 AS BIGINT)`,
	sqldb.MySQL:    `UPDATE snowflake_namespaces SET server_since_ms = TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(3)) DIV 1000`,
}

// The server can't know that the table is an older one. The statement makes it a failover.
func TestAfterARestoreInPlaceTheStatementOfTheGuideKeepsOwnersApart(t *testing.T) {
	guide, err := os.ReadFile("../PRODUCTION.md")
	must(t, err)
	eachSQL(t, func(t *testing.T, target testdb.Target, dialect sqldb.Dialect) {
		statement, ok := afterRestore[dialect]
		if !ok {
			return // SQLite: a file that is replaced while a process has it open is damaged anyway
		}

		if !strings.Contains(string(guide), statement+";") {
			t.Errorf("PRODUCTION.md has another statement than %s", statement)
		}

		db, store := openSQL(t, target, dialect)
		acquire := func(worker int64) leasestore.Grant {
			t.Helper()
			r := sqlRequest("n", worker, worker)
			r.Reach = 20 * time.Second
			return mustAcquire(t, store, r)
		}

		known := acquire(0)
		back := keepTables(t, db)
		forgotten := acquire(1)
		extended, err := store.Extend(t.Context(), keep(forgotten.Claim), 1500, time.Hour)
		must(t, err)
		back()
		if grant := acquire(2); !grant.Floor.IsZero() {
			t.Errorf("the store found out by itself: %+v", grant)
		}

		exec(t, db, statement)
		next := acquire(1)
		if ahead := next.Floor.Sub(extended); next.Epoch != 1 || ahead < 20*time.Second {
			t.Errorf("the new owner starts %v after the extension of the forgotten one, which can reach 20s further: %+v", ahead, next)
		}

		for name, owner := range map[string]leasestore.Grant{"known": known, "forgotten": forgotten} {
			owner.Next = leasetest.NewToken()
			_, err := store.Extend(t.Context(), owner.Claim, 2000, time.Hour)
			if lost := errors.Is(err, lease.ErrLost); lost != (name == "forgotten") || !lost && err != nil {
				t.Errorf("the %s owner extends: %v", name, err)
			}
		}

		exec(t, db, "UPDATE snowflake_namespaces SET server_since_ms = 9223372036854775000")
		exec(t, db, "UPDATE snowflake_leases SET expires_ms = 9223372036854775000 WHERE worker = 0")
		if grant := acquire(3); grant.Floor.Before(next.Floor) {
			t.Errorf("at the end of the integers the floor is %v", grant.Floor)
		}

		var none *lease.NoWorkerError
		if _, err := store.Acquire(t.Context(), sqlRequest("n", 0, 0)); !errors.As(err, &none) || none.Wait <= 0 {
			t.Errorf("a worker that is held to the end of the integers: %v", err)
		}
	})
}
