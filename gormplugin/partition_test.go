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
	"gorm.io/gorm/clause"

	"github.com/sqlflake/sqlflake/gormplugin"
	"github.com/sqlflake/sqlflake/gormplugin/gormtest"
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

// openReadings returns a table with a partition for each of ten days before today, and a row a minute.
func openReadings(t *testing.T, target testdb.Target) (db *gorm.DB, today time.Time) {
	t.Helper()
	dialect := sqldb.Postgres
	config := gorm.Config{Logger: &recorder{}}
	if target.Name == "mariadb" {
		dialect = sqldb.MySQL
		config.DisableForeignKeyConstraintWhenMigrating = true // partitioned tables have none there
	}
	today = time.Now().UTC().Truncate(24 * time.Hour)
	gen := gormtest.New(today.AddDate(0, 0, -10), gormtest.WithStep(time.Minute))
	db, err := gorm.Open(gormdb.Dialector(target), &config, gormplugin.New(gen))
	noError(t, err)
	closeAtEnd(t, db)
	set, err := partition.New(dialect, "readings", partition.Day, partition.WithStart(today.AddDate(0, 0, -10)),
		partition.WithLogger(slog.New(slog.DiscardHandler)))
	noError(t, err)
	noError(t, db.AutoMigrate(&sensor{}))
	noError(t, migrateReadings(t.Context(), db, set))
	owner := sensor{Model: gormplugin.Model{ID: 1}, Name: "one"}
	must(t, db.Create(&owner))
	rows := make([]reading, 10*24*60)
	for i := range rows {
		rows[i] = reading{Value: i, SensorID: owner.ID}
	}
	must(t, db.Omit(clause.Associations).CreateInBatches(rows, 2000))
	must(t, db.Exec(map[string]string{"postgres": "ANALYZE readings", "mariadb": "ANALYZE TABLE readings"}[target.Name]))
	return db, today
}

func eachWithPartitions(t *testing.T, f func(t *testing.T, target testdb.Target)) {
	testdb.Each(t, func(t *testing.T, target testdb.Target) {
		if target.Name == "sqlite" {
			t.Skip("SQLite has no partitions")
		}
		f(t, target)
	})
}

