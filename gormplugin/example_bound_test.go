package gormplugin_test

import (
	"context"
	"fmt"

	"github.com/sqlflake/sqlflake/gormplugin"
	"github.com/sqlflake/sqlflake/snowflake"
)

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
