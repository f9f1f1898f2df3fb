package gormplugin_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"
	"gorm.io/gorm/schema"

	"github.com/sqlflake/sqlflake/gormplugin"
	"github.com/sqlflake/sqlflake/internal/testdb"
	"github.com/sqlflake/sqlflake/snowflake"
)

// found returns the names of the parcels that a statement finds, in its order.
func found(t testing.TB, db *gorm.DB) string {
	t.Helper()
	var names []string
	must(t, db.Model(&parcel{}).Pluck("name", &names))
	return strings.Join(names, "")
}

func TestPageLeavesASharedHandleAlone(t *testing.T) {
	db := onSQLite(t, &parcel{}, &label{})
	p := createParcels(t, db.DB, 4)
	shared := db.Where("weight >= 0").Session(&gorm.Session{})
	withPage := db.Clauses(gormplugin.Page{After: p[0].ID, Limit: 2}).Session(&gorm.Session{})

	for range 2 {
		equal(t, "first", found(t, shared.Clauses(gormplugin.Page{Limit: 1})), "a")
		equal(t, "next", found(t, shared.Clauses(gormplugin.Page{After: p[0].ID, Limit: 2})), "bc")
		equal(t, "no page", found(t, shared), "abcd")
		equal(t, "last", found(t, shared.Clauses(gormplugin.Page{Limit: 1, Desc: true})), "d")
		equal(t, "with one condition", found(t, withPage.Where("weight <> 1").Or("weight = 0")), "cd")
		equal(t, "with another", found(t, withPage.Where("weight = 1")), "b")
		equal(t, "with none", found(t, withPage), "bc")
		equal(t, "after a negative key", found(t, shared.Clauses(gormplugin.Page{After: -5, Limit: 3})), "abc")
		equal(t, "before one", found(t, shared.Clauses(gormplugin.Page{After: -5, Limit: 3, Desc: true})), "")

		// What cancels a limit or offset in GORM is none.
		equal(t, "no limit", found(t, shared.Limit(-1).Clauses(gormplugin.Page{Limit: 2})), "ab")
		equal(t, "no offset", found(t, shared.Offset(-1).Clauses(gormplugin.Page{Limit: 2}).Offset(-1)), "ab")
	}
}

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
		{gormplugin.Page{Limit: 2, After: 9, Desc: true}, rows(10, 9), 9, false, true},
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

func TestEachReadsAllRowsPageByPageAndLetsTheBodyDeleteThem(t *testing.T) {
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

		var seen strings.Builder
		for p, err := range gormplugin.Each[*parcel](t.Context(), db, gormplugin.Page{Limit: 2}) {
			noError(t, err)
			must(t, db.Delete(p))
			seen.WriteString(p.Name)
			p.ID = 0 // the next page must not begin at the start again
		}
		equal(t, "seen", seen.String(), "abcdefg")
		equal(t, "left", names(t, db), "")
	})
}

