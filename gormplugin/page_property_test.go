package gormplugin_test

import (
	"math/rand/v2"
	"slices"
	"testing"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"

	"github.com/sqlflake/sqlflake/gormplugin"
	"github.com/sqlflake/sqlflake/internal/testdb"
	"github.com/sqlflake/sqlflake/snowflake"
)

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
	switch s.take(10) {
	case 0:
		return add("a = ?", x)
	case 1:
		return add("a = ? OR b = ?", x, y)
	case 2:
		return add("a < ? AND b > ?", x, y)
	case 3:
		return add(map[string]any{"a": x, "b": []int{x, y}})
	case 4:
		return add(clause.Or(clause.Eq{Column: "a", Value: x}, clause.Neq{Column: "b", Value: y}))
	case 5:
		return add(clause.Or(clause.Eq{Column: "b", Value: y}))
	case 6:
		return add(gormplugin.CreatedBetween(hour(5*x), hour(5*x+10*y)))
	case 7:
		return add("a = @x or b = @y", map[string]any{"x": x, "y": y})
	case 8:
		if depth > 0 {
			group := s.condition(db.Session(&gorm.Session{NewDB: true}), depth-1)
			return add(s.condition(group, depth-1))
		}
		return add("b", y)
	default:
		return db.Scopes(func(db *gorm.DB) *gorm.DB { return db.Or("a > ?", x) })
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
	order := "id"
	if desc {
		order = "id DESC"
	}
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
