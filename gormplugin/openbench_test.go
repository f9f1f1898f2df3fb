package gormplugin_test

import (
	"context"
	"testing"

	"gorm.io/driver/sqlite"
	"gorm.io/gorm"
	"gorm.io/gorm/logger"

	"github.com/sqlflake/sqlflake/gormplugin"
	"github.com/sqlflake/sqlflake/snowflake"
)

// BenchmarkCreateWithALease compares a generator with a lease to one with a fixed worker, in creates of one record.
func BenchmarkCreateWithALease(b *testing.B) {
	cancelable := b.Context()
	for name, with := range map[string]func(db *gorm.DB) error{
		"fixed": func(db *gorm.DB) error {
			gen, err := snowflake.New(1)
			if err != nil {
				return err
			}
			return db.Use(gormplugin.New(gen))
		},
		"leased": func(db *gorm.DB) error {
			keys, err := gormplugin.Open(b.Context(), db)
			if err == nil {
				b.Cleanup(func() { _ = keys.Close(context.Background()) }) // the database may be gone
			}
			return err
		},
	} {
		for kind, ctx := range map[string]context.Context{"background": context.Background(), "cancelable": cancelable} {
			b.Run(name+"/"+kind, func(b *testing.B) {
				db, err := gorm.Open(sqlite.Open(":memory:"), &gorm.Config{Logger: logger.Discard})
				if err != nil {
					b.Fatal(err)
				}
				if err := with(db); err != nil {
					b.Fatal(err)
				}
				if err := db.AutoMigrate(&user{}); err != nil {
					b.Fatal(err)
				}
				db = db.Session(&gorm.Session{Context: ctx, DryRun: true})
				b.ReportAllocs()
				for b.Loop() {
					if err := db.Create(&user{Name: "a"}).Error; err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}
