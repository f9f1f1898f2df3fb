package sqllease_test

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/sqlflake/sqlflake/internal/testdb"
	"github.com/sqlflake/sqlflake/snowflake/lease"
	"github.com/sqlflake/sqlflake/snowflake/lease/leasetest"
	"github.com/sqlflake/sqlflake/snowflake/lease/sqllease"
	"github.com/sqlflake/sqlflake/snowflake/sqldb"
)

// asRole returns a connection with a new role, and the role's name, which is {role} in the statements. The owner runs
// them first; then come the settings of the connection. The role has a schema of its own.
func asRole(t *testing.T, owner *sql.DB, statements []string, settings ...string) (*sql.Conn, string) {
	t.Helper()
	role := account(t, owner, "DROP OWNED BY {name} CASCADE", "DROP ROLE {name}")
	conn, err := owner.Conn(t.Context())
	must(t, err)
	t.Cleanup(func() { _ = conn.Raw(func(any) error { return errors.New("closed with its role") }) })
	need(t, owner, "CREATE ROLE "+role, "CREATE SCHEMA "+role+" AUTHORIZATION "+role)
	for _, s := range slices.Concat(statements, []string{"SET ROLE {role}"}, settings) {
		exec(t, conn, strings.ReplaceAll(s, "{role}", role))
	}
	return conn, role
}

const leaseTables = "SELECT count(*) FROM pg_class WHERE relname IN ('snowflake_leases', 'snowflake_namespaces')"

// Two processes with a table each would have the same workers.
func TestMigrateCreatesNoSecondTable(t *testing.T) {
	const rights = "GRANT SELECT, INSERT, UPDATE ON snowflake_namespaces, snowflake_leases TO {role}"
	for name, test := range map[string]struct {
		locked     bool
		statements []string // of the owner
		settings   []string // of the connection
		state      string   // of the error
		names      bool     // the error names the table and the options
	}{
		"the table is locked": {
			true,
			[]string{"GRANT USAGE ON SCHEMA {schema} TO {role}", rights},
			[]string{`SET search_path = "$user", {schema}`, "SET lock_timeout = '50ms'"},
			"55P03", false,
		},
		"no right to the schema": {false, []string{rights}, []string{`SET search_path = "$user", {schema}`}, "", true},
		"no right to the table": {
			false,
			[]string{"GRANT USAGE ON SCHEMA {schema} TO {role}"},
			[]string{`SET search_path = "$user", {schema}`},
			"42501", false,
		},
		"another search_path": {false, nil, []string{"RESET ROLE", "SET search_path = {role}"}, "", true},
		"other columns": {
			false,
			[]string{"ALTER TABLE snowflake_leases RENAME horizon TO height"},
			[]string{"RESET ROLE", "SET search_path = {schema}"},
			"42703", false,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			owner := testdb.Postgres(t).Open(t)
			newSQL(t, owner, sqldb.Postgres)
			schema := ask[string](t, owner, "SELECT current_schema()")
			in := func(statements []string) []string {
				return strings.Split(strings.ReplaceAll(strings.Join(statements, ";"), "{schema}", schema), ";")
			}
			conn, _ := asRole(t, owner, in(test.statements), in(test.settings)...)
			if test.locked {
				tx := begin(t, owner)
				exec(t, tx, "LOCK TABLE snowflake_leases")
			}

			_, err := sqllease.Open(t.Context(), conn, sqldb.Postgres)
			var refused *pgconn.PgError
			if test.state != "" && (!errors.As(err, &refused) || refused.Code != test.state) {
				t.Errorf("%v, want SQLSTATE %s", err, test.state)
			}
			if test.names {
				wantErr(t, "Open", err, lease.ErrOption,
					"sqllease.WithTables", schema+".snowflake_leases", "gormplugin.WithLeaseTables")
			}
			wantEqual(t, "the tables", ask[int](t, owner, leaseTables), 2)
		})
	}
}

