package gormplugin_test

import (
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"
	"gorm.io/gorm/schema"

	"github.com/sqlflake/sqlflake/gormplugin"
	"github.com/sqlflake/sqlflake/internal/skip"
	"github.com/sqlflake/sqlflake/internal/testdb"
	"github.com/sqlflake/sqlflake/snowflake"
)

func TestAReturningClauseOfTheCallerIsKept(t *testing.T) {
	for name, own := range map[string]clause.Returning{
		"other columns": {Columns: []clause.Column{{Name: "name"}}},
		"the key":       {Columns: []clause.Column{{Name: "id"}}},
		"all columns":   {},
		"star":          {Columns: []clause.Column{{Name: "*", Raw: true}}},
	} {
		t.Run(name, func(t *testing.T) {
			eachWith(t, withoutConstraints, func(t *testing.T, db *env) {
				key := withBerlin(t, db)
				tx := db.Clauses(byCode, own)
				before := tx.Statement.Clauses["RETURNING"].Expression.(clause.Returning)
				c := city{Code: "BER", Name: "Berlin, Stadt", Streets: []street{{Name: "Allee"}}}
				must(t, tx.Create(&c))
				equal(t, "key", c.ID, key)
				wantCities(t, db, c)
				after := tx.Statement.Clauses["RETURNING"].Expression.(clause.Returning)
				if !slices.Equal(after.Columns, before.Columns) {
					t.Errorf("the clause is %v afterwards, was %v", after, before)
				}

				skipped, cities := city{Code: "BER"}, []city{{Code: "BER"}, {Code: "PAR", Name: "Paris"}, {Code: "BER"}}
				must(t, db.Clauses(nothing, own).Create(&skipped))
				if db.mysql && db.returning() && name != "other columns" { // MariaDB returns the row that was met
					equal(t, "key of the skipped record", skipped.ID, key)
				}
				must(t, db.Clauses(nothing, own).Create(&cities))
				for _, got := range append(cities, skipped) { // GORM keeps only PAR if all columns are returned
					if want := db.count(t, "cities", "id = ? AND code = ?", got.ID, got.Code); (got.ID != 0) != (want == 1) {
						t.Errorf("key %d of %s: %d rows", got.ID, got.Code, want)
					}
					if got.ID == 0 && got.Code == "PAR" {
						t.Error("the inserted record has no key")
					}
				}
			}, &city{}, &street{})
		})
	}
}

func TestTheStatementIsAsItWasAfterAnUpsert(t *testing.T) {
	eachUpsert(t, withoutConstraints, func(t *testing.T, db *env) {
		withBerlin(t, db)
		for _, conflict := range []clause.OnConflict{byCode, nothing} {
			dry := city{Code: "BER"}
			must(t, db.DryRun().Clauses(conflict).Create(&dry))
			equal(t, "key after a dry run", dry.ID, 0)
			tx := db.Clauses(conflict)
			for range 2 { // the same statement again
				must(t, tx.Create(&city{Code: "BER", Name: "again"}))
				if _, there := tx.Statement.Clauses["RETURNING"]; there {
					t.Error("RETURNING is left in the statement")
				}
				if left := tx.Statement.Clauses["ON CONFLICT"].Expression; !reflect.DeepEqual(left, conflict) {
					t.Errorf("the conflict clause is %+v, was %+v", left, conflict)
				}
				if _, gorms := tx.Statement.Clauses["VALUES"]; !gorms {
					t.Error("a clause of GORM is missing in the statement")
				}
				if _, left := tx.Statement.Clauses["snowflake:insert"]; left || tx.Statement.Result != nil {
					t.Error("a result or a clause of the plugin is left in the statement")
				}
			}
		}
	}, &city{}, &street{})
}

// statements returns what GORM runs for a create with preset keys, with the plugin or without it.
func statements(t *testing.T, db *env, plugin bool, record any) []string {
	t.Helper()
	h := db.handle
	if !plugin {
		h = openHandle(t, db.Dialector, gorm.Config{})
	}
	tx := h.Begin()
	defer tx.Rollback()
	h.log.take()
	must(t, tx.Create(record))
	full := h.log.take()
	must(t, tx.Session(&gorm.Session{FullSaveAssociations: true}).Save(record))
	return append(full, h.log.take()...)
}

