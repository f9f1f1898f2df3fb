package partition_test

import (
	"context"

	"gorm.io/gorm"

	"github.com/sqlflake/sqlflake/contrib/partition"
)

func migrateReadings(ctx context.Context, db *gorm.DB, set *partition.Set) error {
	if migrator := db.Migrator(); !migrator.HasTable(&reading{}) {
		options, err := set.TableOptions() // PARTITION BY RANGE ("id")
		if err != nil {
			return err
		}
		// Unlike AutoMigrate, CreateTable creates no related tables, which would get the options too.
		if err := db.Set("gorm:table_options", options).Migrator().CreateTable(&reading{}); err != nil {
			return err
		}
	}

	pool, err := db.DB()
	if err != nil {
		return err
	}
	if _, err := set.Maintain(ctx, pool); err != nil { // and later, in the background, set.Run
		return err
	}

	return db.AutoMigrate(&reading{}, &remark{})
}