func TestPartitionedTableWorksLikeOthers(t *testing.T) {
	eachWithPartitions(t, func(t *testing.T, target testdb.Target) {
		db, _ := openReadings(t, target)
		log := db.Logger.(*recorder)
		log.take()
		noError(t, db.AutoMigrate(&reading{}, &sensor{}, &remark{}))
		for _, statement := range log.take() {
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
		must(t, db.Clauses(clause.OnConflict{Columns: []clause.Column{{Name: "id"}}, DoUpdates: clause.AssignmentColumns([]string{"value"})}).
			Create(&again))
		must(t, db.First(&found, r.ID))
		equal(t, "value after the upsert", found.Value, 7)
	})
}

// touching are the queries, and how many of the partitions of ten days before today, today and three days ahead they
// may read.
func touching(t *testing.T, today time.Time) map[string]touch {
	id := func(days int) snowflake.ID {
		id, err := snowflake.Default().MinAt(today.AddDate(0, 0, days))
		noError(t, err)
		return id
	}
	day := func(n int) time.Time { return today.AddDate(0, 0, n) }
	find := func(conditions ...any) func(*gorm.DB) *gorm.DB {
		return func(db *gorm.DB) *gorm.DB { return db.Find(&[]reading{}, conditions...) }
	}
	page := func(desc bool) func(*gorm.DB) *gorm.DB {
		return func(db *gorm.DB) *gorm.DB {
			return db.Clauses(gormplugin.Page{After: id(-5), Limit: 30, Desc: desc}).Find(&[]reading{})
		}
	}
	return map[string]touch{
		"First":  {1, func(db *gorm.DB) *gorm.DB { return db.First(&reading{}, id(-5)) }},
		"IN":     {2, find([]snowflake.ID{id(-5), id(-3), id(-3) + 1})},
		"Delete": {1, func(db *gorm.DB) *gorm.DB { return db.Delete(&reading{}, id(-5)) }},
		"Update": {1, func(db *gorm.DB) *gorm.DB {
			return db.Model(&reading{Model: gormplugin.Model{ID: id(-5)}}).UpdateColumn("value", 3)
		}},
		"CreatedBetween":  {2, find(gormplugin.CreatedBetween(day(-6), day(-4)))},
		"Since":           {6, find(gormplugin.CreatedSince(day(-2)))}, // with three ahead, and one more after midnight
		"Delete Before":   {3, func(db *gorm.DB) *gorm.DB { return db.Delete(&reading{}, gormplugin.CreatedBefore(day(-7))) }},
		"Page":            {2, page(false)},
		"Page descending": {2, page(true)},
	}
}

type touch struct {
	most  int
	query func(db *gorm.DB) *gorm.DB
}

var partitionName = regexp.MustCompile(`readings_\d{4}_\d\d_\d\d`)

func TestQueriesTouchOnlyTheirPartitions(t *testing.T) {
	eachWithPartitions(t, func(t *testing.T, target testdb.Target) {
		db, today := openReadings(t, target)
		for name, test := range touching(t, today) {
			t.Run(name, func(t *testing.T) {
				if target.Name == "mariadb" {
					if strings.HasPrefix(name, "Page") {
						test.most = 11 // it prunes on one side, and reads the rest as far as the LIMIT
					}
					wantTouched(t, explainPartitions(t, db, target, test.query), test.most)
					return
				}
				wantTouched(t, explainAnalyze(t, db, test.query), test.most)
			})
		}
	})
}

func wantTouched(t *testing.T, plan string, most int) {
	t.Helper()
	var touched []string
	for line := range strings.Lines(plan) {
		// A generic plan of an Update or Delete names all partitions that it may change, and reads those that are left.
		if strings.Contains(line, "Scan") && !strings.Contains(line, "never executed") {
			touched = append(touched, partitionName.FindAllString(line, -1)...)
		}
	}
	slices.Sort(touched)
	if touched = slices.Compact(touched); len(touched) == 0 || len(touched) > most {
		t.Errorf("touched %v, want 1 to %d partitions:\n%s", touched, most, plan)
	}
}

// explainPartitions returns what MariaDB or MySQL print of the partitions of a query.
func explainPartitions(t *testing.T, db *gorm.DB, target testdb.Target, query func(*gorm.DB) *gorm.DB) string {
	t.Helper()
	words := "EXPLAIN PARTITIONS "
	if target.IsMySQL() {
		words = "EXPLAIN FORMAT=TRADITIONAL "
	}
	var rows []map[string]any
	must(t, db.Raw(words+db.ToSQL(query)).Scan(&rows))
	return fmt.Sprintf("Scan %s", rows[0]["partitions"])
}

// explainAnalyze executes the query that query makes, in a transaction that is rolled back, and returns its generic plan,
// which is made without the values.
func explainAnalyze(t *testing.T, db *gorm.DB, query func(*gorm.DB) *gorm.DB) string {
	t.Helper()
	statement := query(db.Session(&gorm.Session{DryRun: true})).Statement
	var values, plan []string
	for _, v := range statement.Vars {
		values = append(values, fmt.Sprintf("'%v'", v))
	}
	tx := db.Begin()
	defer tx.Rollback()
	must(t, tx.Exec("SET LOCAL plan_cache_mode = force_generic_plan"))
	must(t, tx.Exec("PREPARE touching AS "+statement.SQL.String()))
	must(t, tx.Raw("EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF) EXECUTE touching ("+strings.Join(values, ", ")+")").Scan(&plan))
	must(t, tx.Exec("DEALLOCATE touching"))
	return strings.Join(plan, "\n")
}