func TestAssociationsWithKeysRunTheSameStatementsAsWithoutThePlugin(t *testing.T) {
	eachUpsert(t, gorm.Config{}, func(t *testing.T, db *env) {
		record := func() *person {
			return &person{
				ID: 1, Name: "ada", Company: &company{ID: 2, Name: "acme"}, Passport: passport{ID: 3, Number: "1"},
				Pets: []*pet{{ID: 4, Name: "cat", Toys: []toy{{ID: 5, Name: "ball"}}}}, Tags: []tag{{ID: 6, Name: "red"}},
				Manager: &person{ID: 7, Name: "bob", Passport: passport{ID: 8}},
			}
		}
		with, without := statements(t, db, true, record()), statements(t, db, false, record())
		if !slices.Equal(with, without) {
			t.Errorf("with the plugin:\n%q\nwithout:\n%q", with, without)
		}
		if len(with) < 10 {
			t.Errorf("%d statements only", len(with))
		}
		wantCalls(t, db.gen)
	}, people()...)
}

// grant has a column that the database fills, and one that a caller may have returned.
type grant struct {
	ID    snowflake.ID `gorm:"primaryKey;type:int"`
	Code  string       `gorm:"uniqueIndex;size:20"`
	Rank  int
	Token string        `gorm:"size:40;default:(md5(random()))"`
	Local string        `gorm:"-"`
	Note  *snowflake.ID // GORM leaves a pointer to a Scanner as it is if it scans NULL
}

// GORM assigns the rows of RETURNING to the records by their order. A row that is missing shifts them.
func TestARecordHasTheColumnsOfNoOtherRow(t *testing.T) {
	lower := clause.OnConflict{
		Columns: []clause.Column{{Name: "code"}}, DoUpdates: clause.AssignmentColumns([]string{"rank"}),
		Where: clause.Where{Exprs: []clause.Expression{clause.Lt{Column: clause.Column{Table: "grants", Name: "rank"}, Value: 5}}},
	}
	eachWith(t, gorm.Config{}, func(t *testing.T, db *env) {
		expression := map[string]string{
			"sqlite": "(lower(hex(randomblob(16))))", "postgres": "md5(random()::text)", "mariadb": "(uuid())",
		}[db.target.Name]
		must(t, db.Exec("CREATE TABLE grants (id bigint PRIMARY KEY, code varchar(20) UNIQUE, "+db.Statement.Quote("rank")+
			" bigint, note bigint, token varchar(40) DEFAULT "+expression+")"))
		note := snowflake.ID(3)
		must(t, db.Create(&[]grant{{ID: 7, Code: "a", Rank: 9, Note: &note}, {ID: 8, Code: "e", Rank: 1}}))
		returns := map[string]clause.Expression{
			"nothing": nil, "all": clause.Returning{}, "the note": clause.Returning{Columns: []clause.Column{{Name: "note"}}},
			"an expression": clause.Returning{Columns: []clause.Column{{Name: "upper(token) AS token", Raw: true}}},
		}
		for name, own := range returns {
			for _, conflict := range []clause.OnConflict{lower, nothing} {
				clauses := []clause.Expression{conflict}
				if own != nil {
					clauses = append(clauses, own)
				}
				b, c := name+strconv.FormatBool(conflict.DoNothing), "c"+name+strconv.FormatBool(conflict.DoNothing)
				records := []*grant{{Code: "a"}, {Code: b, Note: &note}, {ID: 8, Code: "e"}, {Code: c}}
				if db.target.Name != "sqlite" { // which knows no DEFAULT among values
					records[1].Token = "mine" + b
				}
				if own != nil && !db.mysql { // which returns all rows, and GORM scans them
					records[2].Note = &note
				}
				must(t, db.Clauses(clauses...).Create(&records))
				for _, r := range records {
					var row grant
					must(t, db.Take(&row, "code = ?", r.Code))
					skipped := conflict.DoNothing && r.Code == "a"
					brought := (own == nil || name == "all") && (r.ID >= firstID || db.mysql && !skipped) &&
						!db.target.IsMySQL() // which has no RETURNING
					if r.ID != row.ID && (r.ID != 0 || !skipped) ||
						!strings.EqualFold(r.Token, row.Token) && (r.Token != "" || brought) ||
						r.Note != nil && r.Note != &note && (row.Note == nil || *r.Note != *row.Note) {
						t.Errorf("returning %s, nothing %v: %s is %s, its row is %s",
							name, conflict.DoNothing, r.Code, inJSON(t, r), inJSON(t, row))
					}
				}
				type other grant // GORM finds its fields by their positions when it writes, and by their names when it reads
				others := []other{{Code: "a"}, {Code: b + "!"}}
				must(t, db.Model(&grant{}).Clauses(clauses...).Create(&others))
				for _, r := range others {
					if r.ID != 0 {
						equal(t, "row of "+r.Code, db.count(t, "grants", "id = ? AND code = ?", r.ID, r.Code), 1)
					}
					if r.Token != "" {
						equal(t, "token of "+r.Code, db.count(t, "grants", "lower(token) = lower(?) AND code = ?", r.Token, r.Code), 1)
					}
				}
			}
		}
	})
}

