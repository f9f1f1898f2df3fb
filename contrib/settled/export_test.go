package settled

import (
	"testing"
	"time"

	"github.com/sqlflake/sqlflake/internal/testdb"
	"github.com/sqlflake/sqlflake/snowflake"
	"github.com/sqlflake/sqlflake/snowflake/lease/leasestore"
)

const MySQLStarted = mysqlStarted

// Lag returns the lag of the owner of a lease.
func Lag(e leasestore.Entry, layout snowflake.Layout, window time.Duration, now time.Time) time.Duration {
	return owner{e, layout, window}.lag(now)
}

func TestOperatorsWithASchemaHaveTheParenthesesThatTheyNeed(t *testing.T) {
	db := testdb.Postgres(t).Open(t)
	testdb.CheckPrecedence(t, db, postgresSessions)
	testdb.CheckPrecedence(t, db, postgresPrepared)
}
