package settled

import (
	"testing"

	"github.com/sqlflake/sqlflake/internal/testdb"
)

func TestOperatorsWithASchemaHaveTheParenthesesThatTheyNeed(t *testing.T) {
	db := testdb.Postgres(t).Open(t)
	testdb.CheckPrecedence(t, db, postgresSessions)
	testdb.CheckPrecedence(t, db, postgresPrepared)
}
