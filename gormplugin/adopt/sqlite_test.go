package adopt_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"gorm.io/gorm"

	"github.com/sqlflake/sqlflake/gormplugin/adopt"
	"github.com/sqlflake/sqlflake/internal/testdb"
)

// odd is a table whose statement is hard to parse.
type odd struct {
	ID   int64 `gorm:"column:The Id"`
	Name string
}

func (odd) TableName() string { return "odd-Table" }

const oddTable = `CREATE TABLE
	"odd-Table" -- AUTOINCREMENT, "said he
	( /* PRIMARY KEY AUTOINCREMENT, */ [The Id] INTEGER CONSTRAINT "AUTOINCREMENT" PRIMARY KEY ASC ON CONFLICT ABORT
	autoincrement, name TEXT COLLATE NOCASE DEFAULT 'it''s AUTOINCREMENT' CHECK (name <> 'AUTOINCREMENT'),
	"loud ""name" TEXT AS (upper(name)) STORED, quiet AS (lower(name)),
	up INTEGER REFERENCES "odd-Table" ON DELETE CASCADE DEFERRABLE INITIALLY DEFERRED, UNIQUE (name, up))`

// oddities are what refers to the table and what a rebuild might lose.
var oddities = []string{
	oddTable,
	`CREATE INDEX "odd part" ON "odd-Table" (name DESC) WHERE up IS NOT NULL`,
	`CREATE UNIQUE INDEX odd_expression ON "odd-Table" (length(name), quiet)`,
	`CREATE TABLE child (id INTEGER PRIMARY KEY, odd INTEGER NOT NULL REFERENCES "odd-Table"("The Id") ON DELETE CASCADE)`,
	`CREATE TABLE log (what TEXT)`,
	`CREATE TRIGGER odd_inserted AFTER INSERT ON "odd-Table" BEGIN INSERT INTO log VALUES ('+' || new.name); END`,
	`CREATE TRIGGER odd_deleted AFTER DELETE ON "odd-Table" BEGIN INSERT INTO log VALUES ('-' || old.name); END`,
	`CREATE TRIGGER child_inserted AFTER INSERT ON child BEGIN UPDATE "odd-Table" SET up = 1 WHERE "The Id" = new.odd; END`,
	`CREATE VIEW odd_view AS SELECT o."The Id" AS id, c.id AS child FROM "odd-Table" o JOIN child c ON c.odd = o."The Id"`,
	`INSERT INTO "odd-Table" (name) VALUES ('a'), ('b'), ('c'), ('d')`,
	`INSERT INTO "odd-Table" ("The Id", name) VALUES (-7, 'minus')`,
	`INSERT INTO child (odd) VALUES (2), (3)`,
	`DELETE FROM "odd-Table" WHERE "The Id" = 4`,
}

func (e *env) pragma(t *testing.T, name string) (value int) {
	t.Helper()
	must(t, e.Raw("PRAGMA "+name).Scan(&value))
	return value
}

func TestRebuildKeepsIndexesTriggersViewsAndReferences(t *testing.T) {
	db := plain(t, testdb.SQLite(t))
	oneConnection(t, db)
	db.exec(t, oddities...)
	tables := []string{"odd-Table", "child", "log", "odd_view"}
	rows := db.rows(t, tables...)
	before := db.statements(t)

	db.drop(t, &odd{})
	equal(t, "rows", db.rows(t, tables...), rows)
	after := db.statements(t)
	want := strings.Replace(before, "\tautoincrement,", "\t,", 1)
	want = strings.Replace(want, "CREATE TABLE\n\t\"odd-Table\"", `CREATE TABLE "odd-Table"`, 1)
	equal(t, "statements", squeeze(after), squeeze(want))
	equal(t, "rows of sqlite_sequence", db.count(t, "sqlite_sequence", ""), 0)
	equal(t, "foreign_keys", db.pragma(t, "foreign_keys"), 1)
	equal(t, "legacy_alter_table", db.pragma(t, "legacy_alter_table"), 0)
	var sound string
	must(t, db.Raw("PRAGMA integrity_check").Scan(&sound))
	equal(t, "integrity_check", sound, "ok")

	db.exec(t, `INSERT INTO child (odd) VALUES (1)`, `DELETE FROM "odd-Table" WHERE "The Id" = 2`)
	equal(t, "set by the trigger of the child", db.count(t, "odd-Table", "up = 1 AND quiet = 'a'"), 1)
	equal(t, "children left", db.count(t, "child", ""), 2)
	equal(t, "logged", db.count(t, "log", "what = '-b'"), 1)
	if err := db.Exec(`INSERT INTO child (odd) VALUES (99)`).Error; err == nil {
		t.Error("a child without a parent was stored")
	}
}

func oneConnection(t *testing.T, db *env) {
	t.Helper()
	pool, err := db.DB.DB()
	if err != nil {
		t.Fatal(err)
	}
	pool.SetMaxOpenConns(1)
}

// statements returns the whole schema.
func (e *env) statements(t *testing.T) string {
	t.Helper()
	var all []string
	must(t, e.Raw("SELECT coalesce(sql, name) FROM sqlite_master ORDER BY type, name").Scan(&all))
	return strings.Join(all, "\n")
}

func squeeze(s string) string { return strings.Join(strings.Fields(s), " ") }