func TestEachReadsOtherStructsAndKeysAndEndsWithItsError(t *testing.T) {
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

	db, _ := openWith(t, testdb.SQLite(t), gormplugin.New(hourly()), &parcel{}, &label{}, &counted{}, &pointer{}, &member{}, &spoken{})
	createParcels(t, db, 4)
	create(t, db, []*spoken{{}, {}, {}}, &[]member{{Name: "x"}, {Name: "y"}},
		&[]counted{{Name: "a"}, {Name: "b"}, {Name: "c"}}, &[]pointer{{Name: "a"}, {Name: "b"}, {Name: "c"}})
	ctx, page := t.Context(), gormplugin.Page{Limit: 1}

	wantRows(t, gormplugin.Each[short](ctx, db.Model(&parcel{}), page), 4, nil)
	wantRows(t, gormplugin.Each[counted](ctx, db, page), 3, nil)
	wantRows(t, gormplugin.Each[pointer](ctx, db, page), 3, nil)
	wantRows(t, gormplugin.Each[member](ctx, db.Where(gormplugin.CreatedBefore(hour(1e6))), page), 2, nil)

	wantRows(t, gormplugin.Each[spoken](ctx, db, page), 3, nil)
	wantRows(t, gormplugin.Each[spoken](ctx, db.Raw("SELECT * FROM spokens ORDER BY id"), page), 3, nil)

	wantRows(t, gormplugin.Each[noKey](ctx, db.Model(&parcel{}), page), 0, gormplugin.ErrCondition)
	wantRows(t, gormplugin.Each[parcel](ctx, db.Select("name"), page), 0, gormplugin.ErrCondition)
	wantRows(t, gormplugin.Each[parcel](ctx, db, gormplugin.Page{}), 0, gormplugin.ErrCondition)
	wantRows(t, gormplugin.Each[map[string]any](ctx, db.Model(&parcel{}), page), 0, schema.ErrUnsupportedDataType)

	canceled, cancel := context.WithCancel(ctx)
	cancel()
	wantRows(t, gormplugin.Each[parcel](canceled, db, page), 0, context.Canceled)

	n, last := 0, error(nil)
	for p, err := range gormplugin.Each[parcel](ctx, db, gormplugin.Page{Limit: 2}) {
		if n, last = n+1, err; p.Name == "b" {
			must(t, db.Exec("DROP TABLE parcels"))
		}
	}

	if n != 3 || last == nil || !strings.Contains(last.Error(), "no such table") {
		t.Errorf("%d rounds, error %v, want two rows and the error of the second query", n, last)
	}
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
			"limit negative":       {db.Clauses(gormplugin.Page{Limit: -1}).Find(&rows), "Limit is -1"},
			"limit 0":              {db.Clauses(gormplugin.Page{}).Find(&rows), "Limit is 0"},
			"order before":         {db.Order("name").Clauses(page).Find(&rows), "another order"},
			"order after":          {db.Clauses(page).Order("name DESC").Find(&rows), "another order"},
			"order in a scope":     {db.Clauses(page).Scopes(ordered).Find(&rows), "another order"},
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
			"where":                {db.Where(page).Find(&rows), "is no condition"},
			"delete where":         {db.Where(page).Delete(&parcel{}), "is no condition"},
			"preload":              {db.Preload("Labels", page).Find(&rows), "is no condition"},
			"subquery of a delete": {db.Where("id IN (?)", subquery).Delete(&parcel{}), "Limit is 0"},
		} {
			wantErrorOf(t, what, tt.tx.Error, gormplugin.ErrCondition, tt.message)
			if what != "preload" {
				equal(t, "rows of "+what, tt.tx.RowsAffected, 0)
			}
		}

		_, err := gorm.G[parcel](db, page).Order("name").Find(t.Context())
		wantErrorOf(t, "generics", err, gormplugin.ErrCondition)
		_, err = gorm.G[parcel](db, page).Count(t.Context(), "*")
		wantErrorOf(t, "generics, count", err, gormplugin.ErrCondition)

		equal(t, "the rows that are left", names(t, db), "abcde")
	}, &parcel{}, &label{})
}

// ware is a model with the soft deletion that GORM adds to the conditions.
type ware struct {
	gormplugin.ModelSoftDelete
	A, B int
}

const wares = 60

// createWares creates wares with numbers from 0 to 3, a third of them deleted.
func createWares(t testing.TB, db *gorm.DB) {
	t.Helper()
	random := rand.New(rand.NewPCG(1, 2))
	rows := make([]ware, wares)
	for i := range rows {
		rows[i].A, rows[i].B = random.IntN(4), random.IntN(4)
		if random.IntN(3) == 0 {
			rows[i].DeletedAt = gorm.DeletedAt{Time: newYear, Valid: true}
		}
	}
	must(t, db.Create(&rows))
}

// steps make a statement out of numbers: conditions of all kinds, joined in all ways, and a page somewhere among them.
type steps []byte

func (s *steps) take(n int) int {
	if len(*s) == 0 {
		return 0
	}
	v := int((*s)[0]) % n
	*s = (*s)[1:]
	return v
}

