package gormplugin_test

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"gorm.io/driver/sqlite"
	"gorm.io/gorm"
	"gorm.io/gorm/logger"

	"github.com/sqlflake/sqlflake/gormplugin"
	"github.com/sqlflake/sqlflake/snowflake"
)

// flat is a small model without times, so that as little as possible hides the plugin.
type flat struct {
	ID   snowflake.ID `gorm:"primaryKey;type:int"`
	Name string
	Size int
}

// bare is a generator that costs next to nothing.
type bare struct{ next snowflake.ID }

func (b *bare) Fill(_ context.Context, dst []snowflake.ID) error {
	for i := range dst {
		b.next++
		dst[i] = b.next
	}
	return nil
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
