package adopt_test

import (
	"context"
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

func TestDropAutoIncrementRemovesTheCounterAndNothingElse(t *testing.T) {
	eachPlain(t, func(t *testing.T, db *env) {
		db.fillOld(t)
		before := db.state(t)
		equal(t, "counters before", strings.Count(before.counters, "old_") >= 4, true)
		db.pool.SetMaxOpenConns(1) // a second connection would deadlock
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		must(t, db.WithContext(ctx).Connection(func(tx *gorm.DB) error {
			return adopt.DropAutoIncrement(tx, append(oldModels(), &newUser{})...) // one table twice, by its old and new model
		}))

		equal(t, "state", db.state(t), db.adopted(before))
		ran := 0
		must(t, db.Callback().Raw().Register("test:count", func(*gorm.DB) { ran++ }))
		db.drop(t, oldModels()...)
		equal(t, "statements of the second call", ran, 0)
		for _, models := range [][]any{oldModels(), {&newUser{}, &newOrder{}}} { // brings no counter back
			must(t, db.AutoMigrate(models...))
			equal(t, "state", db.state(t), db.adopted(before))
		}

		db.wantRefused(t, "old_users", "email", "'x'")
		db.wantRefused(t, "old_orders", "user_id, number", "1, 'x'")
		for _, refused := range []string{
			"INSERT INTO old_orders (id, user_id, number) VALUES (900, 777, 'x')", // no such user
			"INSERT INTO old_orders (id, user_id, number) VALUES (900, 1, '0')",   // the number exists
			"INSERT INTO old_orders (id, user_id, cents, number) VALUES (900, 1, -1, 'x')",
			"INSERT INTO old_users (id, email) VALUES (1, 'x')",
			"UPDATE old_users SET boss_id = 777 WHERE id = 1",
			"DELETE FROM old_groups WHERE id = 1",
		} {
			if err := db.Exec(refused).Error; err == nil {
				t.Errorf("%s: want an error", refused)
			}
		}

		db.exec(t, "DELETE FROM old_user_groups WHERE user_id = 30", "DELETE FROM old_users WHERE id = 30")
		equal(t, "orders of a deleted user", db.count(t, "old_orders", "user_id = 30"), 0)
	}, oldModels()...)
}

func TestDropAutoIncrementRefusesBeforeItChanges(t *testing.T) {
	type missing struct{ ID uint }
	type narrow struct{ ID int32 }
	type named struct {
		ID string `gorm:"size:20"`
	}

	type pair struct {
		A uint `gorm:"primaryKey;autoIncrement:false"`
		B uint `gorm:"primaryKey;autoIncrement:false"`
	}

	type keyless struct{ Name string }
	eachPlain(t, func(t *testing.T, db *env) {
		before := db.state(t)
		for _, tt := range []struct {
			db    *gorm.DB
			model any
			want  error
			text  string
		}{
			{db.DB, &missing{}, adopt.ErrNoTable, "missings"},
			{db.DB, &narrow{}, adopt.ErrNoIntegerKey, "narrows.id: the field is of type int32"},
			{db.DB, &named{}, adopt.ErrNoIntegerKey, "nameds.id: the column is of type"},
			{db.Table("keylesses"), &missing{}, adopt.ErrNoIntegerKey, "keylesses.id: the table has no such column"},
			{db.DB, &pair{}, adopt.ErrNoIntegerKey, "pair"},
			{db.DB, &keyless{}, adopt.ErrNoIntegerKey, "keyless"},
			{db.DB, "text", nil, "unsupported data type"},
			{db.Table("old_groups AS g"), &oldGroup{}, adopt.ErrNoTable, "want a table name"},
			{db.Table("(?) AS old_groups", db.Model(&oldGroup{})), &oldGroup{}, adopt.ErrNoTable, "want a table name"},
			{db.Session(&gorm.Session{DryRun: true}), &oldGroup{}, gorm.ErrDryRunModeUnsupported, ""},
			{nil, &oldGroup{}, gorm.ErrInvalidDB, ""},
		} {
			models := []any{&oldGroup{}, tt.model}
			if tt.db != db.DB {
				models = models[1:]
			}
			wantError(t, adopt.DropAutoIncrement(tt.db, models...), tt.want, tt.text)
		}

		must(t, adopt.DropAutoIncrement(db.DB))
		equal(t, "state", db.state(t), before)
	}, &oldGroup{}, &narrow{}, &named{}, &pair{}, &keyless{})
}

// Without WithMinID, Before would find all rows that the database made keys for.
func TestDropAutoIncrementRefusesAPluginWithoutTheLeastID(t *testing.T) {
	const oldKeys = 10_000_000
	type newGroup struct{ ID snowflake.ID }
	open := func(t *testing.T, target testdb.Target, layout snowflake.Layout, opts ...gormplugin.Option) *env {
		db := plain(t, target, &oldGroup{})
		db.use(t, layout, opts...)
		must(t, db.Table("old_groups").Create(&newGroup{}).Error)
		return db
	}
	layout := func(fields ...snowflake.Field) snowflake.Layout {
		return snowflake.MustLayout(time.Now().Add(-time.Hour), time.Millisecond, fields...)
	}
	for _, layout := range []snowflake.Layout{snowflake.Default(), layout(snowflake.Default().Fields()...)} {
		eachPlain(t, func(t *testing.T, db *env) {
			must(t, db.Create([]oldGroup{{ID: 1}, {ID: 5_000_000}, {ID: oldKeys}, {ID: 1e12}}).Error) // the last in the first hours
			for _, least := range []snowflake.ID{0, oldKeys} {
				db := open(t, db.target, layout, gormplugin.WithMinID(least))
				before := db.state(t)
				err := adopt.DropAutoIncrement(db.DB, &oldGroup{}) // the old model, which the plugin does not fill
				wantError(t, err, adopt.ErrAutoIncrementKept, "WithMinID(10000001)")
				equal(t, "state", db.state(t), before)
			}
			open(t, db.target, layout, gormplugin.WithMinID(oldKeys+1)).drop(t, &oldGroup{})
		}, &oldGroup{})
	}

	// With more than 256 values above the time these conditions fail, and find no row.
	shards := layout(snowflake.Field{Name: "shard", Bits: 9}, snowflake.Field{Name: "time", Bits: 41},
		snowflake.Field{Name: "sequence", Bits: 13})
	open(t, testdb.SQLite(t), shards).drop(t, &oldGroup{})
}

type oddTable struct {
	ID   uint
	Name string
}

func (oddTable) TableName() string { return "Order Lines Ü" }

func TestDropAutoIncrementTakesTableNamesWithSpacesAndUmlauts(t *testing.T) {
	eachPlain(t, func(t *testing.T, db *env) {
		must(t, db.Create(&oddTable{Name: "a"}).Error)
		db.use(t, snowflake.Default(), gormplugin.WithMinID(2))
		before := db.state(t)
		db.drop(t, &oddTable{})
		equal(t, "state", db.state(t), db.adopted(before))
	}, &oddTable{})
}

// The default schema has a table of the same name.
func TestDropAutoIncrementKeepsToTheSchema(t *testing.T) {
	for _, server := range []struct {
		open                     func(testing.TB) testdb.Target
		schema, destroy, keyType string
	}{
		{testdb.Postgres, "SCHEMA", " CASCADE", "bigserial"},
		{testdb.MariaDB, "DATABASE", "", "bigint AUTO_INCREMENT"},
	} {
		db := plain(t, server.open(t))
		other := db.schema(t) + "_other"
		const table = "CREATE TABLE %sold_groups (id %s PRIMARY KEY, name text)"
		db.exec(t, "CREATE "+server.schema+" "+other, fmt.Sprintf(table, "", server.keyType), fmt.Sprintf(table, other+".", server.keyType))
		t.Cleanup(func() {
			_, err := db.target.Open(t).Exec("DROP " + server.schema + " " + other + server.destroy)
			must(t, err)
		})

		before := db.state(t)
		must(t, adopt.DropAutoIncrement(db.Table(other+".old_groups"), &oldGroup{}))
		equal(t, "the table that was not named", db.state(t), before)
		if err := db.Exec("INSERT INTO " + other + ".old_groups (name) VALUES ('x')").Error; err == nil {
			t.Error("the named table still makes keys")
		}
	}
}

// A plugin replaces the pool of each statement outside of transactions, as dbresolver does.
func TestAResolverDoesNotSendStatementsElsewhere(t *testing.T) {
	db := plain(t, testdb.MariaDB(t), oldModels()...)
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

func TestDropAutoIncrementNeedsNoTransactionAndNotTheCaseOfTheColumn(t *testing.T) {
	type upper struct {
		ID uint `gorm:"column:ID"`
	}
	db := plain(t, testdb.MariaDB(t), &oldGroup{})
	before := db.state(t)
	err := db.Transaction(func(tx *gorm.DB) error { return adopt.DropAutoIncrement(tx, &oldGroup{}) })
	wantError(t, err, adopt.ErrAutoIncrementKept, "transaction")
	equal(t, "state", db.state(t), before)
	must(t, adopt.DropAutoIncrement(db.Table("old_groups"), &upper{}))
	equal(t, "state", db.state(t), db.adopted(before))
}

func TestARefusalNamesItsReasonAndChangesNothing(t *testing.T) {
	for name, tt := range map[string]struct {
		open         func(testing.TB) testdb.Target
		create, text string
		want         error
	}{
		"a default that is not a sequence": {
			testdb.Postgres, "CREATE TABLE old_lines (id bigint PRIMARY KEY DEFAULT (random() * 1000)::bigint)",
			"its default is not a sequence but ", adopt.ErrAutoIncrementKept,
		},
		"32 bits of PostgreSQL": {
			testdb.Postgres, "CREATE TABLE old_lines (id serial PRIMARY KEY)",
			"old_lines.id: the column is of type integer", adopt.ErrNoIntegerKey,
		},
		"32 bits of MariaDB": {
			testdb.MariaDB, "CREATE TABLE old_lines (id int AUTO_INCREMENT PRIMARY KEY)",
			"old_lines.id: the column is of type int", adopt.ErrNoIntegerKey,
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
			wantError(t, adopt.DropAutoIncrement(db.DB, &oldGroup{}, &oldLine{}), tt.want, tt.text)
			equal(t, "state", db.state(t), before)
		})
	}
}