func TestAnotherAutoIncrementColumnIsNotMistakenForTheKey(t *testing.T) {
	type ticket struct {
		ID   snowflake.ID `gorm:"primaryKey;type:int"`
		Code string       `gorm:"uniqueIndex;size:20"`
		No   int64        `gorm:"autoIncrement;uniqueIndex"`
		Name string
	}
	eachUpsert(t, gorm.Config{}, func(t *testing.T, db *env) {
		if !db.mysql {
			skip.Inapplicable(t, "the trap is LAST_INSERT_ID of MySQL")
		}
		for _, conflict := range []clause.OnConflict{byCode, nothing} {
			tickets := []ticket{{Code: "a"}, {Code: "b"}}
			must(t, db.Clauses(conflict).Omit("No").Create(&tickets))
			c := ticket{Code: "c"}
			must(t, db.Clauses(conflict).Omit("No").Create(&c))
			for _, got := range append(tickets, c) {
				equal(t, "row", db.count(t, "tickets", "id = ? AND code = ?", got.ID, got.Code), 1)
			}
			must(t, db.Where("1 = 1").Delete(&ticket{}))
		}
	}, &ticket{})
}

func TestWithoutAConflictTargetUnknownKeysAreZeroAndNoOrphans(t *testing.T) {
	noTarget := clause.OnConflict{DoUpdates: byCode.DoUpdates}
	eachUpsert(t, withoutConstraints, func(t *testing.T, db *env) {
		if !db.mysql {
			skip.Inapplicable(t, "only MySQL takes DO UPDATE without a target here")
		}
		key := withBerlin(t, db)
		one := city{Code: "BER", Name: "one", Streets: []street{{Name: "Allee"}}}
		must(t, db.Clauses(noTarget).Create(&one))
		equal(t, "key of a single record", one.ID, key)

		cities := []city{{Code: "BER", Name: "two"}, {Code: "PAR", Name: "Paris"}}
		must(t, db.Clauses(noTarget).Create(&cities))
		want := snowflake.ID(0)
		if db.returning() {
			want = key
		}
		equal(t, "key in a batch", cities[0].ID, want)
		equal(t, "rows", db.count(t, "cities", "id = ? AND code = 'PAR'", cities[1].ID), 1)

		more := []city{{Code: "BER", Name: "three", Streets: []street{{Name: "Ring"}}}, {Code: "ROM"}}
		err := db.Clauses(noTarget).Create(&more).Error
		if !db.returning() {
			wantError(t, err, gormplugin.ErrKeyUnknown)
			equal(t, "cities", db.count(t, "cities", "code = 'ROM'"), 0)
		}
		equal(t, "streets without a city", db.count(t, "streets", "city_id NOT IN (SELECT id FROM cities)"), 0)
	}, &city{}, &street{})
}