func TestFailedRebuildChangesNothing(t *testing.T) {
	for name, spoil := range map[string][]string{
		"a row that its CHECK rejects": {
			"PRAGMA ignore_check_constraints = 1", `INSERT INTO "odd-Table" (name) VALUES ('AUTOINCREMENT')`,
			"PRAGMA ignore_check_constraints = 0",
		},
		"the name is already used": {`CREATE TABLE "sqlflake_new_ODD-TABLE" (id)`},
	} {
		t.Run(name, func(t *testing.T) {
			db := plain(t, testdb.SQLite(t), &oldGroup{})
			oneConnection(t, db)
			db.exec(t, oddities...)
			db.exec(t, spoil...)
			must(t, db.Create(&oldGroup{Name: "a"}))
			tables := []string{"odd-Table", "child", "log", "odd_view", "old_groups"}
			rows, before := db.rows(t, tables...), db.statements(t)
			if err := adopt.DropAutoIncrement(db.DB, &oldGroup{}, &odd{}); err == nil {
				t.Fatal("want an error")
			}
			equal(t, "rows", db.rows(t, tables...), rows)
			equal(t, "statements", db.statements(t), before)
			equal(t, "foreign_keys", db.pragma(t, "foreign_keys"), 1)
			equal(t, "legacy_alter_table", db.pragma(t, "legacy_alter_table"), 0)
			db.exec(t, "BEGIN", "COMMIT") // no transaction is left open
		})
	}
}

// It cancels the context at every statement. The database is in memory, so it would be lost with the connection.
func TestInterruptedRebuildChangesNothing(t *testing.T) {
	db := plain(t, testdb.Target{Name: "sqlite", Driver: "sqlite3", DSN: ":memory:?_foreign_keys=on"})
	oneConnection(t, db)
	if err := db.AutoMigrate(&oldGroup{}); err != nil {
		t.Fatal(err)
	}
	must(t, db.Create(&oldGroup{Name: "a"}))
	before := db.statements(t)
	interrupted := 0
	for n := 1; ; n++ {
		ctx, cancel := context.WithCancel(t.Context())
		left := n
		count := func(*gorm.DB) {
			if left--; left == 0 {
				cancel()
			}
		}
		must(t, &gorm.DB{Error: errors.Join(
			db.Callback().Raw().Replace("test:count", count), db.Callback().Row().Replace("test:count", count),
		)})
		err := adopt.DropAutoIncrement(db.WithContext(ctx), &oldGroup{})
		cancel()
		left = 0
		if err == nil {
			break
		}
		interrupted++
		equal(t, "statements", db.statements(t), before)
		equal(t, "foreign_keys", db.pragma(t, "foreign_keys"), 1)
		equal(t, "legacy_alter_table", db.pragma(t, "legacy_alter_table"), 0)
		db.exec(t, "BEGIN", "COMMIT")
	}
	if interrupted < 8 {
		t.Errorf("%d statements were interrupted, want 8 or more", interrupted)
	}
	_, counted := db.definitions(t)
	equal(t, "counters", len(counted), 0)
	equal(t, "rows", db.count(t, "old_groups", ""), 1)
}

func TestPlainIntegerKeyOfSQLiteNeedsNothing(t *testing.T) {
	db := plain(t, testdb.SQLite(t))
	db.exec(t, "CREATE TABLE old_groups (id integer PRIMARY KEY, name text)",
		"CREATE TABLE old_lines (id bigint, tenant_id integer PRIMARY KEY AUTOINCREMENT)") // not the model's key
	before := db.statements(t)
	db.drop(t, &oldGroup{}, &oldLine{})
	equal(t, "statements", db.statements(t), before)
}

func TestDropAutoIncrementNeedsAHandleWithoutTransaction(t *testing.T) {
	for _, open := range []func(testing.TB) testdb.Target{testdb.SQLite, testdb.MariaDB} {
		db := plain(t, open(t), &oldGroup{})
		before, counted := db.definitions(t)
		err := db.Transaction(func(tx *gorm.DB) error { return adopt.DropAutoIncrement(tx, &oldGroup{}) })
		equal(t, "ErrAutoIncrementKept", errors.Is(err, adopt.ErrAutoIncrementKept), true)
		after, still := db.definitions(t)
		equal(t, "definitions", after, before)
		equal(t, "counters", len(still), len(counted))
	}
}

// Another connection tries to write as soon as the rows are copied.
func TestWritersWaitUntilTheCopyReplacesTheTable(t *testing.T) {
	db := plain(t, testdb.SQLite(t), &oldGroup{})
	must(t, db.Create(&oldGroup{Name: "a"}))
	other := plain(t, db.target)
	written := make(chan error, 1)
	must(t, &gorm.DB{Error: db.Callback().Raw().Register("test:write", func(tx *gorm.DB) {
		if !strings.HasPrefix(tx.Statement.SQL.String(), `INSERT INTO "sqlflake_new_`) {
			return
		}
		done := make(chan struct{})
		go func() {
			defer close(done)
			written <- other.Create(&oldGroup{ID: uint64(firstID)}).Error
		}()
		select {
		case <-done: // it did not wait
		case <-time.After(50 * time.Millisecond):
		}
	})})
	db.drop(t, &oldGroup{})
	if err := <-written; err != nil {
		t.Fatal(err)
	}
	equal(t, "rows", db.count(t, "old_groups", ""), 2)
	equal(t, "written row", db.count(t, "old_groups", "id = ?", firstID), 1)
}
