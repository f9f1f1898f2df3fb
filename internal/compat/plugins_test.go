package compat_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"
	"gorm.io/gorm/logger"
	"gorm.io/plugin/dbresolver"
	"gorm.io/sharding"

	"github.com/sqlflake/sqlflake/gormplugin"
	"github.com/sqlflake/sqlflake/internal/testdb"
	"github.com/sqlflake/sqlflake/internal/testdb/gormdb"
	"github.com/sqlflake/sqlflake/snowflake"
)

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func TestMain(m *testing.M) { os.Exit(testdb.Main(m)) }

type line struct {
	ID      snowflake.ID
	OrderID snowflake.ID
}

type order struct {
	gormplugin.Model
	Name  string
	Lines []line
}

// each runs f on every kind of database, with a function that creates more databases of that kind.
func each(t *testing.T, f func(t *testing.T, target testdb.Target, more func() testdb.Target)) {
	t.Helper()
	testdb.Each(t, func(t *testing.T, target testdb.Target) {
		open := map[string]func(testing.TB) testdb.Target{
			"sqlite": testdb.SQLite, "postgres": testdb.Postgres, "mariadb": testdb.MariaDB,
		}[target.Name]
		f(t, target, func() testdb.Target { return open(t) })
	})
}

// open returns a handle. It and the pools of its plugins are closed when the test ends.
func open(t *testing.T, target testdb.Target, config gorm.Config, plugins ...gorm.Plugin) *gorm.DB {
	t.Helper()
	config.Logger = logger.Discard
	db, err := gorm.Open(gormdb.Dialector(target), &config)
	must(t, err)
	t.Cleanup(func() { closePool(t, db.ConnPool) })

	for _, plugin := range plugins {
		must(t, db.Use(plugin))
		if resolver, ok := plugin.(*dbresolver.DBResolver); ok {
			t.Cleanup(func() {
				must(t, resolver.Call(func(pool gorm.ConnPool) error { closePool(t, pool); return nil }))
			})
		}
	}

	return db
}

func closePool(t *testing.T, pool gorm.ConnPool) {
	t.Helper()
	if prepared, ok := pool.(*gorm.PreparedStmtDB); ok {
		pool = prepared.ConnPool
	}

	if closer, ok := pool.(interface{ Close() error }); ok {
		must(t, closer.Close())
	}
}

func leased(t *testing.T, db *gorm.DB) *gormplugin.Plugin {
	t.Helper()
	keys, err := gormplugin.Open(t.Context(), db)
	must(t, err)
	t.Cleanup(func() { must(t, keys.Close(context.Background())) })

	return keys
}

// migrate creates the tables in a database, without plugins.
func migrate(t *testing.T, target testdb.Target, models ...any) {
	t.Helper()
	must(t, open(t, target, gorm.Config{}).AutoMigrate(models...))
}

// wantLeases checks whether the lease table is in the databases.
func wantLeases(t *testing.T, want bool, in ...testdb.Target) {
	t.Helper()
	for i, target := range in {
		if got := open(t, target, gorm.Config{}).Migrator().HasTable(leases); got != want {
			t.Errorf("leases in database %d of %d: %v, want %v", i, len(in), got, want)
		}
	}
}

// create creates an order with lines through the handle, and reads it from the database that should contain it.
func create(t *testing.T, db *gorm.DB, where testdb.Target) order {
	t.Helper()
	o := order{Name: "a", Lines: make([]line, 3)}
	must(t, db.Create(&o).Error)
	var found order
	if err := open(t, where, gorm.Config{}).Preload("Lines").First(&found, o.ID).Error; err != nil {
		t.Fatalf("the order %d is not in its database: %v", o.ID, err)
	}

	if o.ID == 0 || len(found.Lines) != 3 || o.Lines[0].ID == 0 {
		t.Errorf("created %+v, found %+v", o, found)
	}

	return o
}

const leases, namespaces = "snowflake_leases", "snowflake_namespaces"

func resolver(sources, replicas []testdb.Target, datas ...any) *dbresolver.DBResolver {
	return (&dbresolver.DBResolver{}).Register(config(sources, replicas), datas...)
}

func config(sources, replicas []testdb.Target) (c dbresolver.Config) {
	for _, target := range sources {
		c.Sources = append(c.Sources, gormdb.Dialector(target))
	}
	for _, target := range replicas {
		c.Replicas = append(c.Replicas, gormdb.Dialector(target))
	}
	return c
}

