package adopt_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"gorm.io/gorm"

	"github.com/sqlflake/sqlflake/contrib/adopt"
	"github.com/sqlflake/sqlflake/gormplugin"
	"github.com/sqlflake/sqlflake/internal/testdb"
	"github.com/sqlflake/sqlflake/snowflake"
)

func TestMySQLKeepsTheColumnDefinition(t *testing.T) {
	const create = "CREATE TABLE old_groups (name varchar(20), `id` %s)"
	for _, tt := range []struct{ before, after string }{
		{"bigint unsigned NOT NULL AUTO_INCREMENT PRIMARY KEY", "bigint(20) unsigned NOT NULL"},
		{"bigint(8) zerofill NOT NULL AUTO_INCREMENT PRIMARY KEY", "bigint(8) unsigned zerofill NOT NULL"},
		{"int unsigned NOT NULL AUTO_INCREMENT PRIMARY KEY", "bigint unsigned NOT NULL"},
		{"smallint NOT NULL PRIMARY KEY", "bigint NOT NULL"},
		{
			`bigint NOT NULL AUTO_INCREMENT PRIMARY KEY COMMENT 'it''s \\ an "AUTO_INCREMENT" @id ? \\'' /* \n --'`,
			`bigint(20) NOT NULL COMMENT 'it''s \\ an "AUTO_INCREMENT" @id ? \\'' /* \n --'`,
		},
	} {
		db := plain(t, testdb.MariaDB(t))
		db.exec(t, fmt.Sprintf(create, tt.before))
		must(t, db.Create(&oldGroup{ID: 5, Name: "a"}).Error)
		db.drop(t, &oldGroup{})
		got := db.state(t)
		equal(t, "rows", db.count(t, "old_groups", "id = 5"), 1)
		must(t, db.Create(&oldGroup{ID: uint64(firstID)}).Error)
		db.wantRefused(t, "old_groups", "name", "'x'")
		// The server describes a table that is created like this in the same words.
		db.exec(t, "DROP TABLE old_groups", fmt.Sprintf(create, tt.after+", PRIMARY KEY (`id`)"))
		equal(t, tt.before, got.definitions, db.state(t).definitions)
	}
}

func TestATableIsNotTakenForOneWhoseNameDiffersInCase(t *testing.T) {
	db := plain(t, testdb.MariaDB(t))
	var folded int
	must(t, db.Raw("SELECT @@lower_case_table_names").Row().Scan(&folded))
	if folded > 0 {
		return // the server has one case for the names of tables
	}
	const create = "CREATE TABLE %s (id %s AUTO_INCREMENT PRIMARY KEY, name text)"
	db.exec(t, fmt.Sprintf(create, "OLD_GROUPS", "bigint"), fmt.Sprintf(create, "old_groups", "int"), fmt.Sprintf(create, "Old_groups", "bigint"),
		"ALTER TABLE OLD_GROUPS MODIFY id bigint NOT NULL", "ALTER TABLE Old_groups MODIFY id bigint NOT NULL")
	db.drop(t, &oldGroup{})
	equal(t, "counters", db.state(t).counters, "")
	equal(t, "columns of 64 bits", db.count(t, "information_schema.columns", "table_schema = database() AND data_type = 'bigint'"), 3)
}

func TestTheModeOfTheSessionStays(t *testing.T) {
	for _, mode := range []string{"NO_BACKSLASH_ESCAPES", "ANSI_QUOTES"} {
		db := single(t, testdb.MariaDB(t))
		db.exec(t, "SET SESSION sql_mode = CONCAT(@@sql_mode, ',"+mode+"')",
			`CREATE TABLE old_groups (name text, id bigint AUTO_INCREMENT PRIMARY KEY COMMENT 'C:\keys')`)
		before := db.state(t)
		db.drop(t, &oldGroup{})
		equal(t, "state", db.state(t), before.adopted())
		var after string
		must(t, db.Raw("SELECT @@SESSION.sql_mode").Row().Scan(&after))
		equal(t, "the mode is back", strings.Contains(after, mode), true)
	}
}

