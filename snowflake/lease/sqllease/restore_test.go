package sqllease_test

import (
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/sqlflake/sqlflake/internal/testdb"
	"github.com/sqlflake/sqlflake/snowflake/lease"
	"github.com/sqlflake/sqlflake/snowflake/lease/leasestore"
	"github.com/sqlflake/sqlflake/snowflake/lease/leasetest"
	"github.com/sqlflake/sqlflake/snowflake/sqldb"
)

// afterRestore is the statement of PRODUCTION.md for a backup that was restored in place.
var afterRestore = map[sqldb.Dialect]string{
	sqldb.Postgres: `UPDATE snowflake_namespaces SET server_since_ms = CAST(EXTRACT(EPOCH FROM clock_timestamp()) * 1000 AS BIGINT)`,
	sqldb.MySQL:    `UPDATE snowflake_namespaces SET server_since_ms = TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(3)) DIV 1000`,
}

// The server can't know that the table is an older one. The statement makes it a failover.
func TestAfterARestoreInPlaceTheStatementOfTheGuideKeepsOwnersApart(t *testing.T) {
	guide, err := os.ReadFile("../PRODUCTION.md")
	if err != nil {
		t.Fatal(err)
	}
	eachSQL(t, func(t *testing.T, target testdb.Target, dialect sqldb.Dialect) {
		statement, ok := afterRestore[dialect]
		if !ok {
			return // SQLite: a file that is replaced while a process has it open is damaged anyway
		}
		if !strings.Contains(string(guide), statement+";") {
			t.Errorf("PRODUCTION.md has another statement than %s", statement)
		}
		db := target.Open(t)
		store := newSQL(t, db, dialect)
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
		if err != nil {
			t.Fatal(err)
		}
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