// condition adds a condition that is made by the next steps.
func (s *steps) condition(db *gorm.DB, depth int) *gorm.DB {
	add := []func(any, ...any) *gorm.DB{db.Where, db.Or, db.Not}[s.take(3)]
	x, y := s.take(4), s.take(4)
	plain := [][]any{
		{"a = ?", x},
		{"a = ? OR b = ?", x, y},
		{"a < ? AND b > ?", x, y},
		{map[string]any{"a": x, "b": []int{x, y}}},
		{clause.Or(clause.Eq{Column: "a", Value: x}, clause.Neq{Column: "b", Value: y})},
		{clause.Or(clause.Eq{Column: "b", Value: y})},
		{gormplugin.CreatedBetween(hour(5*x), hour(5*x+10*y))},
		{"a = @x or b = @y", map[string]any{"x": x, "y": y}},
		{"b", y},
	}

	switch i := s.take(len(plain) + 1); {
	case i == len(plain):
		return db.Scopes(func(db *gorm.DB) *gorm.DB { return db.Or("a > ?", x) })
	case i == len(plain)-1 && depth > 0:
		group := s.condition(db.Session(&gorm.Session{NewDB: true}), depth-1)
		return add(s.condition(group, depth-1))
	default:
		return add(plain[i][0], plain[i][1:]...)
	}
}

// statement returns what the steps make, with the page if there is one.
func (s steps) statement(db *gorm.DB, page *gormplugin.Page) *gorm.DB {
	tx := db.Model(&ware{})
	if s.take(4) == 0 {
		tx = tx.Unscoped()
	}

	n := s.take(5)
	at := s.take(n + 1)
	for i := 0; ; i++ {
		if i == at && page != nil {
			tx = tx.Clauses(*page)
		}
		if i == n {
			return tx
		}
		tx = s.condition(tx, 2)
	}
}

// checkPages walks through the rows of a statement and compares them with those that it finds without pages.
func checkPages(t *testing.T, db *gorm.DB, s steps, limit int, desc bool) {
	t.Helper()
	var want, got []snowflake.ID
	order := clause.OrderByColumn{Column: clause.Column{Name: "id"}, Desc: desc}
	must(t, s.statement(db, nil).Order(order).Pluck("id", &want))
	page := gormplugin.Page{Limit: limit, Desc: desc}
	for more := true; more; {
		var ids []snowflake.ID
		must(t, s.statement(db, &page).Pluck("id", &ids))
		got = append(got, ids...)
		var err error
		page, more, err = gormplugin.NextPage(page, ids, func(id snowflake.ID) snowflake.ID { return id })
		noError(t, err)
		if len(got) > wares {
			break // it does not end
		}
	}

	if !slices.Equal(got, want) {
		t.Errorf("steps %v, %d rows a page, desc %v:\npages of %v\nwant     %v\n%s", []byte(s), limit, desc, got, want,
			db.ToSQL(func(db *gorm.DB) *gorm.DB { return s.statement(db, &page).Find(&[]ware{}) }))
	}
}

func TestPagesHaveExactlyTheRowsOfTheWholeQuery(t *testing.T) {
	eachHourly(t, func(t *testing.T, db *gorm.DB) {
		createWares(t, db)
		random := rand.New(rand.NewPCG(3, 4))
		for range 150 {
			s := make(steps, 30)
			for i := range s {
				s[i] = byte(random.IntN(256))
			}
			checkPages(t, db, s, 1+random.IntN(12), random.IntN(2) == 0)
			if t.Failed() {
				return
			}
		}
	}, &ware{})
}

func FuzzPages(f *testing.F) {
	f.Add([]byte{1, 2, 0, 0, 1, 1, 0, 1, 2, 2, 0}, byte(3), false) // a page before `a = 1 OR a = 2`
	f.Add([]byte{1, 2, 2, 0, 1, 1, 0, 1, 2, 2, 0}, byte(3), true)  // and after it
	f.Add([]byte{0, 1, 0, 0, 1, 1, 1}, byte(1), false)             // a raw OR
	f.Add([]byte("000271!2000200y10171019"), byte(180), false)
	f.Add([]byte("0000000200000090000"), byte(0), true)
	f.Add([]byte("100221920000002100z1019"), byte('*'), true)
	db, _ := openWith(f, testdb.SQLite(f), gormplugin.New(hourly()), &ware{})
	createWares(f, db)
	f.Fuzz(func(t *testing.T, s []byte, limit byte, desc bool) {
		checkPages(t, db, s, 1+int(limit)%20, desc)
	})
}
