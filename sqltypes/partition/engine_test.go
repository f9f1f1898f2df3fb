package partition

import (
	"strings"
	"testing"

	"github.com/sqlflake/sqlflake/internal/testdb"
)

// MoveDefault locks them in this order too, so that the calls for two tables with the same parents do not lock them
// crosswise.
func TestParentsAreLockedInTheOrderOfTheirNames(t *testing.T) {
	db := testdb.Postgres(t).Open(t)
	if _, err := db.Exec(`CREATE TABLE a (id bigint PRIMARY KEY);
CREATE TABLE b (id bigint PRIMARY KEY);
CREATE TABLE child (a bigint REFERENCES a, b bigint REFERENCES b)`); err != nil {
		t.Fatal(err)
	}
	locks, err := relatedLocks(t.Context(), db, "child", 2)
	if err != nil || len(locks) != 3 || !strings.HasSuffix(locks[0].table, ".a") || !strings.HasSuffix(locks[1].table, ".b") {
		t.Errorf("%v, %v; want a, b and child", locks, err)
	}
}
