package compat_test

import (
	"fmt"
	"strings"
	"testing"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"
	"gorm.io/sharding"

	"github.com/sqlflake/sqlflake/gormplugin"
	"github.com/sqlflake/sqlflake/internal/testdb"
	"github.com/sqlflake/sqlflake/snowflake"
)

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
