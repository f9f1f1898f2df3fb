package gormplugin_test

import (
	"context"
	"encoding/json"
	"fmt"

	"gorm.io/gorm"

	"github.com/sqlflake/sqlflake/gormplugin"
	"github.com/sqlflake/sqlflake/snowflake"
)

func ExamplePage() {
	db := openVisits("home", "docs", "blog", "docs", "home", "jobs")

	// The newest two, and the two before them. The OR stays on the page.
	newest := gormplugin.Page{Limit: 2, Desc: true}
	var visits []Visit
	if err := db.Clauses(newest).Where("page = ?", "home").Or("page = ?", "docs").Find(&visits).Error; err != nil {
		panic(err)
	}
	fmt.Println(pages(visits))

	next := gormplugin.Page{After: visits[1].ID, Limit: 2, Desc: true}
	visits, err := gorm.G[Visit](db, next).Where("page = ?", "home").Or("page = ?", "docs").Find(context.Background())
	if err != nil {
		panic(err)
	}
	fmt.Println(pages(visits))

	// Output:
	// [home docs]
	// [docs home]
}

// A list in an API: the cursor is the last key, which JSON has as a string. The client sends it back as After.
func ExampleNextPage() {
	db := openVisits("home", "docs", "blog")
	page := gormplugin.Page{Limit: 2}
	for more := true; more; {
		visits, err := gorm.G[Visit](db, page).Find(context.Background())
		if err != nil {
			panic(err)
		}
		if page, more, err = gormplugin.NextPage(page, visits, func(v Visit) snowflake.ID { return v.ID }); err != nil {
			panic(err)
		}
		cursor, err := json.Marshal(page.After)
		fmt.Println(pages(visits), more, string(cursor), err)
	}
	// Output:
	// [home docs] true "132649058304000000" <nil>
	// [blog] false "132664157798400000" <nil>
}

// All rows, two at a time.
func ExampleEach() {
	db := openVisits("home", "docs", "blog", "docs")
	for visit, err := range gormplugin.Each[Visit](context.Background(), db, gormplugin.Page{Limit: 2}) {
		fmt.Println(visit.Page, err)
	}
	// Output:
	// home <nil>
	// docs <nil>
	// blog <nil>
	// docs <nil>
}

func ExampleSettled() {
	db := openVisits("home", "docs", "blog")

	var last snowflake.ID // a reader keeps it
	read := func() ([]Visit, error) {
		bound, err := gormplugin.Settled(context.Background(), db, &Visit{}) // first
		if err != nil {
			return nil, err // ask again later
		}
		var visits []Visit
		err = db.Where("id < ?", bound.Below).Clauses(gormplugin.Page{After: last, Limit: 100}).Find(&visits).Error
		if len(visits) > 0 {
			last = visits[len(visits)-1].ID
		}
		return visits, err
	}
	for range 2 {
		visits, err := read()
		fmt.Println(pages(visits), err)
	}
	// Output:
	// [home docs blog] <nil>
	// [] <nil>
}
