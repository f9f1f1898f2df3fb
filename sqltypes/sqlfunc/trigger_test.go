package sqlfunc_test

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/go-sql-driver/mysql"

	"github.com/sqlflake/sqlflake/snowflake"
	"github.com/sqlflake/sqlflake/snowflake/sqldb"
	"github.com/sqlflake/sqlflake/sqltypes/sqlfunc"
)

func TestMariaDBTriggerFillsRowsWithoutAKey(t *testing.T) {
	db := openMariaDB(t)
	f := db.install(t, snowflake.Default(), sqlfunc.WithWorker(7))
	quoted, key := "`the ``order's\" \\ lines`", "`select```"
	db.exec(t, "CREATE TABLE "+quoted+" ("+key+" BIGINT NOT NULL DEFAULT 0 PRIMARY KEY, n INT) ENGINE=InnoDB")
	db.trigger(t, f, "the `order's\" \\ lines", "select`")
	for _, values := range []string{
		"(n) VALUES (1)", "(n) VALUES (2), (3), (4)", "VALUES (0, 5), (DEFAULT, 6), (NULL, 7)", "SET n = 8",
		"(n) SELECT seq FROM seq_1_to_1000", "VALUES (42, 9)", "VALUES (42, 9) ON DUPLICATE KEY UPDATE n = 10",
	} {
		db.exec(t, "INSERT INTO "+quoted+" "+values)
	}
	db.exec(t, "REPLACE INTO "+quoted+" (n) VALUES (11)")
	if n := scan[int](t, db, "SELECT COUNT(*) FROM "+quoted); n != 1010 {
		t.Errorf("%d rows, want 1010", n)
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
	f := db.install(t, snowflake.Default(), sqlfunc.WithWorker(7))
	db.exec(t, "CREATE TABLE imported (id BIGINT NOT NULL DEFAULT 0 PRIMARY KEY, n INT) ENGINE=InnoDB")
	db.trigger(t, f, "imported", "id")
	execOn(t, db.conn(t), "SET unique_checks = 0, foreign_key_checks = 0",
		"INSERT INTO imported (n) SELECT seq FROM seq_1_to_5000",
		"LOCK TABLES imported WRITE", "INSERT INTO imported (n) VALUES (1)", "UNLOCK TABLES",
		"START TRANSACTION", "INSERT INTO imported (n) SELECT seq FROM seq_1_to_500", "COMMIT")
	if n := scan[int](t, db, "SELECT COUNT(*) FROM imported WHERE id > 1000"); n != 5501 {
		t.Errorf("%d rows, want 5501", n)
	}
}

func TestMariaDBTriggerFillsLoadDataBesideOtherTriggers(t *testing.T) {
	db := openMariaDB(t)
	f := db.install(t, snowflake.Default(), sqlfunc.WithWorker(7))
	db.exec(t, "CREATE TABLE loaded (id BIGINT NOT NULL DEFAULT 0 PRIMARY KEY, n INT UNIQUE, at DATETIME(6)) ENGINE=InnoDB")
	db.trigger(t, f, "loaded", "id")
	db.exec(t, "CREATE TRIGGER stamp BEFORE INSERT ON loaded FOR EACH ROW SET NEW.at = snowflake_time(NEW.id)",
		"CREATE VIEW window_on_it AS SELECT id, n FROM loaded",
		"INSERT INTO window_on_it (n) VALUES (1)", "INSERT IGNORE INTO loaded (n) VALUES (1), (2)")
	rows := 2
	if scan[bool](t, db, "SELECT @@GLOBAL.local_infile") {
		mysql.RegisterReaderHandler(t.Name(), func() io.Reader { return strings.NewReader("0,30\n\\N,31\n77,32\n") })
		defer mysql.DeregisterReaderHandler(t.Name())
		db.exec(t, "LOAD DATA LOCAL INFILE 'Reader::"+t.Name()+"' INTO TABLE loaded FIELDS TERMINATED BY ',' (id, n)")
		if id := scan[int64](t, db, "SELECT id FROM loaded WHERE n = 32"); id != 77 {
			t.Errorf("a given key is %d, want 77", id)
		}
		rows += 2
	} else {
		t.Log("local_infile is off: LOAD DATA is not tested")
	}
	if n := scan[int](t, db, "SELECT COUNT(*) FROM loaded WHERE id > 1000 AND at = snowflake_time(id)"); n != rows {
		t.Errorf("%d rows with keys and times, want %d", n, rows)
	}
}

func TestMariaDBTriggerRefusesInvalidNames(t *testing.T) {
	refused := func(f *sqlfunc.Functions, table, column string) {
		t.Helper()
		if _, err := f.MariaDBTrigger(table, column); !errors.Is(err, sqlfunc.ErrOption) {
			t.Errorf("table %q, column %q: %v", table, column, err)
		}
	}
	refused(server{}.functions(t, snowflake.Default()), "t", "id") // without a worker
	f := server{}.functions(t, snowflake.Default(), sqlfunc.WithWorker(1))
	for _, name := range []string{"", "a\x00b", "\xff", strings.Repeat("é", 65)} {
		refused(f, name, "id")
		refused(f, "t", name)
	}
}

// A name has at most 64 characters, and a truncated one could belong to another table.
func TestMariaDBTriggersOfLongNamesDiffer(t *testing.T) {
	db := openMariaDB(t)
	f := db.install(t, snowflake.Default(), sqlfunc.WithWorker(7))
	for i := range 2 {
		table := fmt.Sprintf("%s%d", strings.Repeat("t", 63), i)
		db.exec(t, "CREATE TABLE "+table+" (id BIGINT NOT NULL DEFAULT 0 PRIMARY KEY)")
		db.trigger(t, f, table, "id")
		db.exec(t, "INSERT INTO "+table+" VALUES (DEFAULT)")
	}
}

// The README has the way back from a dump without routines.
func TestMariaDBRecoversFromADumpWithoutFunctions(t *testing.T) {
	db := openMariaDB(t)
	f := db.install(t, snowflake.Default(), sqlfunc.WithWorker(7))
	db.exec(t, "CREATE TABLE orders (id BIGINT NOT NULL DEFAULT 0 PRIMARY KEY)")
	db.trigger(t, f, "orders", "id")
	const insert = "INSERT INTO orders VALUES () RETURNING id"
	before := scan[snowflake.ID](t, db, insert)
	for _, name := range []string{"layout", "time", "parts", "min", "next"} {
		db.exec(t, "DROP FUNCTION snowflake_"+name)
	}
	db.fails(t, db, insert, "", "1305")
	if err := f.Install(t.Context(), db, sqldb.MySQL); err != nil {
		t.Fatal(err)
	}
	if id := scan[snowflake.ID](t, db, insert); id <= before {
		t.Errorf("the ID after the restore is %d, want more than %d", id, before)
	}
}
