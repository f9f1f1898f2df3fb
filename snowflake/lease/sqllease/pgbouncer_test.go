package sqllease_test

import (
	"testing"

	"github.com/sqlflake/sqlflake/internal/testdb"
	"github.com/sqlflake/sqlflake/snowflake/lease/leasestore"
	"github.com/sqlflake/sqlflake/snowflake/lease/leasetest"
	"github.com/sqlflake/sqlflake/snowflake/sqldb"
)

// Each statement may run on another connection of the server. With pgx's default mode it needs PgBouncer 1.21.
func TestStoreKeepsTheContractBehindPgBouncer(t *testing.T) {
	t.Parallel()
	target := withDSN(testdb.PgBouncer, "&default_query_exec_mode=exec")(t)
	db := target.Open(t)
	db.SetMaxOpenConns(10)
	store := newSQL(t, db, sqldb.Postgres)
	leasetest.Run(t, func(*testing.T) leasestore.Store { return store }, settings(db))
}
