package sqlfunc_test

import (
	"strings"
	"testing"

	"github.com/sqlflake/sqlflake/snowflake"
	"github.com/sqlflake/sqlflake/snowflake/sqldb"
	"github.com/sqlflake/sqlflake/sqltypes/sqlfunc"
)

// The package comment has the ways back from a dump without routines and from a clock that was years ahead.
func TestMariaDBRecovers(t *testing.T) {
	db := openMariaDB(t)
	f := db.installMariaDB(t, snowflake.Default(), sqlfunc.WithWorker(7))
	db.exec(t, "CREATE TABLE orders (id BIGINT NOT NULL DEFAULT 0 PRIMARY KEY)")
	trigger, err := f.MariaDBTrigger("orders", "id")
	if err != nil {
		t.Fatal(err)
	}
	db.exec(t, trigger)
	const insert = "INSERT INTO orders VALUES () RETURNING id"
	before := scan[snowflake.ID](t, db, insert)

	for _, name := range []string{"layout", "time", "parts", "min", "next"} {
		db.exec(t, "DROP FUNCTION snowflake_"+name)
	}
	if _, err := db.ExecContext(t.Context(), insert); err == nil || !strings.Contains(err.Error(), "1305") {
		t.Errorf("without the functions: %v, want error 1305", err)
	}
	if err := f.Install(t.Context(), db, sqldb.MySQL); err != nil {
		t.Fatal(err)
	}
	if id := scan[snowflake.ID](t, db, insert); id <= before {
		t.Errorf("the ID after the restore is %d, want more than %d", id, before)
	}

	db.exec(t, "INSERT INTO snowflake_state VALUES (0, 2000000000000000, 1)") // as a clock that is ahead does
	db.exec(t, "DELETE FROM snowflake_state WHERE word > 0")
	if _, err := db.ExecContext(t.Context(), insert); err == nil || !strings.Contains(err.Error(), "ahead of the clock") {
		t.Errorf("after the jump: %v", err)
	}
	db.installMariaDB(t, snowflake.Default(), sqlfunc.WithWorker(8))
	db.exec(t, "ALTER TABLE snowflake_state AUTO_INCREMENT = 1")
	first, second := scan[snowflake.ID](t, db, insert), scan[snowflake.ID](t, db, insert)
	if first <= before || second <= first || snowflake.Default().Decompose(first).Worker != 8 {
		t.Errorf("the IDs are %d and %d after %d", first, second, before)
	}
}