func TestOnlyOneOfManyFirstProcessesCreatesATable(t *testing.T) {
	target := testdb.Postgres(t)
	owner := target.Open(t)
	var pools []*sql.DB
	for i := range 4 {
		schema := fmt.Sprint("own", i)
		exec(t, owner, "CREATE SCHEMA "+schema)
		own := target
		own.DSN = regexp.MustCompile("search_path=[^&]+").ReplaceAllString(target.DSN, "search_path="+schema)
		stale := own // whose snapshot is older than the wait for the lock
		stale.DSN += "&default_transaction_isolation=repeatable%20read"
		pools = append(pools, own.Open(t), stale.Open(t))
	}

	for _, pool := range pools {
		must(t, pool.PingContext(t.Context()))
	}

	for range 10 {
		var wg sync.WaitGroup
		var migrated atomic.Int64
		for _, pool := range pools {
			store := newStore(t, pool, sqldb.Postgres)
			wg.Go(func() {
				switch err := store.Migrate(t.Context()); {
				case err == nil:
					migrated.Add(1)
				case !errors.Is(err, lease.ErrOption):
					t.Error(err)
				}
			})
		}

		wg.Wait()
		if n := ask[int](t, owner, leaseTables); n != 2 || migrated.Load() != 2 {
			t.Errorf("%d tables, %d of 8 processes use one, want those of one schema", n, migrated.Load())
		}

		exec(t, owner, `DO $$ BEGIN EXECUTE (SELECT 'DROP TABLE ' || string_agg(oid::regclass::text, ', ')
			FROM pg_class WHERE relname IN ('snowflake_leases', 'snowflake_namespaces')); END $$`)
	}
}

// A schema for each tenant, or for each test.
func TestANameWithItsSchemaIsATableOfItsOwn(t *testing.T) {
	owner := testdb.Postgres(t).Open(t)
	unnamed := newSQL(t, owner, sqldb.Postgres)
	if grant := mustAcquire(t, unnamed, sqlRequest("n", 0, 0)); grant.Warning != nil && strings.Contains(grant.Warning.Error(), "also has") {
		t.Errorf("one table: %v", grant.Warning)
	}

	exec(t, owner, "CREATE SCHEMA tenant")
	named := newSQL(t, owner, sqldb.Postgres, sqllease.WithTables("tenant.snowflake_"))
	if grant := mustAcquire(t, named, sqlRequest("n", 0, 0)); grant.Table != "tenant.snowflake_leases" || grant.Epoch != 1 {
		t.Errorf("%+v", grant)
	}

	// What an earlier version has made out of an error is still there.
	again := newSQL(t, owner, sqldb.Postgres)
	grant := mustAcquire(t, again, sqlRequest("n", 1, 1))
	if grant.Warning == nil || !strings.Contains(grant.Warning.Error(), "also has tenant.snowflake_leases") {
		t.Errorf("two tables: %v", grant.Warning)
	}
}

// failing fails each reading of the table, and counts what is executed.
type failing struct {
	*sql.DB
	executed *int
}

var errRead = errors.New("the reading has failed")

func (f failing) QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error) {
	if strings.Contains(query, "LIMIT 0") {
		return nil, errRead
	}
	return f.DB.QueryContext(ctx, query, args...)
}

func (f failing) ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error) {
	*f.executed++
	return f.DB.ExecContext(ctx, query, args...)
}

func TestMigrateExecutesNothingAfterAnErrorThatIsNotOfAMissingTable(t *testing.T) {
	eachSQL(t, func(t *testing.T, target testdb.Target, dialect sqldb.Dialect) {
		pool := target.Open(t)
		newSQL(t, pool, dialect)
		db := failing{pool, new(int)}
		store := newStore(t, db, dialect)
		if err := store.Migrate(t.Context()); !errors.Is(err, errRead) || *db.executed > 0 {
			t.Errorf("%v, after %d statements", err, *db.executed)
		}
	})
}

