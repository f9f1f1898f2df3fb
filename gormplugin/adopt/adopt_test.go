package adopt_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"gorm.io/gorm"

	"github.com/sqlflake/sqlflake/gormplugin"
	"github.com/sqlflake/sqlflake/gormplugin/adopt"
	"github.com/sqlflake/sqlflake/gormplugin/gormtest"
	"github.com/sqlflake/sqlflake/internal/testdb"
	"github.com/sqlflake/sqlflake/internal/testdb/gormdb"
	"github.com/sqlflake/sqlflake/snowflake"
)

func TestDropAutoIncrementRemovesTheCounterAndNothingElse(t *testing.T) {
	eachPlain(t, func(t *testing.T, db *env) {
		db.fillOld(t)
		rows := db.rows(t, oldTables...)
		definitions, counted := db.definitions(t)
		equal(t, "counters before", len(counted), 4)

		db.drop(t, oldModels()...)
		after, counted := db.definitions(t)
		equal(t, "counters", len(counted), 0)
		equal(t, "rows", db.rows(t, oldTables...), rows)
		equal(t, "definitions", after, definitions)
		db.log.take()
		db.drop(t, oldModels()...)
		for _, statement := range db.log.take() {
			if word := strings.Fields(statement)[0]; !slices.Contains([]string{"SELECT", "WITH", "SHOW"}, word) {
				t.Errorf("the second call ran %s", statement)
			}
		}
		for _, table := range oldTables {
			if table != "old_user_groups" {
				equal(t, table+".id", db.column(t, table, "id").Made, false)
			}
		}

		db.wantRefused(t, "old_users", "INSERT INTO old_users (email) VALUES ('x')")
		db.wantRefused(t, "old_orders", "INSERT INTO old_orders (user_id, number) VALUES (1, 'x')")
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

func TestAutoMigrateDoesNotBringTheCounterBack(t *testing.T) {
	eachPlain(t, func(t *testing.T, db *env) {
		db.fillOld(t)
		db.drop(t, &oldUser{}, &newUser{}, &newOrder{}, &oldGroup{}, &oldLine{}) // one table twice, by its old and new model
		rows := db.rows(t, oldTables...)
		definitions, _ := db.definitions(t)
		for _, models := range [][]any{oldModels(), {&newUser{}, &newOrder{}}} {
			if err := db.AutoMigrate(models...); err != nil {
				t.Fatal(err)
			}
			after, counted := db.definitions(t)
			equal(t, "counters", len(counted), 0)
			equal(t, "definitions", after, definitions)
			equal(t, "rows", db.rows(t, oldTables...), rows)
		}
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
		before, _ := db.definitions(t)
		for _, tt := range []struct {
			model any
			want  error
			text  string
		}{
			{&missing{}, adopt.ErrNoTable, "missings"},
			{&narrow{}, adopt.ErrNoIntegerKey, "narrows.id: the field is of type int32"},
			{&named{}, adopt.ErrNoIntegerKey, "nameds.id: the column is of type"},
			{&pair{}, adopt.ErrNoIntegerKey, "pair"},
			{&keyless{}, adopt.ErrNoIntegerKey, "keyless"},
			{"text", nil, "unsupported data type"},
		} {
			err := adopt.DropAutoIncrement(db.DB, &oldGroup{}, tt.model)
			if err == nil || tt.want != nil && !errors.Is(err, tt.want) || !strings.Contains(err.Error(), tt.text) {
				t.Errorf("%T: error %v, want %v with %q", tt.model, err, tt.want, tt.text)
			}
		}
		err := adopt.DropAutoIncrement(db.Session(&gorm.Session{DryRun: true}), &oldGroup{})
		equal(t, "DryRun", errors.Is(err, gorm.ErrDryRunModeUnsupported), true)
		equal(t, "nil", errors.Is(adopt.DropAutoIncrement(nil, &oldGroup{}), gorm.ErrInvalidDB), true)
		equal(t, "no models", adopt.DropAutoIncrement(db.DB), nil)
		after, counted := db.definitions(t)
		equal(t, "definitions", after, before)
		equal(t, "counters", len(counted), 2)
	}, &oldGroup{}, &narrow{}, &named{}, &pair{}, &keyless{})
}

// Without WithMinID, Before would find all rows that the database made keys for.
func TestDropAutoIncrementRefusesAPluginWithoutTheLeastID(t *testing.T) {
	const oldKeys = 10_000_000
	type newGroup struct{ ID snowflake.ID }
	today, err := snowflake.NewLayout(time.Now().Add(-time.Hour), time.Millisecond, snowflake.Default().Fields()...)
	if err != nil {
		t.Fatal(err)
	}
	for _, layout := range []snowflake.Layout{snowflake.Default(), today} {
		eachPlain(t, func(t *testing.T, db *env) {
			must(t, db.Create([]oldGroup{{ID: 1}, {ID: 5_000_000}, {ID: oldKeys}, {ID: 1e12}})) // the last in the first hours
			gen, err := snowflake.New(1, snowflake.WithLayout(layout))
			if err != nil {
				t.Fatal(err)
			}
			for _, least := range []snowflake.ID{0, oldKeys, oldKeys + 1} {
				handle, err := gorm.Open(gormdb.Dialector(db.target), gormplugin.New(gen, gormplugin.WithMinID(least)))
				if err != nil {
					t.Fatal(err)
				}
				pool, err := handle.DB()
				if err != nil {
					t.Fatal(err)
				}
				t.Cleanup(func() { _ = pool.Close() })
				must(t, handle.Table("old_groups").Create(&newGroup{}))
				before := db.column(t, "old_groups", "id").Made
				err = adopt.DropAutoIncrement(handle, &oldGroup{}) // the old model, which the plugin does not fill
				if least <= oldKeys {
					equal(t, "changed", db.column(t, "old_groups", "id").Made, before)
					if !errors.Is(err, adopt.ErrAutoIncrementKept) || !strings.Contains(err.Error(), "WithMinID(10000001)") {
						t.Errorf("least ID %d: error %v, want ErrAutoIncrementKept with the least ID", least, err)
					}
				} else if err != nil {
					t.Error(err)
				}
			}
		}, &oldGroup{})
	}

	// With more than 256 values above the time these conditions fail, and find no row.
	shards := snowflake.MustLayout(time.Now().Add(-time.Hour), time.Millisecond,
		snowflake.Field{Name: "shard", Bits: 9}, snowflake.Field{Name: "time", Bits: 41}, snowflake.Field{Name: "sequence", Bits: 13})
	db := plain(t, testdb.SQLite(t), &oldGroup{})
	if err := db.Use(gormplugin.New(gormtest.New(time.Now(), gormtest.WithLayout(shards)))); err != nil {
		t.Fatal(err)
	}
	must(t, db.Create(&oldGroup{}))
	equal(t, "error with many shards", adopt.DropAutoIncrement(db.DB, &oldGroup{}), nil)
}

func TestDropAutoIncrementWorksOnPreparedStatements(t *testing.T) {
	eachPlain(t, func(t *testing.T, db *env) {
		prepared := db.Session(&gorm.Session{PrepareStmt: true})
		must(t, prepared.Create(&oldGroup{Name: "a"}))
		if err := adopt.DropAutoIncrement(prepared, &oldGroup{}); err != nil {
			t.Fatal(err)
		}
		must(t, prepared.Create(&oldGroup{ID: 5, Name: "b"}))
		_, counted := db.definitions(t)
		equal(t, "counters", len(counted), 0)
		equal(t, "rows", db.count(t, "old_groups", ""), 2)
	}, &oldGroup{})
}

func TestConcurrentRowsAreKept(t *testing.T) {
	eachPlain(t, func(t *testing.T, db *env) {
		db.fillOld(t)
		stop, written := make(chan struct{}), make(chan uint64)
		started := make(chan struct{})
		go func() {
			id := uint64(firstID)
			defer func() { written <- id }()
			for n := 0; ; n++ {
				select {
				case <-stop:
					return
				default:
				}
				if err := db.Create(&oldGroup{ID: id, Name: "new"}).Error; err != nil {
					t.Error(err)
					return
				}
				id++
				if n == 10 {
					close(started)
				}
			}
		}()
		<-started
		err := adopt.DropAutoIncrement(db.DB, oldModels()...)
		close(stop)
		last := <-written
		if err != nil {
			t.Fatal(err)
		}
		equal(t, "new rows", db.count(t, "old_groups", "id >= ?", firstID), int64(last-uint64(firstID)))
		equal(t, "old rows", db.count(t, "old_groups", "id < ?", firstID), 30)
		_, counted := db.definitions(t)
		equal(t, "counters", len(counted), 0)
	}, oldModels()...)
}
