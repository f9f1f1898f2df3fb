package adopt_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"gorm.io/gorm"

	"github.com/sqlflake/sqlflake/gormplugin/adopt"
	"github.com/sqlflake/sqlflake/internal/testdb"
)

// odd is the model of a table whose statement is hard to parse.
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

// wantSettings checks that the settings of the connection are back, and that it is in no transaction.
func (e *env) wantSettings(t *testing.T) {
	t.Helper()
	var foreignKeys, legacy int
	must(t, e.Raw("SELECT * FROM pragma_foreign_keys, pragma_legacy_alter_table").Row().Scan(&foreignKeys, &legacy))
	equal(t, "foreign_keys", foreignKeys, 1)
	equal(t, "legacy_alter_table", legacy, 0)
	e.exec(t, "BEGIN", "COMMIT")
}

func TestRebuildKeepsIndexesTriggersViewsAndReferences(t *testing.T) {
	db := single(t, testdb.SQLite(t))
	db.exec(t, oddities...)
	want, view := db.state(t), db.rows(t, "odd_view")
	db.drop(t, &odd{})
	squeeze := func(s string) string { return strings.Join(strings.Fields(s), " ") }
	want.definitions = squeeze(strings.Replace(want.definitions, "\tautoincrement,", "\t,", 1))
	got := db.state(t)
	got.definitions = squeeze(got.definitions)
	equal(t, "state", got, want)
	equal(t, "view", db.rows(t, "odd_view"), view)
	equal(t, "rows of sqlite_sequence", db.count(t, "sqlite_sequence", ""), 0)
	db.wantSettings(t)
	var sound string
	must(t, db.Raw("PRAGMA integrity_check").Row().Scan(&sound))
	equal(t, "integrity_check", sound, "ok")

	db.exec(t, `INSERT INTO child (odd) VALUES (1)`, `DELETE FROM "odd-Table" WHERE "The Id" = 2`)
	equal(t, "set by the trigger of the child", db.count(t, "odd-Table", "up = 1 AND quiet = 'a'"), 1)
	equal(t, "children left", db.count(t, "child", ""), 2)
	equal(t, "logged", db.count(t, "log", "what = '-b'"), 1)
	wantError(t, db.Exec(`INSERT INTO child (odd) VALUES (99)`).Error, gorm.ErrForeignKeyViolated, "")
}

func TestFailedRebuildChangesNothing(t *testing.T) {
	for name, spoil := range map[string][]string{
		"a row that its CHECK rejects": {
			"PRAGMA ignore_check_constraints = 1", `INSERT INTO "odd-Table" (name) VALUES ('AUTOINCREMENT')`,
			"PRAGMA ignore_check_constraints = 0",
		},
		"the name is already used": {`CREATE TABLE "sqlflake_new_ODD-TABLE" (id)`},
	} {
		t.Run(name, func(t *testing.T) {
			db := single(t, testdb.SQLite(t), &oldGroup{})
			db.exec(t, oddities...)
			db.exec(t, spoil...)
			must(t, db.Create(&oldGroup{Name: "a"}).Error)
			before, view := db.state(t), db.rows(t, "odd_view")
			wantError(t, adopt.DropAutoIncrement(db.DB, &oldGroup{}, &odd{}), nil, "odd-Table.The Id")
			equal(t, "state", db.state(t), before)
			equal(t, "view", db.rows(t, "odd_view"), view)
			db.wantSettings(t)
		})
	}
}

// It cancels the context at every statement. The database is in memory, so it would be lost with the connection.
func TestInterruptedRebuildChangesNothing(t *testing.T) {
	db := single(t, testdb.Target{Name: "sqlite", Driver: "sqlite3", DSN: ":memory:?_foreign_keys=on"}, &oldGroup{})
	must(t, db.Create(&oldGroup{Name: "a"}).Error)
	before := db.state(t)
	for n := 1; ; n++ {
		ctx, cancel := context.WithCancel(t.Context())
		left := n
		count := func(*gorm.DB) {
			if left--; left == 0 {
				cancel()
			}
		}
		must(t, db.Callback().Raw().Replace("test:count", count))
		must(t, db.Callback().Row().Replace("test:count", count))
		err := adopt.DropAutoIncrement(db.WithContext(ctx), &oldGroup{})
		cancel()
		left = 0
		if err == nil {
			equal(t, "8 or more statements were interrupted", n > 8, true)
			break
		}
		equal(t, "state", db.state(t), before)
		db.wantSettings(t)
	}
	equal(t, "state", db.state(t), before.adopted())
}

func TestWhatSQLiteKeeps(t *testing.T) {
	db := plain(t, testdb.SQLite(t))
	db.exec(t, "CREATE TABLE old_groups (id integer PRIMARY KEY, name text)",
		"CREATE TABLE old_lines (id bigint, tenant_id integer PRIMARY KEY AUTOINCREMENT)") // not the model's key
	before := db.state(t)
	db.drop(t, &oldGroup{}, &oldLine{})
	wantError(t, adopt.DropAutoIncrement(db.Table("aux.old_groups"), &oldGroup{}), adopt.ErrAutoIncrementKept, "main database")
	equal(t, "state", db.state(t), before)
}

// Another connection tries to write as soon as the rows are copied.
func TestWritersWaitUntilTheCopyReplacesTheTable(t *testing.T) {
	db := plain(t, testdb.SQLite(t), &oldGroup{})
	must(t, db.Create(&oldGroup{Name: "a"}).Error)
	other := plain(t, db.target)
	written := make(chan error, 1)
	must(t, db.Callback().Raw().Register("test:write", func(tx *gorm.DB) {
		if strings.HasPrefix(tx.Statement.SQL.String(), `INSERT INTO "sqlflake_new_`) {
			go func() { written <- other.Create(&oldGroup{ID: uint64(firstID)}).Error }()
			time.Sleep(50 * time.Millisecond) // for a write that does not wait
		}
	}))
	must(t, adopt.DropAutoIncrement(db.Table("main.old_groups"), &oldGroup{}))
	must(t, <-written)
	equal(t, "rows", db.count(t, "old_groups", ""), 2)
	equal(t, "written row", db.count(t, "old_groups", "id = ?", firstID), 1)
}
