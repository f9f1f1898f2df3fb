package sqllease_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/sqlflake/sqlflake/internal/dbserver"
	"github.com/sqlflake/sqlflake/internal/skip"
	"github.com/sqlflake/sqlflake/internal/testdb"
	"github.com/sqlflake/sqlflake/snowflake/lease"
	"github.com/sqlflake/sqlflake/snowflake/lease/leasestore"
	"github.com/sqlflake/sqlflake/snowflake/lease/sqllease"
	"github.com/sqlflake/sqlflake/snowflake/sqldb"
)

// troubled answers the question what server it is with an error.
type troubled struct {
	*sql.DB
	state string
}

func (d *troubled) QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error) {
	if d.state != "" && strings.Contains(query, "version()") {
		return nil, &pgconn.PgError{Code: d.state}
	}
	return d.DB.QueryContext(ctx, query, args...)
}

// Any other error may pass, and without an identity a failover would not be seen. A role without the right to ask gets a
// warning.
func TestOnlyAServerThatHasNoIdentityIsUsedWithoutOne(t *testing.T) {
	db := testdb.Postgres(t).Open(t)
	newSQL(t, db, sqldb.Postgres)
	for state, want := range map[string]bool{
		"42883": true, "42501": true, "0A000": true, "55000": true,
		"42P05": false, "42601": false, "55P03": false, "08006": false, // 42P05 comes from poolers
	} {
		trouble := &troubled{db, state}
		store := newStore(t, trouble, sqldb.Postgres)
		grant, err := store.Acquire(t.Context(), sqlRequest(state, 0, 0))
		if (err == nil) != want {
			t.Errorf("SQLSTATE %s: %v", state, err)
		}

		if strings.Contains(fmt.Sprint(grant.Warning), "no right to ask") != (state == "42501") {
			t.Errorf("SQLSTATE %s: the warning is %v", state, grant.Warning)
		}

		// The right was granted. The store asks again after an error.
		trouble.state = ""
		ended, cancel := context.WithCancel(t.Context())
		cancel()
		_, _ = store.List(ended, "")
		if grant, err = store.Acquire(t.Context(), sqlRequest(state, 1, 1)); err != nil || strings.Contains(fmt.Sprint(grant.Warning), "no right to ask") {
			t.Errorf("SQLSTATE %s, later: %v, the warning is %v", state, err, grant.Warning)
		}
	}
}

// outdated has another identity for the server than others, until it is asked a second time what it is.
type outdated struct {
	*sql.DB
	asked *int
}

func (d outdated) text(query string) string {
	if *d.asked == 1 {
		return strings.NewReplacer("'server '", "'before '", "@@server_uuid", "'before'").Replace(query)
	}
	return query
}

func (d outdated) ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error) {
	return d.DB.ExecContext(ctx, d.text(query), args...)
}

func (d outdated) QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error) {
	if strings.HasPrefix(query, "SHOW VARIABLES") {
		*d.asked++
	}
	return d.DB.QueryContext(ctx, d.text(query), args...)
}

// A process that has run since before the server has another identity must not move the floor at each call.
func TestAProcessLearnsThatItsServerHasAnotherIdentity(t *testing.T) {
	db, young := openSQL(t, testdb.MariaDB(t), sqldb.MySQL)
	var olds []*sqllease.Store
	var grants []leasestore.Grant
	for i := range int64(2) {
		old := newSQL(t, outdated{db, new(int)}, sqldb.MySQL)
		grant := mustAcquire(t, old, sqlRequest("n", i, i))
		olds, grants = append(olds, old), append(grants, grant)
	}

	if mustAcquire(t, young, sqlRequest("n", 2, 2)).Floor.IsZero() {
		t.Fatal("the server has another identity, and there is no floor")
	}

	exec(t, db, "UPDATE snowflake_namespaces SET server_since_ms = 1")
	mustExtend(t, olds[0], keep(grants[0].Claim), 10)
	mustAcquire(t, olds[1], sqlRequest("n", 3, 3))
	if floor := mustAcquire(t, young, sqlRequest("n", 4, 4)).Floor; floor.After(time.UnixMilli(1).Add(time.Hour)) {
		t.Errorf("the floor has moved: %v", floor)
	}
}

func TestAVariableOfTheSessionIsNoIdentity(t *testing.T) {
	target := testdb.MariaDB(t)
	target.NeedMariaDB(t, "server_id of a session")
	session, err := sql.Open("mysql", target.DSN+"&server_id=77")
	must(t, err)
	defer session.Close()
	for i, db := range []*sql.DB{target.Open(t), session} {
		worker := int64(i)
		grant := mustAcquire(t, newSQL(t, db, sqldb.MySQL), sqlRequest("n", worker, worker))
		if !grant.Floor.IsZero() {
			t.Errorf("worker %d: floor %v", worker, grant.Floor)
		}
	}
}