func TestForeignKeysAreCheckedAgainAfterwards(t *testing.T) {
	for _, interrupted := range []bool{false, true} {
		db := single(t, testdb.MariaDB(t), oldModels()...)
		db.fillOld(t)
		var connection, same, checked int
		must(t, db.Raw("SELECT connection_id()").Row().Scan(&connection))
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		must(t, db.Callback().Raw().Register("test:interrupt", func(tx *gorm.DB) {
			if interrupted && strings.Contains(tx.Statement.SQL.String(), "foreign_key_checks = 0") {
				cancel()
			}
		}))
		before := db.state(t)
		err := adopt.DropAutoIncrement(db.WithContext(ctx), &oldUser{})
		if interrupted {
			wantError(t, err, context.Canceled, "")
			equal(t, "state", db.state(t), before)
		} else {
			must(t, err)
			equal(t, "counters", strings.Contains(db.state(t).counters, "old_users"), false)
		}
		must(t, db.Raw("SELECT @@SESSION.foreign_key_checks, connection_id()").Row().Scan(&checked, &same))
		equal(t, "foreign_key_checks", checked, 1)
		equal(t, "connection", same, connection)
	}
}

func TestErrorNamesTheTablesThatAreDone(t *testing.T) {
	target := testdb.MariaDB(t)
	target.NeedMariaDB(t, "check_constraint_checks")
	db := single(t, target, &oldGroup{})
	// The CHECK rejects the stored row as soon as the table is copied.
	db.exec(t, "CREATE TABLE old_lines (id int AUTO_INCREMENT PRIMARY KEY, n int CHECK (n > 0))",
		"SET SESSION check_constraint_checks = 0", "INSERT INTO old_lines (n) VALUES (-1)",
		"SET SESSION check_constraint_checks = 1")
	before := db.state(t)
	wantError(t, adopt.DropAutoIncrement(db.DB, &oldGroup{}, &oldLine{}), nil, "done before: old_groups.id")
	before.counters = "old_lines.id"
	equal(t, "state", db.state(t), before)
}

func TestDropAutoIncrementOnKindsOfCountersOfPostgres(t *testing.T) {
	const own = "CREATE SEQUENCE s; CREATE TABLE old_groups (id bigint PRIMARY KEY DEFAULT nextval("
	for name, tt := range map[string]struct{ create, left string }{
		"serial":               {"CREATE TABLE old_groups (id serial PRIMARY KEY, name text)", ""},
		"smallserial":          {"CREATE TABLE old_groups (id smallserial PRIMARY KEY, name text)", ""},
		"identity":             {"CREATE TABLE old_groups (id bigint GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY, name text)", ""},
		"narrow identity":      {"CREATE TABLE old_groups (id int GENERATED ALWAYS AS IDENTITY PRIMARY KEY, name text)", ""},
		"sequence of its own":  {own + "'s'), name text)", "sequence s"},
		"sequence by its name": {own + "'s'::text), name text)", "sequence s"},
		"serial without default": {
			"CREATE TABLE old_groups (id bigserial PRIMARY KEY, name text); ALTER TABLE old_groups ALTER id DROP DEFAULT;" +
				"INSERT INTO old_groups (id) VALUES (1), (2), (3)", "",
		},
		"partitioned": {
			"CREATE TABLE old_groups (id bigserial PRIMARY KEY, name text) PARTITION BY RANGE (id);" +
				"CREATE TABLE part PARTITION OF old_groups DEFAULT", "",
		},
	} {
		t.Run(name, func(t *testing.T) {
			db := plain(t, testdb.Postgres(t))
			db.exec(t, strings.Split(tt.create, ";")...)
			if !strings.Contains(tt.create, "INSERT") {
				db.exec(t, "INSERT INTO old_groups (name) VALUES ('a'), ('b'), ('c')")
			}
			rows := db.rows(t, "old_groups")
			gen, err := snowflake.New(0)
			must(t, err)
			unbounded := plain(t, db.target)
			must(t, unbounded.Use(gormplugin.New(gen)))
			wantError(t, adopt.DropAutoIncrement(unbounded.DB, &oldGroup{}), adopt.ErrAutoIncrementKept, "WithMinID(4)")
			must(t, db.Use(gormplugin.New(gen, gormplugin.WithMinID(4))))
			db.drop(t, &oldGroup{})
			db = plain(t, db.target) // "cached plan must not change result type"
			equal(t, "rows", db.rows(t, "old_groups"), rows)
			after := db.state(t)
			equal(t, "bigint", strings.Contains(after.definitions, "old_groups id bigint"), true)
			equal(t, "counters left", after.counters, tt.left)
			db.wantRefused(t, "old_groups", "name", "'x'")
			must(t, db.Create(&oldGroup{ID: uint64(firstID)}).Error)
		})
	}
}

