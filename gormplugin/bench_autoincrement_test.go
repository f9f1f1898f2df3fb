package gormplugin_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"gorm.io/driver/postgres"
	"gorm.io/driver/sqlite"
	"gorm.io/gorm"
	"gorm.io/gorm/logger"

	"github.com/sqlflake/sqlflake/gormplugin"
	"github.com/sqlflake/sqlflake/internal/testdb"
	"github.com/sqlflake/sqlflake/snowflake"
)

type (
	counted struct {
		ID   int64
		Name string
		Size int
	}
	ownModel struct {
		gormplugin.ModelSoftDelete // the same columns as gorm.Model
		Name                       string
	}
	gormModel struct {
		gorm.Model
		Name string
	}
)

// BenchmarkAgainstAutoIncrement compares a create under snowflake keys to one under keys that the database counts up and
// hands back. The two take turns on connections of their own, so that a busy machine slows both. The metric is the ratio
// of the medians.
func BenchmarkAgainstAutoIncrement(b *testing.B) {
	for _, database := range []struct {
		name string
		open func(b *testing.B) gorm.Dialector
	}{
		{"sqlite-memory", func(*testing.B) gorm.Dialector { return sqlite.Open(":memory:") }},
		{"sqlite-file", func(b *testing.B) gorm.Dialector { return testdb.SQLite(b).Dialector() }},
		{"postgres", func(b *testing.B) gorm.Dialector { return testdb.Postgres(b).Dialector() }},
		// As above, but a commit does not wait for the disk, which hides the rest.
		{"postgres-async", func(b *testing.B) gorm.Dialector {
			return postgres.Open(testdb.Postgres(b).DSN + "&synchronous_commit=off")
		}},
		{"mariadb", func(b *testing.B) gorm.Dialector { return testdb.MariaDB(b).Dialector() }},
	} {
		for _, prepared := range []bool{true, false} {
			for _, n := range []int{1, 100} {
				name := fmt.Sprintf("%s/prepared=%t/records=%d", database.name, prepared, n)
				b.Run("key/"+name, func(b *testing.B) {
					compare(b, database.open, prepared,
						func(i int) any { return records(n, flat{Name: "name", Size: i}) },
						func(i int) any { return records(n, counted{Name: "name", Size: i}) })
				})
				b.Run("model/"+name, func(b *testing.B) {
					compare(b, database.open, prepared,
						func(int) any { return records(n, ownModel{Name: "name"}) },
						func(int) any { return records(n, gormModel{Name: "name"}) })
				})
			}
		}
	}
}

// records returns a pointer to one record, or to a slice of more.
func records[T any](n int, record T) any {
	if n == 1 {
		return &record
	}
	all := slices.Repeat([]T{record}, n)
	return &all
}

// compare lets two kinds of records be created in turns, the first with the plugin.
func compare(b *testing.B, open func(b *testing.B) gorm.Dialector, prepared bool, snow, auto func(i int) any) {
	b.Helper()
	gen, err := snowflake.New(1)
	if err != nil {
		b.Fatal(err)
	}
	with := benchHandle(b, open(b), prepared, snow(0), gormplugin.New(gen))
	without := benchHandle(b, open(b), prepared, auto(0))
	var a, z []time.Duration
	for turn := 0; b.Loop(); turn++ {
		first, second := snow(turn), auto(turn)
		if turn%2 == 0 { // who goes first has the colder caches
			a = append(a, timed(b, with, first))
		}
		z = append(z, timed(b, without, second))
		if turn%2 == 1 {
			a = append(a, timed(b, with, first))
		}
	}
	slices.Sort(a)
	slices.Sort(z)
	b.ReportMetric(float64(a[len(a)/2])/float64(z[len(z)/2]), "snowflake/auto")
	b.ReportMetric(0, "ns/op")
}

func benchHandle(b *testing.B, dialector gorm.Dialector, prepared bool, model any, opts ...gorm.Option) *gorm.DB {
	b.Helper()
	config := &gorm.Config{Logger: logger.Discard, PrepareStmt: prepared}
	db, err := gorm.Open(dialector, append(opts, config)...)
	if err != nil {
		b.Fatal(err)
	}
	pool, err := db.DB()
	if err != nil {
		b.Fatal(err)
	}
	pool.SetMaxOpenConns(1)
	b.Cleanup(func() { _ = pool.Close() })
	if err := db.AutoMigrate(model); err != nil {
		b.Fatal(err)
	}
	return db
}
