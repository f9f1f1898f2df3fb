package sqllease_test

import (
	"context"
	"database/sql"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/sqlflake/sqlflake/internal/testdb"
	"github.com/sqlflake/sqlflake/snowflake/lease"
	"github.com/sqlflake/sqlflake/snowflake/lease/leasetest"
	"github.com/sqlflake/sqlflake/snowflake/sqldb"
)

func TestMain(m *testing.M) { os.Exit(testdb.Main(m)) }

// insertLease is what comes before the values of a lease. It names the columns, so that a later one needs a default
// alone.
const insertLease = "INSERT INTO snowflake_leases (namespace, worker, epoch, token, horizon, expires_ms, generation, " +
	"reserved_for, host, pid, version, revision) VALUES "

// Vitess shows autocommit as 0, the others as OFF.
func TestMigrateRejectsConnectionsThatDoNotCommit(t *testing.T) {
	target := testdb.MariaDB(t)
	off := target
	off.DSN += "&autocommit=0"
	for name, db := range map[string]sqldb.DB{"OFF": off.Open(t), "0": answering{target.Open(t), "autocommit=0"}} {
		wantErr(t, name, newStore(t, db, sqldb.MySQL).Migrate(t.Context()), lease.ErrOption)
	}
}

// TestSettingsWithWhichACrashForgetsCommitsAreReported uses what a session can set on the server, and the names and values
// of the other variables.
func TestSettingsWithWhichACrashForgetsCommitsAreReported(t *testing.T) {
	for name, targets := range map[string]struct {
		dialect sqldb.Dialect
		open    func(testing.TB) testdb.Target
		cases   []struct{ dsn, variables, statement, want string } // a part of the warning; "" for none
	}{
		"postgres": {sqldb.Postgres, testdb.Postgres, []struct{ dsn, variables, statement, want string }{
			{"synchronous_commit=on", "fsync=on", "", ""},
			{"synchronous_commit=local", "fsync=on", "", ""},
			{"synchronous_commit=off", "fsync=on", "", "synchronous_commit = off"},
			{"synchronous_commit=on", "fsync=off", "", "fsync = off"},
			{"synchronous_commit=on", "fsync=on", "ALTER TABLE snowflake_leases SET UNLOGGED", "unlogged"},
			{
				"synchronous_commit=off", "fsync=on", "ALTER TABLE snowflake_leases SET UNLOGGED",
				"synchronous_commit = off, the table is unlogged",
			},
		}},
		"mariadb": {sqldb.MySQL, testdb.MariaDB, []struct{ dsn, variables, statement, want string }{
			{"", "innodb_flush_log_at_trx_commit=1 log_bin=OFF sync_binlog=0", "", ""},
			{"", "innodb_flush_log_at_trx_commit=3 log_bin=ON sync_binlog=1", "", ""},
			{"", "innodb_flush_log_at_trx_commit=0 log_bin=OFF", "", "innodb_flush_log_at_trx_commit = 0"},
			{"", "innodb_flush_log_at_trx_commit=2", "", "innodb_flush_log_at_trx_commit = 2"},
			{"", "log_bin=ON sync_binlog=0", "", "sync_binlog = 0"},
			{"", "wsrep_on=ON innodb_flush_log_at_trx_commit=0", "", ""}, // of a cluster all would have to crash
			{"", "wsrep_on=ON", "ALTER TABLE snowflake_leases ENGINE=MyISAM", "MyISAM"},
			{"", "autocommit=ON", "ALTER TABLE snowflake_leases ENGINE=MEMORY", "MEMORY"},
		}},
	} {
		t.Run(name, func(t *testing.T) {
			target := targets.open(t)
			for _, test := range targets.cases {
				if strings.Contains(test.variables, "wsrep_on") && !strings.Contains(target.Version, "MariaDB") {
					continue // the identity has it, and MySQL doesn't know it
				}

				target := target
				target.DSN = strings.Replace(target.DSN, "synchronous_commit=off", test.dsn, 1)
				db := target.Open(t)
				newSQL(t, db, targets.dialect)
				if test.statement != "" {
					exec(t, db, test.statement)
				}

				store := newStore(t, answering{db, test.variables}, targets.dialect)
				grant, err := store.Acquire(t.Context(), sqlRequest(leasetest.NewToken(), 0, 0))
				if err != nil || (grant.Warning != nil) != (test.want != "") || !strings.Contains(fmt.Sprint(grant.Warning), test.want) {
					t.Errorf("%+v: warning %v, error %v", test, grant.Warning, err)
				}

				exec(t, db, "DROP TABLE snowflake_leases")
				exec(t, db, "DROP TABLE snowflake_namespaces")
			}
		})
	}
}

// answering has the variables of another server, name=value, if there are any.
type answering struct {
	*sql.DB
	variables string
}

func (a answering) QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error) {
	if strings.HasPrefix(query, "SHOW VARIABLES") && a.variables != "" {
		query = "SELECT '" + strings.NewReplacer("=", "', '", " ", "' UNION SELECT '").Replace(a.variables) + "'"
	}
	if fsync, ok := strings.CutPrefix(a.variables, "fsync="); ok {
		query = strings.ReplaceAll(query, "pg_catalog.current_setting('fsync', true)", "'"+fsync+"'")
	}
	return a.DB.QueryContext(ctx, query, args...)
}

// forgetful is a server of the MySQL protocol that ignores LAST_INSERT_ID(x), as go-mysql-server does.
type forgetful struct{ *sql.DB }

func (f forgetful) ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error) {
	result, err := f.DB.ExecContext(ctx, query, args...)
	return noInsertID{result}, err
}

type noInsertID struct{ sql.Result }

func (noInsertID) LastInsertId() (int64, error) { return 0, nil }

// The error is final for a lease: see TestOpenReturnsAFinalErrorOfAnExtensionAtOnce in package lease.
func TestAServerThatIgnoresLastInsertIDIsRefusedAndLosesNoHorizon(t *testing.T) {
	db := testdb.MariaDB(t).Open(t)
	sound, store := newSQL(t, db, sqldb.MySQL), newSQL(t, forgetful{db}, sqldb.MySQL)
	claim := mustAcquire(t, store, sqlRequest("n", 0, 0)).Claim
	wantErr(t, "Extend", extendErr(t, store, keep(claim), 4711), lease.ErrOption, "LAST_INSERT_ID")
	mustExtend(t, sound, keep(claim), 4711)
	mustRelease(t, store, claim)
	if next := mustAcquire(t, store, sqlRequest("n", 0, 0)); next.Horizon != 4711 || next.Epoch != 2 {
		t.Errorf("%+v, want horizon 4711", next)
	}
}
