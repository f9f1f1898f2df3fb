package adopt_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"gorm.io/gorm"

	"github.com/sqlflake/sqlflake/gormplugin/adopt"
	"github.com/sqlflake/sqlflake/internal/testdb"
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
		db.runRaw(t, strings.Replace(create, "%s", tt.before, 1))
		must(t, db.Create(&oldGroup{ID: 5, Name: "a"}))
		db.drop(t, &oldGroup{})
		got, _ := db.definitions(t)
		// The server describes a table that is created like this in the same words.
		want := strings.ReplaceAll(create, "old_groups", "wanted")
		db.runRaw(t, strings.Replace(want, "%s", tt.after+", PRIMARY KEY (`id`)", 1))
		var name, wanted string
		if err := db.Raw("SHOW CREATE TABLE wanted").Row().Scan(&name, &wanted); err != nil {
			t.Fatal(err)
		}
		wanted = counters.ReplaceAllString(strings.Replace(wanted, "`wanted`", "`old_groups`", 1), "$2")
		equal(t, tt.before, strings.TrimSpace(got), wanted)
		equal(t, "rows", db.count(t, "old_groups", "id = 5"), 1)
		must(t, db.Create(&oldGroup{ID: uint64(firstID)}))
		db.wantRefused(t, "old_groups", "INSERT INTO old_groups (name) VALUES ('x')")
	}
}

// runRaw runs a statement that may contain question marks.
func (e *env) runRaw(t *testing.T, statement string) {
	t.Helper()
	pool, err := e.DB.DB()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := pool.ExecContext(t.Context(), statement); err != nil {
		t.Fatal(err)
	}
}

func TestForeignKeysThatForbidToWidenAreNamed(t *testing.T) {
	db := plain(t, testdb.MariaDB(t), &oldGroup{})
	db.exec(t, "CREATE TABLE old_lines (id int AUTO_INCREMENT PRIMARY KEY)",
		"CREATE TABLE refers (id int PRIMARY KEY, line_id int, "+
			"CONSTRAINT to_line FOREIGN KEY (line_id) REFERENCES old_lines (id))")
	before, counted := db.definitions(t)
	err := adopt.DropAutoIncrement(db.DB, &oldGroup{}, &oldLine{})
	if !errors.Is(err, adopt.ErrAutoIncrementKept) || !strings.Contains(err.Error(), "refers.to_line") {
		t.Errorf("error %v", err)
	}
	after, still := db.definitions(t)
	equal(t, "definitions", after, before)
	equal(t, "counters", len(still), len(counted))
}

func TestDefaultThatIsNotACounterIsNamed(t *testing.T) {
	target := testdb.MariaDB(t)
	target.NeedMariaDB(t, "CREATE SEQUENCE")
	db := plain(t, target)
	db.exec(t, "CREATE SEQUENCE s", "CREATE TABLE old_groups (id bigint PRIMARY KEY DEFAULT (NEXT VALUE FOR s))")
	err := adopt.DropAutoIncrement(db.DB, &oldGroup{})
	if !errors.Is(err, adopt.ErrAutoIncrementKept) || !strings.Contains(err.Error(), "nextval(") {
		t.Errorf("error %v", err)
	}
}

func TestForeignKeysAreCheckedAgainAfterwards(t *testing.T) {
	db := plain(t, testdb.MariaDB(t), oldModels()...)
	oneConnection(t, db)
	db.fillOld(t)
	db.exec(t, "SET SESSION sql_mode = CONCAT(@@sql_mode, ',ANSI_QUOTES')")
	db.drop(t, &oldUser{})
	var checked int
	must(t, db.Raw("SELECT @@SESSION.foreign_key_checks").Scan(&checked))
	equal(t, "foreign_key_checks", checked, 1)
	equal(t, "old_users.id", db.column(t, "old_users", "id").Made, false)
}

func TestErrorNamesTheTablesThatAreDone(t *testing.T) {
	target := testdb.MariaDB(t)
	target.NeedMariaDB(t, "check_constraint_checks")
	db := plain(t, target, &oldGroup{})
	oneConnection(t, db)
	// The CHECK rejects the stored row as soon as the table is copied.
	db.exec(t, "CREATE TABLE old_lines (id int AUTO_INCREMENT PRIMARY KEY, n int CHECK (n > 0))",
		"SET SESSION check_constraint_checks = 0", "INSERT INTO old_lines (n) VALUES (-1)",
		"SET SESSION check_constraint_checks = 1")
	err := adopt.DropAutoIncrement(db.DB, &oldGroup{}, &oldLine{})
	if err == nil || !strings.Contains(err.Error(), "done before: old_groups.id") {
		t.Errorf("error %v", err)
	}
	equal(t, "old_groups.id", db.column(t, "old_groups", "id").Made, false)
	equal(t, "old_lines.id", db.column(t, "old_lines", "id"), column{Type: "int", Made: true})
	equal(t, "rows", db.count(t, "old_lines", ""), 1)
}

func TestForeignKeysAreCheckedAgainAfterAnInterrupt(t *testing.T) {
	db := plain(t, testdb.MariaDB(t), oldModels()...)
	oneConnection(t, db)
	var before, after, checked int
	must(t, db.Raw("SELECT connection_id()").Scan(&before))
	ctx, cancel := context.WithCancel(t.Context())
	must(t, &gorm.DB{Error: db.Callback().Raw().Register("test:interrupt", func(tx *gorm.DB) {
		if strings.Contains(tx.Statement.SQL.String(), "foreign_key_checks = 0") {
			cancel()
		}
	})})
	err := adopt.DropAutoIncrement(db.WithContext(ctx), &oldUser{})
	equal(t, "interrupted", errors.Is(err, context.Canceled), true)
	must(t, db.Raw("SELECT @@SESSION.foreign_key_checks").Scan(&checked))
	equal(t, "foreign_key_checks", checked, 1)
	must(t, db.Raw("SELECT connection_id()").Scan(&after))
	equal(t, "connection", after, before)
	equal(t, "old_users.id", db.column(t, "old_users", "id").Made, true)
}
