package main

import (
	"context"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"gorm.io/gorm"
	"gorm.io/gorm/logger"

	"github.com/sqlflake/sqlflake/gormplugin"
	"github.com/sqlflake/sqlflake/internal/exampletest"
	"github.com/sqlflake/sqlflake/internal/testdb"
	"github.com/sqlflake/sqlflake/internal/testdb/gormdb"
	"github.com/sqlflake/sqlflake/snowflake"
)

// fillNewKeys makes a new key for each old user, from the time of its creation.
func fillNewKeys(ctx context.Context, db *gorm.DB, plugin *gormplugin.Plugin) error {
	const worker = 1023 // no process has had it, and after Reserve none will
	if err := plugin.Lease().Reserve(ctx, worker, "old users"); err != nil {
		return err
	}

	var users []struct {
		ID        int64
		CreatedAt time.Time
	}
	old := db.WithContext(ctx).Table("users").Where("id < ?", plugin.MinID())
	if err := old.Order("created_at, id").Find(&users).Error; err != nil {
		return err
	}

	layout := plugin.Lease().Generator().Layout()
	key := snowflake.Parts{Worker: worker}
	keys := make([]struct{ OldID, NewID int64 }, len(users))
	for i, user := range users {
		created := user.CreatedAt.Truncate(layout.Tick())
		switch {
		case created.After(key.Time):
			key.Time, key.Sequence = created, 0
		case key.Sequence < layout.MaxSequence():
			key.Sequence++
		default: // more users than a tick has IDs
			key.Time, key.Sequence = key.Time.Add(layout.Tick()), 0
		}

		id, err := layout.Compose(key)
		if err != nil {
			return fmt.Errorf("user %d: %w", user.ID, err)
		}
		keys[i].OldID, keys[i].NewID = user.ID, int64(id)
	}
	return db.WithContext(ctx).Table("users_new_keys").CreateInBatches(keys, 1000).Error
}

// newKeysSQL are the statements of the page, from which SQLite leaves out what it does not know.
func newKeysSQL(t *testing.T, target string) (create string, rewrite []string) {
	t.Helper()
	page, err := os.ReadFile("../../../docs/takeover.md")
	exampletest.Must(t, err)
	_, section, _ := strings.Cut(string(page), "## New keys for old rows")
	blocks := strings.Split(section, "```sql\n")
	create, _, _ = strings.Cut(blocks[1], "```")
	text, _, _ := strings.Cut(blocks[2], "```")
	for statement := range strings.SplitSeq(text, ";") {
		statement = strings.TrimSpace(statement)
		switch {
		case statement == "", target == "sqlite" && strings.HasPrefix(statement, "ALTER"):
		case target == "sqlite" && statement == "BEGIN":
			rewrite = append(rewrite, statement, "PRAGMA defer_foreign_keys = ON")
		default:
			rewrite = append(rewrite, statement)
		}
	}

	return create, rewrite
}

func TestTheStatementsOfThePageGiveOldRowsNewKeys(t *testing.T) {
	testdb.Each(t, func(t *testing.T, target testdb.Target) {
		db, err := gorm.Open(gormdb.Dialector(target), &gorm.Config{Logger: logger.Discard})
		exampletest.Must(t, err)
		exampletest.Must(t, db.AutoMigrate(&user{}, &order{}))
		day := time.Date(2025, 7, 1, 12, 0, 0, 0, time.UTC)
		for i := range 3 { // the last one is the oldest, and has i orders
			old := user{Model: gorm.Model{CreatedAt: day.AddDate(0, 0, -i)}, Orders: make([]order, i)}
			exampletest.Must(t, db.Create(&old).Error)
		}
		exampletest.Must(t, db.Delete(&user{}, 1).Error)
		plugin, err := gormplugin.Open(t.Context(), db, gormplugin.WithMinID(1_000_000_000_000))
		exampletest.Must(t, err)
		defer func() { exampletest.Must(t, plugin.Close(t.Context())) }()
		exampletest.Must(t, db.Create(&User{Orders: make([]Order, 1)}).Error)

		create, rewrite := newKeysSQL(t, target.Name)
		exampletest.Must(t, db.Exec(create).Error)
		exampletest.Must(t, fillNewKeys(t.Context(), db, plugin))
		for range 2 { // a second time changes nothing
			exampletest.Must(t, db.Connection(func(conn *gorm.DB) error {
				for _, statement := range rewrite {
					exampletest.Must(t, conn.Exec(statement).Error)
				}
				return nil
			}))
		}

		for i := range 3 {
			from := day.AddDate(0, 0, -i)
			var users []User
			created := gormplugin.CreatedBetween(from, from.Add(time.Second))
			exampletest.Must(t, db.Unscoped().Preload("Orders").Where(created).Find(&users).Error)
			if len(users) != 1 || len(users[0].Orders) != i || !users[0].CreatedAt.Equal(from) {
				t.Errorf("users of %s: %+v, want one with %d orders", from, users, i)
			}
		}
		var rows, stray int64
		exampletest.Must(t, db.Unscoped().Model(&User{}).Count(&rows).Error)
		exampletest.Must(t, db.Unscoped().Model(&Order{}).Where("user_id < ?", plugin.MinID()).Count(&stray).Error)
		if rows != 4 || stray != 0 {
			t.Errorf("%d users, %d orders with an old user, want 4 and 0", rows, stray)
		}
		if err := db.Exec("UPDATE orders SET user_id = 1").Error; err == nil {
			t.Error("the foreign key is lost")
		}
	})
}
