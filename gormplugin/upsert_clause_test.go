package gormplugin_test

import (
	"fmt"
	"maps"
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
				equals(t, "columns of the clause", after.Columns, before.Columns...)

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
				clauses := tx.Statement.Clauses
				equals(t, "clauses", slices.Sorted(maps.Keys(clauses)), "INSERT", "ON CONFLICT", "VALUES")
				equal(t, "the clause is as it was", reflect.DeepEqual(clauses["ON CONFLICT"].Expression, conflict), true)
				equal(t, "result that is left", tx.Statement.Result, nil)
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
		equals(t, "statements", with, without...)
		equal(t, "enough statements", len(with) >= 10, true)
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

	eachMySQL(t, gorm.Config{}, func(t *testing.T, db *env) { // the trap is its LAST_INSERT_ID
		for _, conflict := range []clause.OnConflict{byCode, nothing} {
			tickets, c := []ticket{{Code: "a"}, {Code: "b"}}, ticket{Code: "c"}
			create(t, db.Clauses(conflict).Omit("No"), &tickets, &c)
			for _, got := range append(tickets, c) {
				equal(t, "row", db.count(t, "tickets", "id = ? AND code = ?", got.ID, got.Code), 1)
			}
			must(t, db.Where("1 = 1").Delete(&ticket{}))
		}
	}, &ticket{})
}

func TestWithoutAConflictTargetUnknownKeysAreZeroAndNoOrphans(t *testing.T) {
	noTarget := clause.OnConflict{DoUpdates: byCode.DoUpdates}
	eachMySQL(t, withoutConstraints, func(t *testing.T, db *env) { // which takes DO UPDATE without a target
		key := withBerlin(t, db)
		one := city{Code: "BER", Name: "one", Streets: []street{{Name: "Allee"}}}
		cities := []city{{Code: "BER", Name: "two"}, {Code: "PAR", Name: "Paris"}}
		create(t, db.Clauses(noTarget), &one, &cities)
		want := snowflake.ID(0)
		if db.returning() {
			want = key
		}
		wantIDs(t, []city{one, cities[0]}, key, want)
		equal(t, "rows", db.count(t, "cities", "id = ? AND code = 'PAR'", cities[1].ID), 1)

		more := []city{{Code: "BER", Name: "three", Streets: []street{{Name: "Ring"}}}, {Code: "ROM"}}
		err := db.Clauses(noTarget).Create(&more).Error
		if !db.returning() {
			wantError(t, err, gormplugin.ErrKeyUnknown)
			db.wantCounts(t, map[string]int{"cities WHERE code = 'ROM'": 0})
		}
		db.wantCounts(t, map[string]int{"streets WHERE city_id NOT IN (SELECT id FROM cities)": 0})
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
		first, second, words := word{Text: "a"}, word{Text: "a"}, []word{{Text: "b"}, {Text: "a"}}
		create(t, db.DB, &first, &second, &words)
		wantIDs(t, []word{first, second, words[1]}, firstID, 0, 0)
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
	target := testdb.MariaDB(t)
	db := openBy(t, target, withoutReturning(target), withoutConstraints, []any{&kid{}, &head{}, &city{}, &bare{}})
	must(t, db.Save(&[]city{{Code: "c"}, {ID: 9, Code: "d"}}))
	create(t, db.Clauses(byCode), &city{Code: "a"}, &[]city{{Code: "a"}, {ID: 7, Code: "b"}})
	create(t, db.Clauses(nothing), &city{Code: "a"})
	create(t, db.Session(&gorm.Session{FullSaveAssociations: true}), &head{Up: &kid{}, One: &kid{}, Many: []*kid{{}, {ID: 8}}})
	create(t, db.DB, &head{Up: &kid{}, One: &kid{}, Many: []*kid{{}, {ID: 8}}, Tags: []*kid{{}}})

	for _, insert := range db.log.takeLike("INSERT") {
		_, assigned, upsert := strings.Cut(insert, "ON DUPLICATE KEY UPDATE")
		if !upsert {
			continue
		}
		wantNoText(t, " "+strings.ReplaceAll(assigned, ",", " "), " `id`=")
		for _, key := range []string{"`one_of`", "`many_of`"} { // else they would be computed
			wantNoText(t, strings.ReplaceAll(assigned, key+"=VALUES("+key+")", ""), key)
		}
		if !strings.Contains(insert, "head_kids") { // which refuses no repeats
			wantText(t, assigned, "EXP(")
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
	eachUpsert(t, withoutConstraints, func(t *testing.T, db *env) {
		for i := range 5 {
			must(t, db.Where("1 = 1").Delete(&tongue{}))
			must(t, db.Create(&[]tongue{{ID: 1, Nick: "old"}, {ID: 2, Nick: "old"}}))
			var loaded []*tongue
			must(t, db.Order("id").Find(&loaded))
			a, b, added, id := loaded[0], loaded[1], &tongue{Nick: "new", At: time.Now()}, snowflake.ID(i+1)
			a.Nick = "changed"

			way := []struct {
				write func(any) *gorm.DB
				value any
			}{
				{db.Save, &speaker{ID: id, Tongues: []*tongue{a, b}}},
				{db.Save, &speaker{ID: id, Tongues: []*tongue{added, b, a}}},
				{db.Create, &[]speaker{{Native: a}, {Native: b}}},
				{db.Create, &speaker{Native: a}},
				{db.Clauses(nothing).Create, []*tongue{a, added, b}},
			}[i]
			must(t, way.write(way.value))
			equal(t, fmt.Sprintf("nick in the record by way %d", i), a.Nick, "changed")
			must(t, db.Save(a))
			db.wantCounts(t, map[string]int{"tongues WHERE id = 1 AND nick = 'changed'": 1})
		}
	}, &tongue{}, &speaker{})
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
		equals(t, "SELECTs", db.log.takeLike("SELECT"))
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
	eachOf(t, kinds[:2], gorm.Config{}, func(t *testing.T, db *env) { // RETURNING of MariaDB brings skipped rows too
		create(t, db.Clauses(nothing), &[]motto{{Text: "a"}, {Text: "b"}}, &motto{Text: "c"})
		equal(t, "SELECTs", len(db.log.takeLike("SELECT")), 0)
		again := []motto{{ID: 9, Text: "d"}, {Text: "a"}, {Text: "e"}, {Text: "f"}}
		third := "x"
		if db.target.Name != "sqlite" { // which knows no DEFAULT among values
			again[2].State, third = "mine", "mine"
		}

		must(t, db.Clauses(nothing).Create(&again))
		equal(t, "SELECTs", len(db.log.takeLike("SELECT")), 1)
		var states []string
		for _, r := range again {
			states = append(states, r.State)
			equal(t, "rows of "+r.Text, db.count(t, "mottos", "id = ? AND text = ?", r.ID, r.Text) == 1, r.Text != "a")
		}

		wantIDs(t, again[:2], 9, 0)
		equals(t, "states", states, "x", "", third, "x")
	}, []any{&motto{}})
}
