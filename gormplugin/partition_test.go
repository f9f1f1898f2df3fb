package gormplugin_test

import (
	"fmt"
	"log/slog"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"gorm.io/gorm"

	"github.com/sqlflake/sqlflake/gormplugin"
	"github.com/sqlflake/sqlflake/internal/skip"
	"github.com/sqlflake/sqlflake/internal/testdb"
	"github.com/sqlflake/sqlflake/internal/testdb/gormdb"
	"github.com/sqlflake/sqlflake/snowflake"
	"github.com/sqlflake/sqlflake/snowflake/sqldb"
	"github.com/sqlflake/sqlflake/sqltypes/partition"
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

func TestPartitionedTableWorksLikeOthers(t *testing.T) {
	testdb.Each(t, func(t *testing.T, target testdb.Target) {
		dialect := map[string]sqldb.Dialect{"postgres": sqldb.Postgres, "mariadb": sqldb.MySQL}[target.Name]
		if dialect == "" {
			skip.Inapplicable(t, "SQLite has no partitions")
		}
		config := gorm.Config{DisableForeignKeyConstraintWhenMigrating: true} // MariaDB has none on partitioned tables
		db := open(t, target, gormdb.Dialector(target), config, []any{&sensor{}})
		// In a zone where it is noon: soon after midnight the day before has a partition, too.
		now := time.Now().UTC().Truncate(time.Second)
		day := now.Add(-12 * time.Hour)
		zone := time.FixedZone("noon", -int(day.Sub(day.Truncate(24*time.Hour))/time.Second))
		today, err := snowflake.Default().MinAt(now)
		noError(t, err)
		db.gen.next = today
		set, err := partition.New(dialect, "readings", partition.Day, partition.WithStart(now), partition.WithZone(zone),
			partition.WithLogger(slog.New(slog.DiscardHandler)))
		noError(t, err)
		noError(t, migrateReadings(t.Context(), db.DB, set))
		db.log.take()
		noError(t, db.AutoMigrate(&reading{}, &sensor{}, &remark{}))
		for _, statement := range db.log.take() {
			if !strings.HasPrefix(statement, "SELECT") {
				t.Errorf("AutoMigrate again: %s", statement)
			}
		}

		r := reading{Value: 1, Sensor: sensor{Name: "two"}, Remarks: []remark{{Text: "a"}, {Text: "b"}}}
		must(t, db.Create(&r))
		var found reading
		must(t, db.Preload("Sensor").Preload("Remarks").First(&found, r.ID))
		if found.Sensor.Name != "two" || len(found.Remarks) != 2 {
			t.Errorf("read %+v", found)
		}
		again := reading{Model: gormplugin.Model{ID: r.ID}, Value: 7, SensorID: r.SensorID}
		must(t, db.Clauses(by("id", "value")).
			Create(&again))
		must(t, db.First(&found, r.ID))
		equal(t, "value after the upsert", found.Value, 7)
		wantOnePartition(t, db, today, day)
	})
}

// wantOnePartition checks that queries about the ID and its day read one partition only, and pages those from there on.
func wantOnePartition(t *testing.T, db *env, id snowflake.ID, day time.Time) {
	explain := map[string]string{"postgres": "EXPLAIN ", "mariadb": "EXPLAIN PARTITIONS "}[db.target.Name]
	if db.target.IsMySQL() {
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
		must(t, db.Raw(explain+db.ToSQL(query)).Scan(&plan))
		read := partitionName.FindAllString(fmt.Sprintf("%s", plan), -1)
		slices.Sort(read)
		if read = slices.Compact(read); len(read) != 1 {
			t.Errorf("%s reads %v, want one partition: %s", name, read, plan)
		}
	}
}

var partitionName = regexp.MustCompile(`readings_\d{4}_\d\d_\d\d`)
