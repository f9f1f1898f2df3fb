package gormplugin_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"reflect"
	"slices"
	"strconv"
	"testing"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"

	"github.com/sqlflake/sqlflake/snowflake"
)

// thing has generated columns of two types beside its key.
type thing struct {
	ID     snowflake.ID `gorm:"primaryKey;type:int"`
	Code   string       `gorm:"uniqueIndex;size:20"`
	Name   string
	Public int64  `gorm:"snowflake"`
	Label  string `gorm:"snowflake;size:20"`
	Parts  []part
	Hook   int64 `gorm:"-"` // what BeforeCreate makes Public
}

type part struct {
	ID      snowflake.ID `gorm:"primaryKey;type:int"`
	ThingID snowflake.ID
}

func (x *thing) BeforeCreate(*gorm.DB) error {
	if x.Hook != 0 {
		x.Public = x.Hook
	}
	return nil
}

// richThing has a column that RETURNING brings.
type richThing struct {
	Thing thing  `gorm:"embedded"`
	State string `gorm:"size:20;default:(lower('X'))"`
}

func (richThing) TableName() string { return "things" }

// randomUpsert is one Create and what it means.
type randomUpsert struct {
	clause.OnConflict
	setsName, setsPublic, setsLabel, byKey bool
}

func randomUpserts(mysql bool) []randomUpsert {
	excluding := by("code", "name")
	excluding.Where.Exprs = []clause.Expression{clause.Expr{SQL: "things.name = ?", Vars: []any{"nobody's"}}}
	return []randomUpsert{
		{OnConflict: clause.OnConflict{DoNothing: true}},
		{OnConflict: by("code", "name"), setsName: true},
		{OnConflict: by("code", "public", "label"), setsPublic: true, setsLabel: true},
		{OnConflict: by("code", "label"), setsLabel: true},
		{OnConflict: clause.OnConflict{Columns: byCode.Columns, UpdateAll: true}, setsName: true, setsPublic: true, setsLabel: true},
		{OnConflict: clause.OnConflict{UpdateAll: true}, setsName: true, setsPublic: true, setsLabel: true, byKey: true},
		{OnConflict: by(clause.PrimaryKey, "name", "public"), setsName: true, setsPublic: true, byKey: true},
		{OnConflict: excluding, setsName: mysql}, // MySQL has no such WHERE, and GORM leaves it out
	}
}

// TestRandomUpsertsLeaveRecordsAndRowsAsAModelSays compares each record and all rows with a model of the rules.
func TestRandomUpsertsLeaveRecordsAndRowsAsAModelSays(t *testing.T) {
	eachUpsert(t, withoutConstraints, func(t *testing.T, db *env) {
		random := rand.New(rand.NewPCG(5, 6))
		rows, fresh := map[string]thing{}, int64(1000)
		next := func() int64 { fresh++; return fresh }
		upserts := randomUpserts(db.mysql)
		for round := range 150 {
			u, rich := upserts[random.IntN(len(upserts))], random.IntN(2) == 0
			given := make([]thing, 1+random.IntN(4))
			for i, k := range random.Perm(8)[:len(given)] {
				x := thing{Code: string(rune('a' + k)), Name: strconv.Itoa(round)}
				if row, exists := rows[x.Code]; exists && (u.byKey || random.IntN(4) == 0) {
					x.ID = row.ID
				} else if random.IntN(4) == 0 {
					x.ID = snowflake.ID(next())
				}

				if random.IntN(3) == 0 {
					x.Public = next()
				}

				if random.IntN(3) == 0 {
					x.Label = fmt.Sprint("mine", next())
				}

				given[i] = x
			}

			got := createThings(t, db, random, u.OnConflict, rich, given)
			for i, x := range given {
				row, exists := rows[x.Code]
				want := got[i] // of a new row
				switch {
				case exists && u.DoNothing:
					want = x
				case exists:
					if u.setsName {
						row.Name = x.Name
					}
					if u.setsPublic && x.Public != 0 {
						row.Public = x.Public
					}
					if u.setsLabel && x.Label != "" {
						row.Label = x.Label
					}
					want = row
					if x.Public != 0 { // elsewhere than in MySQL the record takes over the row's also if it is not written
						want.Public = got[i].Public
					}
					if x.Label != "" {
						want.Label = got[i].Label
					}

				default:
					row = got[i]
					if row.ID == 0 || row.Public == 0 || row.Label == "" || x.ID != 0 && row.ID != x.ID {
						t.Fatalf("round %d: %+v was given %+v and inserted", round, got[i], x)
					}
				}

				if got[i].ID != want.ID || got[i].Public != want.Public || got[i].Label != want.Label {
					t.Fatalf("round %d, %+v: %+v became %+v, want %+v", round, u, x, got[i], want)
				}

				rows[x.Code] = row
			}

			var found []thing
			must(t, db.Find(&found))
			equal(t, "rows", len(found), len(rows))
			for _, row := range found {
				if want := rows[row.Code]; row.ID != want.ID || row.Name != want.Name || row.Public != want.Public || row.Label != want.Label {
					t.Fatalf("round %d, %+v: the row is %+v, want %+v", round, u, row, want)
				}
			}

			if random.IntN(3) == 0 {
				gone := rows[string(rune('a'+random.IntN(8)))]
				must(t, db.Delete(&thing{}, "code = ?", gone.Code))
				must(t, db.Delete(&part{}, "thing_id = ?", gone.ID))
				delete(rows, gone.Code)
			}
		}

		equal(t, "parts without a thing", db.count(t, "parts", "thing_id NOT IN (SELECT id FROM things)"), 0)
	}, &richThing{}, &part{})
}

// createThings creates the things in a random shape, and returns them as they are afterwards.
func createThings(t *testing.T, db *env, random *rand.Rand, conflict clause.OnConflict, rich bool, given []thing) []thing {
	got, tx := slices.Clone(given), db.Clauses(conflict)
	switch shape := random.IntN(4); {
	case shape == 0: // maps
		all := make([]map[string]any, len(given))
		for i, x := range given {
			all[i] = map[string]any{"Code": x.Code, "name": x.Name}
			maps.Copy(all[i], map[string]any{"id": x.ID, "public": x.Public, "label": x.Label})
			maps.DeleteFunc(all[i], func(_ string, v any) bool { return reflect.ValueOf(v).IsZero() })
		}
		if len(all) == 1 {
			must(t, tx.Model(&thing{}).Create(all[0]))
		} else {
			must(t, tx.Model(&thing{}).Create(&all))
		}
		for i, m := range all {
			got[i].ID, _ = m["id"].(snowflake.ID)
			got[i].Public, _ = m["public"].(int64)
			got[i].Label, _ = m["label"].(string)
		}

	case rich:
		all := make([]*richThing, len(given))
		state := ""
		if random.IntN(3) == 0 {
			state = "mine"
		}
		for i, x := range given {
			all[i] = &richThing{x, state}
		}
		must(t, tx.Create(&all))
		for i := range all {
			got[i] = all[i].Thing
		}

	default:
		for i := range got {
			if got[i].Public != 0 && random.IntN(2) == 0 {
				got[i].Hook, got[i].Public = got[i].Public, 0
			}
			if !conflict.DoNothing {
				got[i].Parts = []part{{}}
			}
		}
		if len(got) == 1 {
			must(t, tx.Create(&got[0]))
		} else {
			must(t, tx.Create(&got))
		}
	}

	return got
}
