package gormplugin_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"

	"github.com/sqlflake/sqlflake/internal/skip"
	"github.com/sqlflake/sqlflake/snowflake"
)

// tongue has a column whose default the database computes, so GORM has it returned.
type tongue struct {
	ID   snowflake.ID `gorm:"type:int"`
	Nick string       `gorm:"size:20;default:null"`
	At   time.Time    `gorm:"type:timestamp;default:CURRENT_TIMESTAMP"`
}

type speaker struct {
	ID       snowflake.ID `gorm:"type:int"`
	Tongues  []*tongue    `gorm:"many2many:speaker_tongues"`
	NativeID *snowflake.ID
	Native   *tongue
}

// GORM writes associations that exist with DO NOTHING, so changes of theirs wait in the record until it is saved.
func TestChangesOfAssociationsThatExistAreKept(t *testing.T) {
	for name, save := range map[string]func(tx *gorm.DB, a, b *tongue) error{
		"many to many": func(tx *gorm.DB, a, b *tongue) error {
			return tx.Save(&speaker{ID: 1, Tongues: []*tongue{a, b}}).Error
		},
		"many to many, with a new one": func(tx *gorm.DB, a, b *tongue) error {
			return tx.Save(&speaker{ID: 1, Tongues: []*tongue{{Nick: "new", At: time.Now()}, b, a}}).Error
		},
		"belongs to, of a list": func(tx *gorm.DB, a, b *tongue) error {
			return tx.Create(&[]speaker{{Native: a}, {Native: b}}).Error
		},
		"belongs to": func(tx *gorm.DB, a, _ *tongue) error { return tx.Create(&speaker{Native: a}).Error },
		"DO NOTHING": func(tx *gorm.DB, a, b *tongue) error {
			return tx.Clauses(nothing).Create([]*tongue{a, {Nick: "new", At: time.Now()}, b}).Error
		},
	} {
		t.Run(name, func(t *testing.T) {
			eachUpsert(t, withoutConstraints, func(t *testing.T, db *env) {
				must(t, db.Create(&[]tongue{{ID: 1, Nick: "old"}, {ID: 2, Nick: "old"}}))
				var loaded []*tongue
				must(t, db.Order("id").Find(&loaded))
				loaded[0].Nick = "changed"
				noError(t, save(db.DB, loaded[0], loaded[1]))
				equal(t, "nick in the record", loaded[0].Nick, "changed")
				must(t, db.Save(loaded[0]))
				equal(t, "rows", db.count(t, "tongues", "id = 1 AND nick = 'changed'"), 1)
			}, &tongue{}, &speaker{})
		})
	}
}

func TestAssociationsThatExistTakeNoQueries(t *testing.T) {
	eachUpsert(t, gorm.Config{}, func(t *testing.T, db *env) {
		s := speaker{ID: 1}
		for i := range 250 {
			s.Tongues = append(s.Tongues, &tongue{ID: snowflake.ID(i + 1), At: time.Now()})
		}
		must(t, db.Create(&s))
		db.log.take()
		noError(t, db.Model(&s).Association("Tongues").Append(s.Tongues[0], s.Tongues[1]))
		if extra := db.log.takeLike("SELECT"); len(extra) > 0 {
			t.Errorf("%d SELECTs, first %s", len(extra), extra[0])
		}
	}, &tongue{}, &speaker{})
}

// motto is skipped by its text, and has a column that RETURNING brings.
type motto struct {
	ID    snowflake.ID `gorm:"type:int"`
	Text  string       `gorm:"uniqueIndex;size:20"`
	State string       `gorm:"size:20;default:(lower('X'))"`
}

// GORM replaces a slice by the rows of RETURNING *, but only the header that it was given.
func TestASkippedRecordHasNoKeyWhateverIsReturned(t *testing.T) {
	for name, create := range map[string]func(tx *gorm.DB, records []motto) error{
		"batches of 1": func(tx *gorm.DB, records []motto) error { return tx.CreateInBatches(&records, 1).Error },
		"batches of 2": func(tx *gorm.DB, records []motto) error { return tx.CreateInBatches(records, 2).Error },
		"by value":     func(tx *gorm.DB, records []motto) error { return tx.Create(records).Error },
		"by pointer":   func(tx *gorm.DB, records []motto) error { return tx.Create(&records).Error },
	} {
		for _, returning := range [][]clause.Column{nil, {{Name: "id"}}, {{Name: "text"}}} {
			t.Run(fmt.Sprint(name, returning), func(t *testing.T) {
				each(t, func(t *testing.T, db *env) {
					must(t, db.Create(&motto{ID: 5, Text: "b"}))
					records := []motto{{Text: "a"}, {Text: "b"}, {Text: "c"}}
					noError(t, create(db.Clauses(nothing, clause.Returning{Columns: returning}), records))
					equal(t, "records", len(records), 3)
					for _, r := range records {
						met := r.ID == 5 && db.mysql // MariaDB returns the row that was met
						if skipped := r.Text == "b" && (r.ID == 0 || met); !skipped {
							equal(t, "row of "+r.Text, db.count(t, "mottos", "id = ? AND text = ?", r.ID, r.Text), 1)
						}
						if r.Text != "b" && len(returning) == 0 && !db.target.IsMySQL() { // which has no RETURNING
							equal(t, "state of "+r.Text, r.State, "x")
						}
					}
				}, &motto{})
			})
		}
	}
}

func TestAListWithReturnedColumnsTakesNoQueriesThatItDoesNotNeed(t *testing.T) {
	eachWith(t, gorm.Config{}, func(t *testing.T, db *env) {
		if db.mysql {
			skip.Inapplicable(t, "RETURNING of MariaDB brings skipped rows too")
		}
		records := []motto{{Text: "a"}, {Text: "b"}}
		must(t, db.Clauses(nothing).Create(&records))
		one := motto{Text: "c"}
		must(t, db.Clauses(nothing).Create(&one))
		equal(t, "SELECTs", len(db.log.takeLike("SELECT")), 0)
		again := []motto{{ID: 9, Text: "d"}, {Text: "a"}, {Text: "e"}, {Text: "f"}}
		third := "x"
		if db.target.Name != "sqlite" { // which knows no DEFAULT among values
			again[2].State, third = "mine", "mine"
		}
		must(t, db.Clauses(nothing).Create(&again))
		equal(t, "SELECTs", len(db.log.takeLike("SELECT")), 1)
		keys, states := make([]snowflake.ID, len(again)), make([]string, len(again))
		for i, r := range again {
			keys[i], states[i] = r.ID, r.State
		}
		if keys[0] != 9 || keys[1] != 0 || keys[2] == 0 || keys[3] == 0 {
			t.Errorf("keys %v", keys)
		}
		if want := []string{"x", "", third, "x"}; !slices.Equal(states, want) {
			t.Errorf("states %q, want %q", states, want)
		}
	}, &motto{})
}
