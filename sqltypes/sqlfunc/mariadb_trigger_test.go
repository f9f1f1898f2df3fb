package sqlfunc_test

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/go-sql-driver/mysql"

	"github.com/sqlflake/sqlflake/snowflake"
	"github.com/sqlflake/sqlflake/sqltypes/sqlfunc"
)

func TestMariaDBTriggerFillsRowsWithoutAKey(t *testing.T) {
	db := openMariaDB(t)
	f := db.installMariaDB(t, snowflake.Default(), sqlfunc.WithWorker(7))
	const table, column = "the `order's\" \\ lines", "select`"
	quoted, key := "`the ``order's\" \\ lines`", "`select```"
	db.exec(t, "CREATE TABLE "+quoted+" ("+key+" BIGINT NOT NULL DEFAULT 0 PRIMARY KEY, n INT) ENGINE=InnoDB")
	trigger, err := f.MariaDBTrigger(table, column)
	if err != nil {
		t.Fatal(err)
	}
	for range 2 { // the statement may be run again
		db.exec(t, trigger)
	}
	rows := 0
	for _, insert := range []struct {
		values string
		rows   int
	}{
		{"(n) VALUES (1)", 1},
		{"(n) VALUES (2), (3), (4)", 3},
		{"VALUES (0, 5), (DEFAULT, 6), (NULL, 7)", 3},
		{"SET n = 8", 1},
		{"(n) SELECT seq FROM seq_1_to_1000", 1000},
	} {
		db.exec(t, "INSERT INTO "+quoted+" "+insert.values)
		rows += insert.rows
	}
	db.exec(t, "INSERT INTO "+quoted+" VALUES (42, 9)")
	db.exec(t, "INSERT INTO "+quoted+" VALUES (42, 9) ON DUPLICATE KEY UPDATE n = 10")
	db.exec(t, "REPLACE INTO "+quoted+" (n) VALUES (11)")
	rows += 2
	if n := scan[int](t, db, "SELECT COUNT(*) FROM "+quoted); n != rows {
		t.Errorf("%d rows, want %d", n, rows)
	}
	if n := scan[int](t, db, "SELECT n FROM "+quoted+" WHERE "+key+" = 42"); n != 10 {
		t.Errorf("the given key has n = %d, want 10", n)
	}
	id := scan[snowflake.ID](t, db, "INSERT INTO "+quoted+" (n) VALUES (1) RETURNING "+key)
	if err := snowflake.Default().Validate(id); err != nil {
		t.Errorf("RETURNING gives %d: %v", id, err)
	}
	result, err := db.ExecContext(t.Context(), "INSERT INTO "+quoted+" (n) VALUES (1)")
	if err != nil {
		t.Fatal(err)
	}
	if id, err := result.LastInsertId(); id != 0 || err != nil {
		t.Errorf("LastInsertId = %d, %v; the documentation says that it tells nothing", id, err)
	}
}

// Imports into empty tables use a bulk insert of InnoDB, in which a rollback to a savepoint within a function crashes
// the server (10.11.19).
func TestMariaDBTriggerWorksInImports(t *testing.T) {
	db := openMariaDB(t)
	f := db.installMariaDB(t, snowflake.Default(), sqlfunc.WithWorker(7))
	trigger, err := f.MariaDBTrigger("imported", "id")
	if err != nil {
		t.Fatal(err)
	}
	db.exec(t, "CREATE TABLE imported (id BIGINT NOT NULL DEFAULT 0 PRIMARY KEY, n INT) ENGINE=InnoDB")
	db.exec(t, trigger)
	conn := db.settings(t)
	for _, query := range []string{
		"SET unique_checks = 0, foreign_key_checks = 0",
		"INSERT INTO imported (n) SELECT seq FROM seq_1_to_5000",
		"LOCK TABLES imported WRITE", "INSERT INTO imported (n) VALUES (1)", "UNLOCK TABLES",
		"START TRANSACTION", "INSERT INTO imported (n) SELECT seq FROM seq_1_to_500", "COMMIT",
	} {
		if _, err := conn.ExecContext(t.Context(), query); err != nil {
			t.Fatalf("%s: %v", query, err)
		}
	}
	if n := scan[int](t, db, "SELECT COUNT(*) FROM imported WHERE id > 1000"); n != 5501 {
		t.Errorf("%d rows, want 5501", n)
	}
}