func TestNarrowKeysAreWidenedWithTheirReferences(t *testing.T) {
	db := plain(t, testdb.Postgres(t))
	db.exec(t,
		"CREATE TABLE old_groups (id serial PRIMARY KEY, name text)",
		"CREATE TABLE details (group_id int PRIMARY KEY REFERENCES old_groups, n int UNIQUE)",
		"CREATE TABLE remarks (id serial, detail_id int REFERENCES details, n smallint REFERENCES details (n))",
		`CREATE TABLE "Links" (a int REFERENCES old_groups, "B" smallint REFERENCES old_groups, PRIMARY KEY (a, "B"))`,
		"INSERT INTO old_groups (name) VALUES ('a'), ('b')", "INSERT INTO details VALUES (1, 5)",
		"INSERT INTO remarks (detail_id, n) VALUES (1, 5)", `INSERT INTO "Links" VALUES (1, 2)`)
	want := db.state(t)
	for _, column := range []string{"old_groups id", "details group_id", "remarks detail_id", "Links a", "Links B"} {
		for _, narrow := range []string{" integer", " smallint"} {
			want.definitions = strings.Replace(want.definitions, column+narrow, column+" bigint", 1)
		}
	}
	want.counters = "remarks id nextval('remarks_id_seq'::regclass) NO, sequence remarks_id_seq" // not the model's key
	db.drop(t, &oldGroup{})
	db = plain(t, db.target) // "cached plan must not change result type"
	equal(t, "state", db.state(t), want)
	must(t, db.Create(&oldGroup{ID: uint64(firstID)}).Error)
	must(t, db.Exec(`INSERT INTO "Links" VALUES (?, 1)`, firstID).Error)
	wantError(t, db.Exec(`INSERT INTO "Links" VALUES (77, 1)`).Error, gorm.ErrForeignKeyViolated, "")
}

func TestTwoTablesMayShareASequenceIfBothAreNamed(t *testing.T) {
	db := plain(t, testdb.Postgres(t), &oldGroup{})
	db.exec(t, "CREATE TABLE old_lines (id bigint PRIMARY KEY DEFAULT nextval('old_groups_id_seq'))")
	before := db.state(t)
	db.drop(t, &oldGroup{}, &oldLine{})
	equal(t, "state", db.state(t), before.adopted())
}

// The refusal is committed, on a handle that makes no savepoints.
func TestDropAutoIncrementJoinsTheTransactionOnPostgres(t *testing.T) {
	db := plain(t, testdb.Postgres(t), &oldGroup{})
	db.exec(t, "CREATE TABLE old_lines (id bigserial PRIMARY KEY)",
		"CREATE TABLE other (n bigint DEFAULT nextval('old_lines_id_seq'))")
	before := db.state(t)
	undone := errors.New("undone")
	err := db.Transaction(func(tx *gorm.DB) error {
		must(t, tx.Exec("SET LOCAL lock_timeout = '5s'").Error)
		must(t, adopt.DropAutoIncrement(tx, &oldGroup{}))
		return undone
	})
	equal(t, "error", err, undone)
	equal(t, "state", db.state(t), before)
	without := db.Session(&gorm.Session{DisableNestedTransaction: true})
	must(t, without.Transaction(func(tx *gorm.DB) error {
		err := adopt.DropAutoIncrement(tx, &oldGroup{}, &oldLine{})
		wantError(t, err, adopt.ErrAutoIncrementKept, "old_lines_id_seq also serves "+db.schema(t)+".other.n")
		return nil
	}))
	equal(t, "state", db.state(t), before)
}

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
	for n := 1; !t.Failed(); n++ {
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

// SQLite rolls the transaction back itself if the INSERT that copies the rows is interrupted while it runs.
func TestATransactionThatSQLiteHasEndedCostsNoConnection(t *testing.T) {
	db := single(t, testdb.Target{Name: "sqlite", Driver: "sqlite3", DSN: ":memory:?_foreign_keys=on"}, &oldGroup{})
	must(t, db.Create(&oldGroup{Name: "a"}).Error)
	before := db.state(t)
	interrupted := errors.New("interrupted")
	must(t, db.Callback().Raw().Before("*").Register("test:interrupt", func(tx *gorm.DB) {
		if strings.HasPrefix(tx.Statement.SQL.String(), `INSERT INTO "sqlflake_new_`) {
			_, err := tx.Statement.ConnPool.ExecContext(t.Context(), "ROLLBACK")
			must(t, err)
			_ = tx.AddError(interrupted)
		}
	}))
	err := adopt.DropAutoIncrement(db.DB, &oldGroup{})
	wantError(t, err, interrupted, "")
	equal(t, "a further error", strings.Contains(fmt.Sprint(err), "ROLLBACK"), false)
	equal(t, "state", db.state(t), before)
	db.wantSettings(t)
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
