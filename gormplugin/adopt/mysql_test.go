package adopt_test

import (
	"context"
	"fmt"
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