func targets(list ...testdb.Target) []testdb.Target { return list }

func TestKeysAreFilledWithAResolverInBothOrders(t *testing.T) {
	for _, c := range []gorm.Config{{}, {PrepareStmt: true}, {SkipDefaultTransaction: true}} {
		each(t, func(t *testing.T, source testdb.Target, more func() testdb.Target) {
			migrate(t, source, &order{}, &line{})
			gen, err := snowflake.New(5)
			must(t, err)
			r := func() gorm.Plugin { return resolver(nil, targets(more(), more())) }
			for _, plugins := range [][]gorm.Plugin{{r(), gormplugin.New(gen)}, {gormplugin.New(gen), r()}} {
				create(t, open(t, source, c, plugins...), source)
			}
		})
	}
}

func TestTheLeaseIsNotOnAReplica(t *testing.T) {
	for name, c := range map[string]gorm.Config{
		"plain": {}, "prepared": {PrepareStmt: true},
		"no transaction": {SkipDefaultTransaction: true},
	} {
		t.Run(name, func(t *testing.T) {
			each(t, func(t *testing.T, source testdb.Target, more func() testdb.Target) {
				replica := more()
				migrate(t, source, &order{}, &line{})
				migrate(t, replica, &order{}, &line{})
				db := open(t, source, c, resolver(nil, targets(replica)))
				keys := leased(t, db)
				wantLeases(t, false, replica)
				wantLeases(t, true, source)
				o := create(t, db, source)

				if err := db.First(&order{}, o.ID).Error; !errors.Is(err, gorm.ErrRecordNotFound) {
					t.Errorf("reading from the replica: %v, want ErrRecordNotFound", err)
				}
				must(t, db.Transaction(func(tx *gorm.DB) error { return tx.Create(&order{Name: "b"}).Error }))
				must(t, keys.Close(t.Context()))
			})
		})
	}
}

func TestTheLeaseIsInTheSourceOfTheResolver(t *testing.T) {
	each(t, func(t *testing.T, main testdb.Target, more func() testdb.Target) {
		source, replica := more(), more()
		migrate(t, source, &order{}, &line{})
		db := open(t, main, gorm.Config{}, resolver(targets(source), targets(replica)))
		leased(t, db)
		wantLeases(t, true, source)
		wantLeases(t, false, main, replica)
		create(t, db, source)
	})
}

func TestAResolverRegisteredLaterLeavesTheLeaseWhereItIs(t *testing.T) {
	each(t, func(t *testing.T, main testdb.Target, more func() testdb.Target) {
		source := more()
		migrate(t, source, &order{}, &line{})
		db := open(t, main, gorm.Config{})
		leased(t, db)
		must(t, db.Use(resolver(targets(source), nil)))
		wantLeases(t, true, main)
		wantLeases(t, false, source)
		create(t, db, source)
	})
}

func TestSeveralSourcesAreRefused(t *testing.T) {
	each(t, func(t *testing.T, main testdb.Target, more func() testdb.Target) {
		a, b, own := more(), more(), more()
		for name, policy := range map[string]dbresolver.Policy{
			"random": dbresolver.RandomPolicy{}, "in turn": dbresolver.RoundRobinPolicy(),
			"strictly in turn": dbresolver.StrictRoundRobinPolicy(),
		} {
			c := config(targets(a, b), nil)
			c.Policy = policy
			db := open(t, main, gorm.Config{PrepareStmt: true}, (&dbresolver.DBResolver{}).Register(c))
			if _, err := gormplugin.Open(t.Context(), db); !errors.Is(err, gorm.ErrInvalidDB) ||
				!strings.Contains(err.Error(), "several databases") {
				t.Errorf("%s: Open: %v, want an error that says so", name, err)
			}
		}

		wantLeases(t, false, main, a, b)
		db := open(t, main, gorm.Config{}, (&dbresolver.DBResolver{}).Register(config(targets(a, b), nil)).
			Register(config(targets(own), nil), leases, namespaces))
		leased(t, db)
		wantLeases(t, true, own)
	})
}

func TestAHandleThatUsesAResolverLeasesThere(t *testing.T) {
	target, second := testdb.SQLite(t), testdb.SQLite(t)
	db := open(t, target, gorm.Config{}, resolver(targets(second), nil, "second"))
	leased(t, db.Clauses(dbresolver.Use("second")).Session(&gorm.Session{}))
	wantLeases(t, true, second)
	wantLeases(t, false, target)
}

