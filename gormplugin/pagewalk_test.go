package gormplugin_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"strings"
	"testing"

	"gorm.io/gorm"
	"gorm.io/gorm/schema"

	"github.com/sqlflake/sqlflake/gormplugin"
	"github.com/sqlflake/sqlflake/internal/testdb"
	"github.com/sqlflake/sqlflake/snowflake"
)

func TestNextPageFollowsTheLastRow(t *testing.T) {
	rows := func(ids ...snowflake.ID) []snowflake.ID { return ids }
	for _, tt := range []struct {
		page gormplugin.Page
		rows []snowflake.ID
		next snowflake.ID
		more bool
		bad  bool
	}{
		{gormplugin.Page{Limit: 2}, rows(5, 7), 7, true, false},
		{gormplugin.Page{Limit: 2}, rows(5), 5, false, false},
		{gormplugin.Page{Limit: 2}, rows(), 0, false, false},
		{gormplugin.Page{Limit: 2, After: 9}, rows(), 9, false, false},
		{gormplugin.Page{Limit: 2, After: 9, Desc: true}, rows(7, 5), 5, true, false},
		{gormplugin.Page{Limit: 2, Desc: true}, rows(7, 5), 5, true, false},
		{gormplugin.Page{Limit: 2}, rows(-3, -2), -2, true, false},
		{gormplugin.Page{Limit: 2, After: -2}, rows(-1, 4), 4, true, false},
		{gormplugin.Page{Limit: 2}, rows(0, 0), 0, false, true},
		{gormplugin.Page{Limit: 2, After: -2}, rows(-1, 0), -2, false, true}, // after 0 it would start again
		{gormplugin.Page{Limit: 2}, rows(5, 6, 7), 0, false, true},
		{gormplugin.Page{Limit: 2, After: 9}, rows(7, 9), 9, false, true},
		{gormplugin.Page{Limit: 2, After: 9}, rows(7, 8), 9, false, true},
		{gormplugin.Page{Limit: 2, After: 9, Desc: true}, rows(8, 10), 9, false, true},
	} {
		next, more, err := gormplugin.NextPage(tt.page, tt.rows, func(id snowflake.ID) snowflake.ID { return id })
		want := tt.page
		want.After = tt.next
		if next != want || more != tt.more || errors.Is(err, gormplugin.ErrCondition) != tt.bad {
			t.Errorf("after %+v with %v: %+v, %v, %v; want after %d, %v", tt.page, tt.rows, next, more, err, tt.next, tt.more)
		}
	}
}

// walk returns the names of the parcels that Each reads.
func walk(t *testing.T, db *gorm.DB, page gormplugin.Page) string {
	t.Helper()
	var read strings.Builder
	for p, err := range gormplugin.Each[parcel](t.Context(), db, page) {
		noError(t, err)
		read.WriteString(p.Name)
	}
	return read.String()
}

func TestEachReadsAllRowsPageByPage(t *testing.T) {
	testdb.Each(t, func(t *testing.T, target testdb.Target) {
		db, log := openWith(t, target, gormplugin.New(hourly()), &parcel{}, &label{})
		createParcels(t, db, 7)
		for limit := 1; limit <= 8; limit++ {
			equal(t, "all", walk(t, db, gormplugin.Page{Limit: limit}), "abcdefg")
			equal(t, "all from the end", walk(t, db, gormplugin.Page{Limit: limit, Desc: true}), "gfedcba")
			or := db.Where("weight < 2").Or("weight > 3")
			equal(t, "some", walk(t, or, gormplugin.Page{Limit: limit}), "abefg")
		}
		log.take()
		for p, err := range gormplugin.Each[*parcel](t.Context(), db, gormplugin.Page{Limit: 3}) {
			noError(t, err)
			if p.Name == "d" {
				break
			}
		}
		equal(t, "queries up to the fourth row", len(log.take()), 2)
	})
}