// upserted is a column whose type brings a conflict clause.
type upserted string

func (upserted) CreateClauses(*schema.Field) []clause.Interface { return []clause.Interface{nothing} }

func TestAConflictClauseOfAColumnsTypeCounts(t *testing.T) {
	type word struct {
		ID   snowflake.ID `gorm:"primaryKey;type:int"`
		Text upserted     `gorm:"uniqueIndex;size:20"`
		Name string
	}
	eachUpsert(t, gorm.Config{}, func(t *testing.T, db *env) {
		first, second := word{Text: "a"}, word{Text: "a"}
		must(t, db.Create(&first))
		must(t, db.Create(&second))
		equal(t, "key of the inserted one", first.ID, firstID)
		equal(t, "key of the skipped one", second.ID, 0)
		words := []word{{Text: "b"}, {Text: "a"}}
		must(t, db.Create(&words))
		equal(t, "key of the skipped one in a batch", words[1].ID, 0)
		equal(t, "row", db.count(t, "words", "id = ? AND text = 'b'", words[0].ID), 1)

		again := word{Text: "a", Name: "again"} // Unscoped leaves the clauses of types out
		must(t, db.Unscoped().Clauses(by("text", "name")).Create(&again))
		equal(t, "key of the updated row", again.ID, firstID)
	}, &word{})
}

// Vitess refuses an UPDATE of the column that it finds the shard by (VT12001), also one that sets it to itself. For a child
// that may be the foreign key, which GORM sets to its new value: x=VALUES(x) is all that Vitess accepts.
func TestNoUpsertOnMySQLAssignsTheColumnOfTheShard(t *testing.T) {
	type bare struct {
		ID snowflake.ID `gorm:"primaryKey;type:int"`
	}
	db := openBy(t, testdb.MariaDB(t), withoutReturning(testdb.MariaDB(t)), withoutConstraints, []any{&kid{}, &head{}, &city{}, &bare{}})
	full := db.Session(&gorm.Session{FullSaveAssociations: true})
	writes := map[string]func() error{
		"by the code":          func() error { return db.Clauses(byCode).Create(&city{Code: "a"}).Error },
		"by the code, a list":  func() error { return db.Clauses(byCode).Create(&[]city{{Code: "a"}, {ID: 7, Code: "b"}}).Error },
		"DO NOTHING":           func() error { return db.Clauses(nothing).Create(&city{Code: "a"}).Error },
		"Save of a list":       func() error { return db.Save(&[]city{{Code: "c"}, {ID: 9, Code: "d"}}).Error },
		"associations in full": func() error { return full.Create(&head{Up: &kid{}, One: &kid{}, Many: []*kid{{}, {ID: 8}}}).Error },
		"associations": func() error {
			return db.Create(&head{Up: &kid{}, One: &kid{}, Many: []*kid{{}, {ID: 8}}, Tags: []*kid{{}}}).Error
		},
	}
	for name, write := range writes {
		db.log.take()
		noError(t, write())
		for _, insert := range db.log.takeLike("INSERT") {
			_, assigned, upsert := strings.Cut(insert, "ON DUPLICATE KEY UPDATE")
			if upsert && strings.Contains(" "+strings.ReplaceAll(assigned, ",", " "), " `id`=") {
				t.Errorf("%s: %s", name, insert)
			}
			for _, key := range []string{"one_of", "many_of"} {
				if rest := strings.ReplaceAll(assigned, "`"+key+"`=VALUES(`"+key+"`)", ""); strings.Contains(rest, "`"+key+"`") {
					t.Errorf("%s computes %s: %s", name, key, insert)
				}
			}
			if upsert && !strings.Contains(insert, "head_kids") && strings.Count(assigned, "EXP(") == 0 {
				t.Errorf("%s refuses no repeats: %s", name, insert)
			}
		}
	}
	must(t, db.Clauses(nothing).Create(&bare{})) // which has no other column
}

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
