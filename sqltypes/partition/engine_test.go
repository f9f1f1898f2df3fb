package partition

import (
	"slices"
	"testing"

	"github.com/sqlflake/sqlflake/internal/testdb"
)

func TestListHasOnlyWhatItHasRead(t *testing.T) {
	db := testdb.SQLite(t).Open(t)
	texts, err := list(t.Context(), db, "SELECT 'a' UNION ALL SELECT NULL")
	if want := []string{"a"}; !slices.Equal(texts, want) || err == nil {
		t.Errorf("%q, %v; want %q and an error", texts, err, want)
	}
}
