package gormplugin_test

import (
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	"gorm.io/gorm"

	"github.com/sqlflake/sqlflake/gormplugin"
	"github.com/sqlflake/sqlflake/gormplugin/gormtest"
	"github.com/sqlflake/sqlflake/internal/testdb"
)

// explain returns the plan of the query that find makes, as the database prints it, on one line a row.
func explain(t *testing.T, db *gorm.DB, find func(db *gorm.DB) *gorm.DB) string {
	t.Helper()
	words := map[string]string{"sqlite": "EXPLAIN QUERY PLAN ", "mysql": "EXPLAIN FORMAT=TRADITIONAL ", "postgres": "EXPLAIN "}[db.Name()]
	var rows []map[string]any
	must(t, db.Raw(words+db.ToSQL(find)).Scan(&rows))
	var plan strings.Builder
	for _, row := range rows {
		for _, name := range []string{"detail", "QUERY PLAN", "type", "key", "rows", "Extra"} {
			if value, ok := row[name]; ok && value != nil {
				fmt.Fprintf(&plan, "%s=%s ", name, text(value))
			}
		}
		plan.WriteByte('\n')
	}
	return plan.String()
}

func text(value any) string {
	switch v := value.(type) {
	case *any: // go-sqlite3 does not know the type of a plan's columns
		return text(*v)
	case []byte:
		return string(v)
	default:
		return fmt.Sprint(v)
	}
}

// plansOf are what a database says about a query that reads a part of the primary key's index.
var plansOf = map[string]struct{ between, page *regexp.Regexp }{
	"sqlite": {
		regexp.MustCompile(`^detail=SEARCH parcels USING INTEGER PRIMARY KEY \(rowid>\? AND rowid<\?\) \n$`),
		regexp.MustCompile(`^detail=SEARCH parcels USING INTEGER PRIMARY KEY \(rowid>\?\) \n$`),
	},
	"postgres": {
		regexp.MustCompile(`Index Scan using parcels_pkey on parcels .*\n.*Index Cond: \(\(id >= .*\) AND \(id < `),
		regexp.MustCompile(`Limit .*\n.*->  Index Scan using parcels_pkey on parcels .*\n.*Index Cond: \(id > `),
	},
	"mariadb": {
		regexp.MustCompile(`^type=range key=PRIMARY rows=\d{2,3} Extra=Using where \n$`),
		regexp.MustCompile(`^type=range key=PRIMARY rows=\d+ Extra=Using where \n$`),
	},
}

// The index of the primary key is the one on the time of creation, and gives a page without sorting.
func TestTimesAndPagesUseTheIndexOfThePrimaryKey(t *testing.T) {
	testdb.Each(t, func(t *testing.T, target testdb.Target) {
		gen := gormtest.New(newYear, gormtest.WithStep(time.Minute))
		db, _ := openWith(t, target, gormplugin.New(gen), &parcel{}, &label{})
		must(t, db.CreateInBatches(make([]parcel, 20_000), 1000)) // two weeks
		switch target.Name {
		case "postgres", "sqlite":
			must(t, db.Exec("ANALYZE parcels"))
		case "mariadb":
			must(t, db.Exec("ANALYZE TABLE parcels"))
		}
		want := plansOf[target.Name]
		plan := explain(t, db, func(db *gorm.DB) *gorm.DB {
			return db.Where(gormplugin.CreatedBetween(hour(24), hour(25))).Find(&[]parcel{})
		})
		if !want.between.MatchString(plan) {
			t.Errorf("CreatedBetween: plan\n%s", plan)
		}
		middle, err := gen.Layout().MinAt(hour(100))
		if err != nil {
			t.Fatal(err)
		}
		plan = explain(t, db, func(db *gorm.DB) *gorm.DB {
			return db.Clauses(gormplugin.Page{After: middle, Limit: 20}).Where("weight = 0").Or("weight = 1").Find(&[]parcel{})
		})
		if !want.page.MatchString(plan) || strings.Contains(plan, "Sort") || strings.Contains(plan, "TEMP B-TREE") ||
			strings.Contains(plan, "filesort") {
			t.Errorf("Page: plan\n%s", plan)
		}
		var n int64
		must(t, db.Model(&parcel{}).Where(gormplugin.CreatedBetween(hour(24), hour(25))).Count(&n))
		equal(t, "rows of an hour", n, 60)
	})
}
