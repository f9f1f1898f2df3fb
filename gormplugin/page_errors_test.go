package gormplugin_test

import (
	"errors"
	"strings"
	"testing"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"

	"github.com/sqlflake/sqlflake/gormplugin"
)

func TestAStatementThatIsNoPageIsRefused(t *testing.T) {
	page := gormplugin.Page{Limit: 2}
	byName := clause.OrderBy{Columns: []clause.OrderByColumn{{Column: clause.Column{Name: "name"}}}}
	ordered := func(db *gorm.DB) *gorm.DB { return db.Order("name") }
	nothing := func(*gorm.DB, int) error { return nil }
	eachHourly(t, func(t *testing.T, db *gorm.DB) {
		createParcels(t, db, 5)
		var rows []parcel
		var one parcel
		subquery := db.Model(&parcel{}).Clauses(gormplugin.Page{}).Select("id")
		for what, tt := range map[string]struct {
			tx      *gorm.DB
			message string
		}{
			"limit 0":              {db.Clauses(gormplugin.Page{}).Find(&rows), "Limit is 0"},
			"limit negative":       {db.Clauses(gormplugin.Page{Limit: -1}).Find(&rows), "Limit is -1"},
			"order before":         {db.Order("name").Clauses(page).Find(&rows), "another order"},
			"order after":          {db.Clauses(page).Order("name DESC").Find(&rows), "another order"},
			"order in a scope":     {db.Clauses(page).Scopes(ordered).Find(&rows), "another order"},
			"order by the key":     {db.Order("id").Clauses(page).Find(&rows), "another order"},
			"clause before":        {db.Clauses(byName, page).Find(&rows), "another order"},
			"clause after":         {db.Clauses(page, byName).Find(&rows), "another order"},
			"limit before":         {db.Limit(2).Clauses(page).Find(&rows), "another limit or offset"},
			"limit after":          {db.Clauses(page).Limit(1).Find(&rows), "another limit or offset"},
			"limit taken away":     {db.Clauses(page).Limit(-1).Find(&rows), "another limit or offset"},
			"offset before":        {db.Offset(1).Clauses(page).Find(&rows), "another limit or offset"},
			"offset after":         {db.Clauses(page).Offset(1).Find(&rows), "another limit or offset"},
			"two pages":            {db.Clauses(page, page).Find(&rows), "has two"},
			"a page on a page":     {db.Clauses(page).Session(&gorm.Session{}).Clauses(page).Find(&rows), "has two"},
			"first":                {db.Clauses(page).First(&one), "another"},
			"last":                 {db.Clauses(page).Last(&one), "another"},
			"take":                 {db.Clauses(page).Take(&one), "another limit or offset"},
			"batches":              {db.Clauses(page).FindInBatches(&rows, 1, nothing), "another"},
			"count":                {db.Model(&parcel{}).Clauses(page).Count(new(int64)), "counts rows"},
			"count of groups":      {db.Model(&parcel{}).Clauses(page).Group("id").Count(new(int64)), "counts rows"},
			"update":               {db.Model(&parcel{}).Clauses(page).Update("name", "x"), "no query"},
			"delete":               {db.Clauses(page).Delete(&parcel{}), "no query"},
			"delete with a where":  {db.Where("weight > 0").Clauses(page).Delete(&parcel{}), "no query"},
			"where":                {db.Where(page).Find(&rows), "is no condition"},
			"delete where":         {db.Where(page).Delete(&parcel{}), "is no condition"},
			"inline":               {db.Find(&rows, page), "is no condition"},
			"preload":              {db.Preload("Labels", page).Find(&rows), "is no condition"},
			"subquery of a delete": {db.Where("id IN (?)", subquery).Delete(&parcel{}), "Limit is 0"},
		} {
			if !errors.Is(tt.tx.Error, gormplugin.ErrCondition) || !strings.Contains(tt.tx.Error.Error(), tt.message) {
				t.Errorf("%s: error %v, want ErrCondition, %q", what, tt.tx.Error, tt.message)
			}
			if tt.tx.RowsAffected != 0 && what != "preload" {
				t.Errorf("%s: %d rows", what, tt.tx.RowsAffected)
			}
		}
		if _, err := gorm.G[parcel](db, page).Order("name").Find(t.Context()); !errors.Is(err, gormplugin.ErrCondition) {
			t.Errorf("generics: error %v, want ErrCondition", err)
		}
		if _, err := gorm.G[parcel](db, page).Count(t.Context(), "*"); !errors.Is(err, gormplugin.ErrCondition) {
			t.Errorf("generics, count: error %v, want ErrCondition", err)
		}
		equal(t, "the rows that are left", names(t, db), "abcde")
	}, &parcel{}, &label{})
}

// What cancels a limit or offset in GORM is none.
func TestPageTakesACancelledLimitForNone(t *testing.T) {
	db := onSQLite(t, &parcel{}, &label{})
	createParcels(t, db.DB, 3)
	page := gormplugin.Page{Limit: 2}
	equal(t, "limit", found(t, db.Limit(-1).Clauses(page)), "ab")
	equal(t, "offset", found(t, db.Offset(-1).Clauses(page).Offset(-1)), "ab")
}
