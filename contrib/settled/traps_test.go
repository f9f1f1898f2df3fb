package settled_test

import (
	"testing"

	"github.com/sqlflake/sqlflake/contrib/settled"
	"github.com/sqlflake/sqlflake/internal/testdb"
	"github.com/sqlflake/sqlflake/snowflake"
	"github.com/sqlflake/sqlflake/snowflake/sqldb"
)

// Whoever may only create objects in a schema of the search_path runs nothing as a reader.
func TestNoCodeOfAStrangerRuns(t *testing.T) {
	testdb.EachTrapped(t, func(t *testing.T, victim testdb.Trapped) {
		if _, err := settled.Read(t.Context(), victim.Open(t), sqldb.Postgres, snowflake.Default()); err != nil {
			t.Error(err)
		}
	})
}