// A row that was written without an identity, for example before the role might ask for it.
func TestTheFirstIdentityIsNoFailover(t *testing.T) {
	eachSQL(t, func(t *testing.T, target testdb.Target, dialect sqldb.Dialect) {
		db, store := openSQL(t, target, dialect)
		for worker := range int64(2) {
			if grant := mustAcquire(t, store, sqlRequest("n", worker, worker)); !grant.Floor.IsZero() {
				t.Errorf("worker %d: floor %v", worker, grant.Floor)
			}
			exec(t, db, "UPDATE snowflake_namespaces SET server = ''")
		}
	})
}

// mixed is a pool that answers from another connection what its settings are.
type mixed struct {
	*sql.DB
	other *sql.DB
}

func (m mixed) QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error) {
	if strings.HasPrefix(query, "SHOW VARIABLES") {
		return m.other.QueryContext(ctx, query, args...)
	}
	return m.DB.QueryContext(ctx, query, args...)
}

// A replica evaluates the identity in a statement itself, and would have its own in the rows: a failover to it would not
// be noticed. The format is a session's, so another connection of the pool may have it.
func TestStatementsThatReplicasRepeatLendAndExtendNothing(t *testing.T) {
	skip.Off(t, "SNOWFLAKE_TEST_MYSQL")
	_, folder, _ := strings.Cut(os.Getenv("SNOWFLAKE_TEST_MYSQL"), "throwaway:") // of MySQL, if it has one
	server, err := dbserver.Start(t.Context(), dbserver.Config{
		Name: "mariadb", Folder: folder, NoSync: true, Args: []string{"--log-bin", "--server-id=7"},
	})
	if errors.Is(err, dbserver.ErrNotInstalled) {
		skip.Missing(t, "SNOWFLAKE_TEST_MYSQL", "%v", err)
	}
	must(t, err)
	t.Cleanup(func() { _ = server.Stop() })
	open := func(settings string) *sql.DB {
		db := testdb.Target{Driver: "mysql", DSN: server.DSN + "test" + settings}.Open(t)
		db.SetMaxOpenConns(1)
		return db
	}
	exec(t, testdb.Target{Driver: "mysql", DSN: server.DSN}.Open(t), "CREATE DATABASE IF NOT EXISTS test")

	_, err = sqllease.Open(t.Context(), open("?binlog_format=STATEMENT"), sqldb.MySQL)
	wantErr(t, "Open", err, lease.ErrOption, "binlog_format")

	db := open("")
	store := newSQL(t, db, sqldb.MySQL)
	owner := sqlRequest("n", 0, 0)
	claim := keep(mustAcquire(t, store, owner).Claim)
	mustRelease(t, store, mustAcquire(t, store, sqlRequest("n", 1, 1)).Claim)
	const rows = "SELECT GROUP_CONCAT(CONCAT_WS(' ', namespace, worker, epoch, revision)) FROM snowflake_leases"
	for name, store := range map[string]*sqllease.Store{
		"": store, ", of a pool with other connections": newSQL(t, mixed{db, open("")}, sqldb.MySQL),
	} {
		acquire := func(namespace string, worker int64) error {
			return errOf(store.Acquire(t.Context(), sqlRequest(namespace, worker, worker)))
		}
		before := ask[string](t, db, rows)
		for what, call := range map[string]func() error{
			"Extend":                 func() error { return extendErr(t, store, claim, 10) },
			"Acquire of a namespace": func() error { return acquire("another", 0) },
			"Acquire of a worker":    func() error { return acquire("n", 2) },
			"Acquire of a free row":  func() error { return acquire("n", 1) },
		} {
			exec(t, db, "SET SESSION binlog_format = MIXED")
			mustAcquire(t, store, owner) // it has the worker, and now it knows the server
			exec(t, db, "SET SESSION binlog_format = STATEMENT")
			if err := call(); name == "" {
				wantErr(t, what, err, lease.ErrOption, "binlog_format")
			} else if err == nil || errors.Is(err, lease.ErrLost) || errors.Is(err, lease.ErrNoWorker) {
				t.Errorf("%s%s: %v", what, name, err)
			}
		}
		wantEqual(t, "the table"+name, ask[string](t, db, rows), before)
	}

	exec(t, db, "SET SESSION binlog_format = MIXED")
	mustExtend(t, store, claim, 10)
}