func TestMariaDBTriggerFillsLoadDataBesideOtherTriggers(t *testing.T) {
	db := openMariaDB(t)
	f := db.installMariaDB(t, snowflake.Default(), sqlfunc.WithWorker(7))
	trigger, err := f.MariaDBTrigger("loaded", "id")
	if err != nil {
		t.Fatal(err)
	}
	db.exec(t, "CREATE TABLE loaded (id BIGINT NOT NULL DEFAULT 0 PRIMARY KEY, n INT UNIQUE, at DATETIME(6)) ENGINE=InnoDB")
	db.exec(t, trigger)
	db.exec(t, "CREATE TRIGGER stamp BEFORE INSERT ON loaded FOR EACH ROW SET NEW.at = snowflake_time(NEW.id)")
	db.exec(t, "CREATE VIEW window_on_it AS SELECT id, n FROM loaded")
	db.exec(t, "INSERT INTO window_on_it (n) VALUES (1)")
	db.exec(t, "INSERT IGNORE INTO loaded (n) VALUES (1), (2)")
	rows := 2
	if scan[bool](t, db, "SELECT @@GLOBAL.local_infile") {
		lines := t.Name()
		mysql.RegisterReaderHandler(lines, func() io.Reader { return strings.NewReader("0,30\n\\N,31\n77,32\n") })
		defer mysql.DeregisterReaderHandler(lines)
		db.exec(t, "LOAD DATA LOCAL INFILE 'Reader::"+lines+"' INTO TABLE loaded FIELDS TERMINATED BY ',' (id, n)")
		if id := scan[int64](t, db, "SELECT id FROM loaded WHERE n = 32"); id != 77 {
			t.Errorf("a given key is %d, want 77", id)
		}
		db.exec(t, "DELETE FROM loaded WHERE n = 32")
		rows += 2
	} else {
		t.Log("local_infile is off: LOAD DATA is not tested")
	}
	if n := scan[int](t, db, "SELECT COUNT(*) FROM loaded WHERE id > 1000 AND at = snowflake_time(id)"); n != rows {
		t.Errorf("%d rows with keys and times, want %d", n, rows)
	}
}

func TestMariaDBTriggerRefusesInvalidNames(t *testing.T) {
	reading, err := sqlfunc.New(snowflake.Default())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := reading.MariaDBTrigger("t", "id"); !errors.Is(err, sqlfunc.ErrOption) {
		t.Errorf("without a worker: %v", err)
	}
	f, err := sqlfunc.New(snowflake.Default(), sqlfunc.WithWorker(1))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"", "a\x00b", "\xff", strings.Repeat("é", 65)} {
		for _, pair := range [][2]string{{name, "id"}, {"t", name}} {
			if _, err := f.MariaDBTrigger(pair[0], pair[1]); !errors.Is(err, sqlfunc.ErrOption) {
				t.Errorf("table %q, column %q: %v", pair[0], pair[1], err)
			}
		}
	}
}

// A name has at most 64 characters, and a truncated one could belong to another table.
func TestMariaDBTriggersOfLongNamesDiffer(t *testing.T) {
	db := openMariaDB(t)
	f := db.installMariaDB(t, snowflake.Default(), sqlfunc.WithWorker(7))
	for i := range 2 {
		table := fmt.Sprintf("%s%d", strings.Repeat("t", 63), i)
		trigger, err := f.MariaDBTrigger(table, "id")
		if err != nil {
			t.Fatal(err)
		}
		db.exec(t, "CREATE TABLE "+table+" (id BIGINT NOT NULL DEFAULT 0 PRIMARY KEY)")
		db.exec(t, trigger)
		db.exec(t, "INSERT INTO "+table+" VALUES (DEFAULT)")
	}
}
