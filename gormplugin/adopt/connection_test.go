package adopt_test

import (
	"context"
	"database/sql"
	"strings"
	"testing"
	"time"

	"gorm.io/gorm"

	"github.com/sqlflake/sqlflake/gormplugin/adopt"
	"github.com/sqlflake/sqlflake/internal/testdb"
)

// unlike are the databases that change tables outside of a transaction of the handle.
var unlike = []func(testing.TB) testdb.Target{testdb.SQLite, testdb.MariaDB}

// It cancels the change while it waits for another transaction, and then ends that transaction.
func TestAnInterruptedChangeIsNotMadeLater(t *testing.T) {
	db := plain(t, testdb.MariaDB(t), &oldGroup{})
	must(t, db.Create(&oldGroup{Name: "a"}).Error)
	before := db.state(t)
	tx := db.Begin()
	must(t, tx.Find(&oldGroup{}).Error)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- adopt.DropAutoIncrement(db.WithContext(ctx), &oldGroup{}) }()
	for waits := 0; waits == 0; time.Sleep(time.Millisecond) {
		var err error
		waits, err = testdb.MetadataLockWaits(t.Context(), db.pool)
		must(t, err)
		if len(ended) > 0 {
			t.Fatalf("it did not wait: %v", <-ended)
		}
	}
	cancel()
	wantError(t, <-ended, context.Canceled, "")
	must(t, tx.Commit().Error)
	equal(t, "state", db.state(t), before)
}

// A plugin replaces the pool of each statement outside of transactions, as dbresolver does.
func TestAResolverDoesNotSendStatementsElsewhere(t *testing.T) {
	for _, open := range unlike {
		db := plain(t, open(t), oldModels()...)
		resolve := func(tx *gorm.DB) {
			if _, ok := tx.Statement.ConnPool.(gorm.TxCommitter); !ok {
				t.Errorf("sent elsewhere: %s", tx.Statement.SQL.String())
			}
		}
		must(t, db.Callback().Raw().Before("*").Register("test:resolve", resolve))
		must(t, db.Callback().Row().Before("*").Register("test:resolve", resolve))
		must(t, db.Callback().Query().Before("*").Register("test:resolve", resolve))
		db.drop(t, &oldUser{})
	}
}

func TestDropAutoIncrementUsesTheConnectionOfTheHandle(t *testing.T) {
	eachPlain(t, func(t *testing.T, db *env) {
		db.pool.SetMaxOpenConns(1) // a second connection would deadlock
		before := db.state(t)
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		must(t, db.WithContext(ctx).Connection(func(tx *gorm.DB) error {
			if _, ok := tx.Statement.ConnPool.(*sql.Conn); !ok {
				t.Errorf("the handle has a %T", tx.Statement.ConnPool)
			}
			return adopt.DropAutoIncrement(tx, oldModels()...)
		}))
		equal(t, "state", db.state(t), before.adopted())
	}, oldModels()...)
}

func TestATransactionThatIsOpenIsNotRolledBack(t *testing.T) {
	db := single(t, testdb.SQLite(t), &oldGroup{})
	db.exec(t, "BEGIN", "INSERT INTO old_groups (name) VALUES ('a')")
	wantError(t, adopt.DropAutoIncrement(db.DB, &oldGroup{}), nil, "transaction")
	db.exec(t, "COMMIT")
	equal(t, "rows", db.count(t, "old_groups", ""), 1)
}

func TestDropAutoIncrementNeedsAHandleWithoutTransaction(t *testing.T) {
	for _, open := range unlike {
		db := plain(t, open(t), &oldGroup{})
		before := db.state(t)
		err := db.Transaction(func(tx *gorm.DB) error { return adopt.DropAutoIncrement(tx, &oldGroup{}) })
		wantError(t, err, adopt.ErrAutoIncrementKept, "transaction")
		equal(t, "state", db.state(t), before)
	}
}

func TestDropAutoIncrementFindsAColumnInAnotherCase(t *testing.T) {
	type upper struct {
		ID uint `gorm:"column:ID"`
	}
	for _, open := range unlike {
		db := plain(t, open(t), &oldGroup{})
		before := db.state(t)
		must(t, adopt.DropAutoIncrement(db.Table("old_groups"), &upper{}))
		equal(t, "state", db.state(t), before.adopted())
	}
}

func TestARefusalNamesItsReasonAndChangesNothing(t *testing.T) {
	for name, tt := range map[string]struct {
		open         func(testing.TB) testdb.Target
		create, text string
		kept         error // nil for an error of the database
	}{
		"a default that is not a sequence": {
			testdb.Postgres, "CREATE TABLE old_lines (id bigint PRIMARY KEY DEFAULT (random() * 1000)::bigint)",
			"its default is not a sequence but ", adopt.ErrAutoIncrementKept,
		},
		"a sequence that serves another column": {
			testdb.Postgres, "CREATE TABLE old_lines (id bigserial PRIMARY KEY);" +
				"CREATE TABLE other (n bigint DEFAULT nextval('old_lines_id_seq'))",
			"old_lines_id_seq also serves other.n", adopt.ErrAutoIncrementKept,
		},
		"a view on a column to be widened": {
			testdb.Postgres, "CREATE TABLE old_lines (id serial PRIMARY KEY); CREATE VIEW v AS SELECT id FROM old_lines",
			"used by a view", nil,
		},
		"a foreign key that forbids to widen": {
			testdb.MariaDB, "CREATE TABLE old_lines (id int AUTO_INCREMENT PRIMARY KEY);" +
				"CREATE TABLE refers (line_id int, CONSTRAINT to_line FOREIGN KEY (line_id) REFERENCES old_lines (id))",
			"refers.to_line", adopt.ErrAutoIncrementKept,
		},
		"a default of MariaDB": {
			testdb.MariaDB, "CREATE SEQUENCE s; CREATE TABLE old_lines (id bigint PRIMARY KEY DEFAULT (NEXT VALUE FOR s))",
			"nextval(", adopt.ErrAutoIncrementKept,
		},
	} {
		t.Run(name, func(t *testing.T) {
			target := tt.open(t)
			if strings.Contains(tt.create, "NEXT VALUE") {
				target.NeedMariaDB(t, "CREATE SEQUENCE")
			}
			db := single(t, target, &oldGroup{})
			db.exec(t, strings.Split(tt.create, ";")...)
			before := db.state(t)
			wantError(t, adopt.DropAutoIncrement(db.DB, &oldGroup{}, &oldLine{}), tt.kept, tt.text)
			equal(t, "state", db.state(t), before)
		})
	}
}
