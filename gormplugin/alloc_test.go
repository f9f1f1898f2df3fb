package gormplugin_test

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"math"
	"testing"

	"gorm.io/gorm"
	"gorm.io/gorm/logger"

	"github.com/sqlflake/sqlflake/gormplugin"
	"github.com/sqlflake/sqlflake/internal/testdb"
	"github.com/sqlflake/sqlflake/internal/testdb/gormdb"
)

// fillCallback returns the callback that fills keys, and a statement for it to work on, as GORM hands them over.
func fillCallback(tb testing.TB, gen gormplugin.Generator, value any) (fill func(*gorm.DB), db *gorm.DB) {
	tb.Helper()
	e, err := gorm.Open(gormdb.Dialector(testdb.SQLite(tb)), &gorm.Config{Logger: logger.Discard}, gormplugin.New(gen))
	noError(tb, err)
	closeAtEnd(tb, e)
	noError(tb, e.Callback().Create().Replace("gorm:create", func(tx *gorm.DB) { db = tx }))
	must(tb, e.Create(value))
	return e.Callback().Create().Get("snowflake:fill"), db
}

func TestFillAllocatesFewTimesForAStatement(t *testing.T) {
	one, many, pointers := &flat{}, make([]flat, 1000), make([]*flat, 1000)
	for i := range pointers {
		pointers[i] = &flat{}
	}
	for name, c := range map[string]struct {
		value any
		reset func()
		want  float64
	}{
		"one record":   {one, func() { one.ID = 0 }, 1},
		"1000 records": {&many, func() { clear(many) }, 2},
		"1000 pointers": {pointers, func() {
			for _, record := range pointers {
				record.ID = 0
			}
		}, 2},
		"nothing to fill": {&flat{ID: 5}, func() {}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			fill, db := fillCallback(t, &bare{}, c.value)
			got := testing.AllocsPerRun(20, func() {
				c.reset()
				fill(db)
				for _, name := range []string{"snowflake:rewrite", "snowflake:resolve", "snowflake:finish"} {
					db.Callback().Create().Get(name)(db)
				}
			})
			equal(t, "allocations", got, c.want)
		})
	}
}

func TestModelsWithoutFieldsToFillCostNothing(t *testing.T) {
	type part struct {
		Name    string `gorm:"primaryKey"`
		WholeID string
	}
	type whole struct {
		ID     string `gorm:"primaryKey"`
		Name   string
		Parts  []part
		Others []part `gorm:"many2many:others"`
	}
	with := onSQLite(t)
	without, err := gorm.Open(gormdb.Dialector(with.target), &gorm.Config{Logger: with.log})
	noError(t, err)
	closeAtEnd(t, without)
	allocations := func(db *gorm.DB) float64 {
		db = db.WithContext(t.Context())
		db.Statement.ConnPool = silent{db.ConnPool}
		least := math.Inf(1)
		for range 10 { // under the race detector a sync.Pool drops some of what it gets
			least = min(least, testing.AllocsPerRun(20, func() {
				must(t, db.Model(&whole{ID: "a"}).Update("name", "b"))
				must(t, db.Create(&whole{ID: "a"}))
			}))
		}
		return least
	}
	equal(t, "allocations", allocations(with.DB), allocations(without))
}

// silent is a database that stores nothing, for counts of what happens before it.
type silent struct{ gorm.ConnPool }

func (silent) ExecContext(context.Context, string, ...any) (sql.Result, error) {
	return driver.RowsAffected(1), nil
}