// A trigger of a stranger would run with the rights of whoever acquires.
func TestOnlyATableOfATrustedRoleIsUsed(t *testing.T) {
	create, err := sqllease.Schema(sqldb.Postgres, "")
	must(t, err)
	for name, test := range map[string]struct {
		super   bool     // the current role is a superuser
		owner   []string // what makes the owner of the table, {owner}, more than a stranger
		trusted bool
	}{
		"a stranger, to a superuser":           {true, nil, false},
		"a stranger":                           {false, nil, false},
		"a member of the current role":         {false, []string{"GRANT {role} TO {owner}"}, false},
		"a role of a superuser":                {true, []string{"GRANT {owner} TO CURRENT_USER"}, false},
		"a role of the current role":           {false, []string{"GRANT {owner} TO {role}"}, true},
		"the owner of the schema":              {true, []string{"ALTER SCHEMA shared OWNER TO {owner}"}, true},
		"the owner of the database":            {true, []string{"ALTER DATABASE {database} OWNER TO {owner}"}, true},
		"a superuser":                          {false, []string{"ALTER ROLE {owner} SUPERUSER"}, true},
		"the owner of the database, to others": {false, []string{"ALTER DATABASE {database} OWNER TO {owner}"}, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			db := testdb.Postgres(t).Open(t)
			database := ask[string](t, db, "SELECT current_database()")
			exec(t, db, "CREATE SCHEMA shared")
			exec(t, db, "GRANT ALL ON SCHEMA shared TO PUBLIC")
			defer exec(t, db, "ALTER DATABASE "+database+" OWNER TO CURRENT_USER")
			maker, owner := asRole(t, db, nil, "SET search_path = shared", create[0], create[1],
				"GRANT ALL ON snowflake_leases, snowflake_namespaces TO PUBLIC",
				`CREATE FUNCTION trap() RETURNS trigger LANGUAGE plpgsql AS
					$$ BEGIN EXECUTE format('CREATE TABLE IF NOT EXISTS %I.sprung ()', current_user); RETURN NEW; END $$`,
				"CREATE TRIGGER trap BEFORE INSERT ON snowflake_leases FOR EACH ROW EXECUTE FUNCTION trap()")
			exec(t, maker, "RESET ROLE")
			conn, role := asRole(t, db, nil, "SET search_path = shared")
			for _, s := range test.owner {
				exec(t, db, strings.NewReplacer("{owner}", owner, "{role}", role, "{database}", database).Replace(s))
			}
			if test.super {
				exec(t, conn, "RESET ROLE")
				exec(t, db, "CREATE SCHEMA "+ask[string](t, db, "SELECT current_user"))
			}

			for _, table := range []string{"snowflake_", "shared.snowflake_"} {
				store := newStore(t, conn, sqldb.Postgres, sqllease.WithTables(table))
				_, listed := store.List(t.Context(), "")
				_, acquired := store.Acquire(t.Context(), sqlRequest(leasetest.NewToken(), 0, 0))
				for what, err := range map[string]error{"Migrate": store.Migrate(t.Context()), "List": listed, "Acquire": acquired} {
					if test.trusted && err != nil || !test.trusted && (!errors.Is(err, lease.ErrOption) || !strings.Contains(err.Error(), "role "+owner)) {
						t.Errorf("%s of %s: %v", what, table, err)
					}
				}
			}
			sprung := ask[bool](t, db, "SELECT EXISTS (SELECT FROM pg_class WHERE relname = 'sprung')")
			wantEqual(t, "the owner's code has run", sprung, test.trusted)
		})
	}
}

func TestALeaseTellsItsTable(t *testing.T) {
	eachSQL(t, func(t *testing.T, target testdb.Target, dialect sqldb.Dialect) {
		db := target.Open(t)
		want := "snowflake_leases" // SQLite
		switch dialect {
		case sqldb.Postgres:
			want = ask[string](t, db, "SELECT current_schema()") + ".snowflake_leases"
		case sqldb.MySQL:
			want = ask[string](t, db, "SELECT DATABASE()") + ".snowflake_leases"
		}

		for _, start := range []string{"that creates it", "that finds it"} {
			var log bytes.Buffer
			l, err := sqllease.Open(t.Context(), db, dialect, lease.WithLogger(slog.New(slog.NewTextHandler(&log, nil))))
			must(t, err)
			if got := l.Status().Table; got != want || !strings.Contains(log.String(), " table="+want+" ") {
				t.Errorf("a process %s: %q, want %q; the log has %s", start, got, want, &log)
			}
			must(t, l.Close(t.Context()))
		}
	})
}

func TestATableThatComesFirstInTheSearchPathLaterIsNotUsed(t *testing.T) {
	db := testdb.Postgres(t).Open(t)
	conn := openConn(t, db)
	exec(t, db, `CREATE SCHEMA "a ""first"" sch?ma {=}"`)
	store := newSQL(t, conn, sqldb.Postgres)
	exec(t, conn, `SELECT set_config('search_path', '"a ""first"" sch?ma {=}", ' || current_schema(), false)`)
	claim := mustAcquire(t, store, sqlRequest("n", 0, 0)).Claim

	create, err := sqllease.Schema(sqldb.Postgres, "")
	must(t, err)
	for _, statement := range create {
		exec(t, conn, statement)
	}
	mustExtend(t, store, keep(claim), 10)
	if entries, err := store.List(t.Context(), "n"); err != nil || len(entries) != 1 {
		t.Errorf("List: %v, %v", entries, err)
	}
	mustRelease(t, store, claim)
	wantErr(t, "Migrate looks again, as after an error", store.Migrate(t.Context()), lease.ErrOption)

	// A new store finds that one, and says so.
	first := mustAcquire(t, newSQL(t, conn, sqldb.Postgres), sqlRequest("n", 0, 0))
	if first.Table != `"a ""first"" sch?ma {=}".snowflake_leases` || first.Epoch != 1 || !strings.Contains(first.Warning.Error(), "also has") {
		t.Errorf("%+v", first)
	}
}