func TestEachLetsTheBodyDeleteWhatItReads(t *testing.T) {
	eachHourly(t, func(t *testing.T, db *gorm.DB) {
		createParcels(t, db, 7)
		var seen strings.Builder
		for p, err := range gormplugin.Each[*parcel](t.Context(), db, gormplugin.Page{Limit: 2}) {
			noError(t, err)
			must(t, db.Delete(p))
			seen.WriteString(p.Name)
			p.ID = 0 // the next page must not begin at the start again
		}
		equal(t, "seen", seen.String(), "abcdefg")
		equal(t, "left", names(t, db), "")
	}, &parcel{}, &label{})
}

func TestEachReadsOtherStructsAndKeys(t *testing.T) {
	type short struct {
		Name string
		ID   snowflake.ID
	}
	type noKey struct{ Name string }
	type counted struct {
		ID   uint
		Name string
	}
	type pointer struct {
		ID   *snowflake.ID
		Name string
	}
	type member struct {
		ID   userID `gorm:"primaryKey;type:int;size:64"`
		Name string
	}
	db, _ := openWith(t, testdb.SQLite(t), gormplugin.New(hourly()), &parcel{}, &label{}, &counted{}, &pointer{}, &member{})
	must(t, db.Create(&[]member{{Name: "x"}, {Name: "y"}}))
	createParcels(t, db, 4)
	must(t, db.Create(&[]counted{{Name: "a"}, {Name: "b"}, {Name: "c"}}))
	must(t, db.Create(&[]pointer{{Name: "a"}, {Name: "b"}, {Name: "c"}}))
	ctx, page := t.Context(), gormplugin.Page{Limit: 1}

	wantRows(t, gormplugin.Each[short](ctx, db.Model(&parcel{}), page), 4, nil)
	wantRows(t, gormplugin.Each[counted](ctx, db, page), 3, nil)
	wantRows(t, gormplugin.Each[pointer](ctx, db, page), 3, nil)
	wantRows(t, gormplugin.Each[member](ctx, db.Where(gormplugin.CreatedBefore(hour(1e6))), page), 2, nil)

	wantRows(t, gormplugin.Each[noKey](ctx, db.Model(&parcel{}), page), 0, gormplugin.ErrCondition)
	wantRows(t, gormplugin.Each[parcel](ctx, db.Select("name"), page), 0, gormplugin.ErrCondition)
	wantRows(t, gormplugin.Each[parcel](ctx, db, gormplugin.Page{}), 0, gormplugin.ErrCondition)
	wantRows(t, gormplugin.Each[map[string]any](ctx, db.Model(&parcel{}), page), 0, schema.ErrUnsupportedDataType)
	ctx, cancel := context.WithCancel(ctx)
	cancel()
	wantRows(t, gormplugin.Each[parcel](ctx, db, page), 0, context.Canceled)
}

// wantRows checks that a loop has n different rows, and then one error or none.
func wantRows[T any](t *testing.T, seq iter.Seq2[T, error], n int, want error) {
	t.Helper()
	rows, errs := map[string]bool{}, []error(nil)
	for row, err := range seq {
		if err != nil {
			errs = append(errs, err)
		} else {
			rows[fmt.Sprintf("%+v", row)] = true
		}
	}
	if len(rows) != n || len(errs) > 1 || !errors.Is(errors.Join(errs...), want) {
		t.Errorf("%T: rows %v, errors %v, want %d rows and %v", seq, rows, errs, n, want)
	}
}

func TestEachEndsWithTheErrorOfALaterPage(t *testing.T) {
	db, _ := openWith(t, testdb.SQLite(t), gormplugin.New(hourly()), &parcel{}, &label{})
	createParcels(t, db, 4)
	n, last := 0, error(nil)
	for p, err := range gormplugin.Each[parcel](t.Context(), db, gormplugin.Page{Limit: 2}) {
		if n, last = n+1, err; p.Name == "b" {
			must(t, db.Exec("DROP TABLE parcels"))
		}
	}
	if n != 3 || last == nil || !strings.Contains(last.Error(), "no such table") {
		t.Errorf("%d rounds, error %v, want two rows and the error of the second query", n, last)
	}
}
