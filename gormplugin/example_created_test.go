package gormplugin_test

import (
	"fmt"
	"time"

	"gorm.io/gorm"

	"github.com/sqlflake/sqlflake/gormplugin"
	"github.com/sqlflake/sqlflake/gormplugin/gormtest"
	"github.com/sqlflake/sqlflake/snowflake"
)

// Visit has no created_at: the time is in the key.
type Visit struct {
	ID   snowflake.ID `gorm:"primaryKey;type:int"`
	Page string
}

// openVisits returns a database with a visit at each hour of a morning, from midnight on.
func openVisits(pages ...string) *gorm.DB {
	gen := gormtest.New(snowflake.Default(), time.Date(2026, 1, 2, 0, 0, 0, 0, time.UTC), time.Hour)
	db := openExample(gormplugin.New(gen), &Visit{})
	for _, page := range pages {
		if err := db.Create(&Visit{Page: page}).Error; err != nil {
			panic(err)
		}
	}
	return db
}

func clock(hour int) time.Time { return time.Date(2026, 1, 2, hour, 0, 0, 0, time.UTC) }

func pages(visits []Visit) (list []string) {
	for _, v := range visits {
		list = append(list, v.Page)
	}
	return list
}

func ExampleCreatedBetween() {
	db := openVisits("home", "docs", "blog", "jobs")

	var visits []Visit
	if err := db.Where(gormplugin.CreatedBetween(clock(1), clock(3))).Find(&visits).Error; err != nil {
		panic(err)
	}
	fmt.Println(pages(visits))

	fmt.Println(db.ToSQL(func(db *gorm.DB) *gorm.DB {
		return db.Where(gormplugin.CreatedBetween(clock(1), clock(3))).Find(&visits)
	}))
	// Output:
	// [docs blog]
	// SELECT * FROM `visits` WHERE (`visits`.`id` >= 132649058304000000 AND `visits`.`id` < 132679257292800000)
}

func ExampleCreatedBefore() {
	db := openVisits("home", "docs", "blog", "jobs")

	result := db.Where("page <> ?", "docs").Delete(&Visit{}, gormplugin.CreatedBefore(clock(2)))
	if result.Error != nil {
		panic(result.Error)
	}
	fmt.Println("deleted:", result.RowsAffected)

	// A mistake deletes nothing.
	var forgotten time.Time
	fmt.Println(db.Delete(&Visit{}, gormplugin.CreatedBefore(forgotten)).Error)
	// Output:
	// deleted: 1
	// gormplugin: invalid condition: a bound of visits.id is the zero time
}