// purchase is in its own table for each shard. gorm.io/sharding finds rows by keys of the type int64 only.
type purchase struct {
	ID     int64 `gorm:"primaryKey;autoIncrement:false;snowflake"`
	UserID int64 `gorm:"uniqueIndex"`
	Note   string
}

// sharded returns a handle with two tables for purchases, and the plugin that chooses between them.
func sharded(t *testing.T, config gorm.Config) (*gorm.DB, *sharding.Sharding) {
	t.Helper()
	db := open(t, testdb.SQLite(t), config)
	for shard := range 2 {
		must(t, db.Exec(fmt.Sprintf("CREATE TABLE purchases_%d (id bigint PRIMARY KEY, user_id bigint UNIQUE, note text)", shard)).Error)
	}

	return db, sharding.Register(sharding.Config{
		ShardingKey: "user_id", NumberOfShards: 2,
		PrimaryKeyGenerator:   sharding.PKCustom,
		PrimaryKeyGeneratorFn: func(int64) int64 { return 0 }, // the record has its key
	}, "purchases")
}

func TestKeysAreFilledBesideShardingInBothOrders(t *testing.T) {
	for _, leaseFirst := range []bool{true, false} {
		db, shards := sharded(t, gorm.Config{})
		if leaseFirst {
			leased(t, db)
			must(t, db.Use(shards))
		} else {
			must(t, db.Use(shards))
			leased(t, db)
		}

		for user := range int64(4) {
			p := purchase{UserID: user + 1}
			must(t, db.Create(&p).Error)
			must(t, db.Model(&p).Where("user_id = ?", p.UserID).Update("note", "x").Error)
			var found purchase
			must(t, db.Where("user_id = ? AND id > ?", p.UserID, p.ID-1).First(&found).Error)

			if found != (purchase{p.ID, user + 1, "x"}) || p.ID == 0 {
				t.Errorf("created %+v, found %+v", p, found)
			}

			var n int64
			must(t, db.Table(fmt.Sprintf("purchases_%d", p.UserID%2)).Where("id = ?", p.ID).Count(&n).Error)
			if n != 1 {
				t.Errorf("%d rows in the table of the shard", n)
			}
		}

		_, err := gormplugin.TableOf(t.Context(), db, &purchase{})
		must(t, err)
		err = db.Transaction(func(tx *gorm.DB) error {
			if _, err := gormplugin.TableOf(t.Context(), tx, &purchase{}); err == nil {
				t.Error("TableOf in a transaction: no error")
			}
			return tx.Create(&purchase{UserID: 9}).Error
		})
		must(t, err)
	}
}

// gorm.io/sharding runs no default transactions, and no query for several records.
func TestUpsertsBesideShardingLoseNoKey(t *testing.T) {
	db, shards := sharded(t, gorm.Config{})
	gen, err := snowflake.New(6)
	must(t, err)
	must(t, db.Use(gormplugin.New(gen)))
	must(t, db.Use(shards))
	first := purchase{UserID: 2}
	must(t, db.Create(&first).Error)
	nothing := clause.OnConflict{DoNothing: true}
	skipped := purchase{UserID: 2}
	must(t, db.Clauses(nothing).Create(&skipped).Error)

	several := []purchase{{UserID: 2}, {UserID: 4}}
	err = db.Clauses(nothing).Create(&several).Error
	if err == nil || !strings.Contains(err.Error(), "DO NOTHING") {
		t.Errorf("a skipped record among several: %v", err)
	}

	var stored purchase
	must(t, db.Take(&stored, "user_id = ?", int64(4)).Error)

	upsert := clause.OnConflict{
		Columns:   []clause.Column{{Name: "user_id"}},
		DoUpdates: clause.AssignmentColumns([]string{"note"}),
	}
	updated := []purchase{{UserID: 2, Note: "a"}, {UserID: 6, Note: "b"}}
	must(t, db.Clauses(upsert).Create(&updated).Error)

	if skipped.ID != 0 || several[1].ID != stored.ID || updated[0].ID != first.ID {
		t.Errorf("skipped %v; %v, stored %v; updated %v, first %v", skipped, several, stored, updated, first)
	}
}
