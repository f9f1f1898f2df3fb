package gormplugin_test

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"fmt"
	"math"
	"slices"
	"testing"
	"time"

	"gorm.io/driver/sqlite"
	"gorm.io/gorm"
	"gorm.io/gorm/logger"

	"github.com/sqlflake/sqlflake/gormplugin"
	"github.com/sqlflake/sqlflake/internal/testdb"
	"github.com/sqlflake/sqlflake/snowflake"
)

// flat is a small model without times, so that as little as possible hides the plugin.
type flat struct {
	ID   snowflake.ID `gorm:"primaryKey;type:int"`
	Name string
	Size int
}

// BenchmarkCreate compares a create in memory with the plugin to one whose keys were set before. They take turns, so
// that a busy machine slows both. The metric is the ratio of the medians.
func BenchmarkCreate(b *testing.B) {
	for _, n := range []int{1, 100} {
		b.Run(fmt.Sprintf("records=%d", n), func(b *testing.B) {
			gen := newCounting()
			gen.quiet = true
			with, without := inMemory(b, gormplugin.New(gen)), inMemory(b)
			next := firstID
			var a, z []time.Duration
			for turn := 0; b.Loop(); turn++ {
				unset, set := make([]flat, n), make([]flat, n)
				for i := range set {
					set[i] = flat{ID: next}
					next++
				}

				if turn%2 == 0 { // who goes first has the colder caches
					a = append(a, timed(b, with, &unset))
				}

				z = append(z, timed(b, without, &set))
				if turn%2 == 1 {
					a = append(a, timed(b, with, &unset))
				}
			}

			slices.Sort(a)
			slices.Sort(z)
			b.ReportMetric(float64(a[len(a)/2])/float64(z[len(z)/2]), "with/without")
			b.ReportMetric(0, "ns/op")
		})
	}
}

func inMemory(b *testing.B, opts ...gorm.Option) *gorm.DB {
	b.Helper()
	config := &gorm.Config{Logger: logger.Discard, PrepareStmt: true}
	db, err := gorm.Open(sqlite.Open(":memory:"), append(opts, config)...)
	noError(b, err)
	pool, err := db.DB()
	noError(b, err)
	pool.SetMaxOpenConns(1)
	b.Cleanup(func() { _ = pool.Close() })
	noError(b, db.AutoMigrate(&flat{}))
	return db
}

func timed(b *testing.B, db *gorm.DB, value any) time.Duration {
	b.Helper()
	start := time.Now()
	must(b, db.Create(value))
	return time.Since(start)
}

// fillCallback returns the callback that fills keys, and a statement for it to work on, as GORM hands them over.
func fillCallback(tb testing.TB, gen gormplugin.Generator, value any) (fill func(*gorm.DB), db *gorm.DB) {
	tb.Helper()
	e := on(tb, testdb.SQLite(tb))
	noError(tb, e.Use(gormplugin.New(gen)))
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
			fill, db := fillCallback(t, &counting{next: firstID, quiet: true}, c.value)
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
	without := on(t, with.target)
	allocations := func(db *gorm.DB) float64 {
		db = db.WithContext(t.Context())
		db.Statement.ConnPool = silent{db.ConnPool}
		least := math.Inf(1)
		for range 1000 { // under the race detector a sync.Pool drops some of what it gets
			least = min(least, testing.AllocsPerRun(1, func() {
				must(t, db.Model(&whole{ID: "a"}).Update("name", "b"))
				must(t, db.Create(&whole{ID: "a"}))
			}))
		}
		return least
	}

	equal(t, "allocations", allocations(with.DB), allocations(without.DB))
}

// silent is a database that stores nothing, for counts of what happens before it.
type silent struct{ gorm.ConnPool }

func (silent) ExecContext(context.Context, string, ...any) (sql.Result, error) {
	return driver.RowsAffected(1), nil
}

func TestAWarningThatWasGivenCostsNothing(t *testing.T) {
	type row struct {
		ID   uint
		Name string
	}
	_, db := fillCallback(t, newCounting(), &row{})
	warn := db.Callback().Create().Get("snowflake:warn")
	warn(db)
	equal(t, "allocations", testing.AllocsPerRun(20, func() { warn(db) }), 0)
}
