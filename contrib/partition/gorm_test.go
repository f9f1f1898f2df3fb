package partition_test

import (
	"context"
	"fmt"
	"log/slog"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"
	"gorm.io/gorm/logger"

	"github.com/sqlflake/sqlflake/contrib/partition"
	"github.com/sqlflake/sqlflake/gormplugin"
	"github.com/sqlflake/sqlflake/gormplugin/gormtest"
	"github.com/sqlflake/sqlflake/internal/skip"
	"github.com/sqlflake/sqlflake/internal/testdb"
	"github.com/sqlflake/sqlflake/internal/testdb/gormdb"
	"github.com/sqlflake/sqlflake/snowflake"
	"github.com/sqlflake/sqlflake/snowflake/sqldb"
)

type (
	reading struct {
		gormplugin.Model
		Value    int
		SensorID snowflake.ID
		Sensor   sensor
		Remarks  []remark
	}
	sensor struct {
		gormplugin.Model
		Name string
	}
	remark struct {
		ID        snowflake.ID `gorm:"primaryKey;type:int"`
		ReadingID snowflake.ID
		Text      string
	}
)

// executed keeps the statements of a handle that change something.
type executed struct {
	logger.Interface
	statements []string
}

func (e *executed) Trace(_ context.Context, _ time.Time, statement func() (string, int64), _ error) {
	if text, _ := statement(); !strings.HasPrefix(text, "SELECT") {
		e.statements = append(e.statements, text)
	}
}

func TestPartitionedTableWorksLikeOthersInGORM(t *testing.T) {
	testdb.Each(t, func(t *testing.T, target testdb.Target) {
		dialect := map[string]sqldb.Dialect{"postgres": sqldb.Postgres, "mariadb": sqldb.MySQL}[target.Name]
		if dialect == "" {
			skip.Inapplicable(t, "SQLite has no partitions")
		}
		must := (&events{T: t}).must

		// In a zone where it is noon: soon after midnight the day before has a partition, too.
		now := time.Now().UTC().Truncate(time.Second)
		day := now.Add(-12 * time.Hour)
		zone := time.FixedZone("noon", -int(day.Sub(day.Truncate(24*time.Hour))/time.Second))

		log := &executed{Interface: logger.Discard}
		db, err := gorm.Open(gormdb.Dialector(target), &gorm.Config{
			Logger:                                   log,
			DisableForeignKeyConstraintWhenMigrating: true, // MariaDB has none on partitioned tables
		})
		must(err)
		pool, err := db.DB()
		must(err)
		t.Cleanup(func() { _ = pool.Close() })
		must(db.Use(gormplugin.New(gormtest.New(snowflake.Default(), now, time.Millisecond))))
		must(db.AutoMigrate(&sensor{}))

		set, err := partition.New(dialect, "readings", partition.Day, partition.WithStart(now), partition.WithZone(zone),
			partition.WithLogger(slog.New(slog.DiscardHandler)))
		must(err)
		must(migrateReadings(t.Context(), db, set))

		log.statements = nil
		must(db.AutoMigrate(&reading{}, &sensor{}, &remark{}))
		if len(log.statements) > 0 {
			t.Errorf("AutoMigrate again: %q", log.statements)
		}

		r := reading{Value: 1, Sensor: sensor{Name: "two"}, Remarks: []remark{{Text: "a"}, {Text: "b"}}}
		must(db.Create(&r).Error)
		var found reading
		must(db.Preload("Sensor").Preload("Remarks").First(&found, r.ID).Error)
		if found.Sensor.Name != "two" || len(found.Remarks) != 2 {
			t.Errorf("read %+v", found)
		}

		again := reading{Model: gormplugin.Model{ID: r.ID}, Value: 7, SensorID: r.SensorID}
		upsert := clause.OnConflict{
			Columns:   []clause.Column{{Name: "id"}},
			DoUpdates: clause.AssignmentColumns([]string{"value"}),
		}
		must(db.Clauses(upsert).Create(&again).Error)
		must(db.First(&found, r.ID).Error)
		if found.Value != 7 {
			t.Errorf("value %d after the upsert, want 7", found.Value)
		}
		wantOnePartition(t, db, target, r.ID, day)
	})
}

// wantOnePartition checks that queries about the ID and its day read one partition only, and pages those from there on.
func wantOnePartition(t *testing.T, db *gorm.DB, target testdb.Target, id snowflake.ID, day time.Time) {
	t.Helper()
	explain := map[string]string{"postgres": "EXPLAIN ", "mariadb": "EXPLAIN PARTITIONS "}[target.Name]
	if target.IsMySQL() {
		explain = "EXPLAIN FORMAT=TRADITIONAL "
	}

	layout := snowflake.Default()
	for name, query := range map[string]func(tx *gorm.DB) *gorm.DB{
		"First":  func(tx *gorm.DB) *gorm.DB { return tx.First(&reading{}, id) },
		"IN":     func(tx *gorm.DB) *gorm.DB { return tx.Find(&[]reading{}, []snowflake.ID{id, id + 1}) },
		"Delete": func(tx *gorm.DB) *gorm.DB { return tx.Delete(&reading{}, id) },
		"Update": func(tx *gorm.DB) *gorm.DB { return tx.Model(&reading{}).Where("id = ?", id).UpdateColumn("value", 3) },
		"CreatedBetween": func(tx *gorm.DB) *gorm.DB {
			return tx.Find(&[]reading{}, gormplugin.CreatedBetween(day, day.Add(24*time.Hour)).In(layout))
		},
		"CreatedBefore": func(tx *gorm.DB) *gorm.DB {
			return tx.Delete(&reading{}, gormplugin.CreatedBefore(day.Add(time.Hour)).In(layout))
		},
		"Page": func(tx *gorm.DB) *gorm.DB {
			return tx.Clauses(gormplugin.Page{After: id, Limit: 30, Desc: true}).Find(&[]reading{})
		},
	} {
		var plan []map[string]any
		if err := db.Raw(explain + db.ToSQL(query)).Scan(&plan).Error; err != nil {
			t.Fatal(err)
		}
		read := partitionName.FindAllString(fmt.Sprintf("%s", plan), -1)
		slices.Sort(read)
		if read = slices.Compact(read); len(read) != 1 {
			t.Errorf("%s reads %v, want one partition: %s", name, read, plan)
		}
	}
}

var partitionName = regexp.MustCompile(`readings_\d{4}_\d\d_\d\d`)
