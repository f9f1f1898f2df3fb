package segment_test

import (
	"testing"

	"github.com/sqlflake/sqlflake/contrib/segment"
	"github.com/sqlflake/sqlflake/internal/testdb"
	"github.com/sqlflake/sqlflake/snowflake/sqldb"
)

// Whoever may only create objects in a schema of the search_path runs nothing as a process that takes numbers.
func TestNoCodeOfAStrangerRuns(t *testing.T) {
	testdb.EachTrapped(t, func(t *testing.T, victim testdb.Trapped) {
		db := victim.Open(t)
		if err := segment.Migrate(t.Context(), db, sqldb.Postgres); err != nil {
			t.Fatal(err)
		}
		for range 2 {
			s, err := segment.Open(t.Context(), db, sqldb.Postgres, "n", segment.WithBlock(5))
			if err != nil {
				t.Fatal(err)
			}
			if err := s.Close(); err != nil {
				t.Error(err)
			}
		}
	})
}
