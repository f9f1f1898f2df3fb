package adopt_test

import (
	"context"
	"database/sql"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"gorm.io/gorm"

	"github.com/sqlflake/sqlflake/gormplugin/adopt"
	"github.com/sqlflake/sqlflake/internal/testdb"
)

// It cancels the change while it waits for another transaction, and then ends that transaction.
func TestAnInterruptedChangeIsNotMadeLater(t *testing.T) {
	db := plain(t, testdb.MariaDB(t), &oldGroup{})
	must(t, db.Create(&oldGroup{Name: "a"}))
	var before int64
	tx := db.Begin()
	must(t, tx.Model(&oldGroup{}).Count(&before))
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- adopt.DropAutoIncrement(db.WithContext(ctx), &oldGroup{}) }()
	pool, err := db.DB.DB()
	if err != nil {
		t.Fatal(err)
	}
	for waits := 0; waits == 0; {
		if waits, err = testdb.MetadataLockWaits(t.Context(), pool); err != nil {
			t.Fatal(err)
		}
		if len(ended) > 0 {
			t.Fatalf("it did not wait: %v", <-ended)
		}
		time.Sleep(time.Millisecond)
	}
	cancel()
	equal(t, "interrupted", errors.Is(<-ended, context.Canceled), true)
	must(t, tx.Commit())
	must(t, db.Create(&oldGroup{Name: "b"}))
	equal(t, "old_groups.id", db.column(t, "old_groups", "id").Made, true)
}

// A plugin replaces the pool of each statement outside of transactions, as dbresolver does.
func TestAResolverDoesNotSendStatementsElsewhere(t *testing.T) {
	for _, open := range []func(testing.TB) testdb.Target{testdb.SQLite, testdb.MariaDB} {
		db := plain(t, open(t), oldModels()...)
		pool, err := db.DB.DB()
		if err != nil {
			t.Fatal(err)
		}
		sent := 0
		resolve := func(tx *gorm.DB) {
			if _, ok := tx.Statement.ConnPool.(gorm.TxCommitter); !ok {
				tx.Statement.ConnPool = pool
				sent++
			}
		}
		must(t, &gorm.DB{Error: errors.Join(
			db.Callback().Raw().Before("*").Register("test:resolve", resolve),
			db.Callback().Row().Before("*").Register("test:resolve", resolve),
			db.Callback().Query().Before("*").Register("test:resolve", resolve),
		)})
		db.drop(t, &oldUser{})
		equal(t, "statements sent elsewhere", sent, 0)
	}
}

func TestDropAutoIncrementUsesTheConnectionOfTheHandle(t *testing.T) {
	eachPlain(t, func(t *testing.T, db *env) {
		oneConnection(t, db) // a second connection would deadlock
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		err := db.WithContext(ctx).Connection(func(tx *gorm.DB) error {
			if _, ok := tx.Statement.ConnPool.(*sql.Conn); !ok {
				t.Errorf("the handle has a %T", tx.Statement.ConnPool)
			}
			return adopt.DropAutoIncrement(tx, oldModels()...)
		})
		if err != nil {
			t.Fatal(err)
		}
		_, counted := db.definitions(t)
		equal(t, "counters", len(counted), 0)
	}, oldModels()...)
}

func TestATransactionThatIsOpenIsNotRolledBack(t *testing.T) {
	db := plain(t, testdb.SQLite(t), &oldGroup{})
	oneConnection(t, db)
	db.exec(t, "BEGIN", "INSERT INTO old_groups (name) VALUES ('a')")
	if err := adopt.DropAutoIncrement(db.DB, &oldGroup{}); err == nil {
		t.Error("want an error")
	}
	db.exec(t, "COMMIT")
	equal(t, "rows", db.count(t, "old_groups", ""), 1)
}

func TestBackslashesInCommentsStay(t *testing.T) {
	db := plain(t, testdb.MariaDB(t))
	oneConnection(t, db)
	db.exec(t, "SET SESSION sql_mode = CONCAT(@@sql_mode, ',NO_BACKSLASH_ESCAPES')")
	db.runRaw(t, `CREATE TABLE old_groups (name text, id bigint AUTO_INCREMENT PRIMARY KEY COMMENT 'C:\keys')`)
	before, _ := db.definitions(t)
	db.drop(t, &oldGroup{})
	after, counted := db.definitions(t)
	equal(t, "definitions", after, before)
	equal(t, "counters", len(counted), 0)
	var modes string
	must(t, db.Raw("SELECT @@SESSION.sql_mode").Scan(&modes))
	equal(t, "the mode is back", slices.Contains(strings.Split(modes, ","), "NO_BACKSLASH_ESCAPES"), true)
}

func TestDropAutoIncrementFindsAColumnInAnotherCase(t *testing.T) {
	type upper struct {
		ID uint `gorm:"column:ID"`
	}
	for _, open := range []func(testing.TB) testdb.Target{testdb.SQLite, testdb.MariaDB} {
		db := plain(t, open(t), &oldGroup{})
		before, _ := db.definitions(t)
		if err := adopt.DropAutoIncrement(db.Table("old_groups"), &upper{}); err != nil {
			t.Fatal(err)
		}
		after, counted := db.definitions(t)
		equal(t, "definitions", after, before)
		equal(t, "counters", len(counted), 0)
	}
}
