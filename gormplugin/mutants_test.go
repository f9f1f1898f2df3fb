package gormplugin_test

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"strings"
	"testing"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"
	"gorm.io/gorm/logger"

	"github.com/sqlflake/sqlflake/gormplugin"
	"github.com/sqlflake/sqlflake/internal/testdb"
	"github.com/sqlflake/sqlflake/snowflake"
)

// The tests here hold what no other test noticed when one line of the package was changed.

func TestModelsOfOneNameAreToldApart(t *testing.T) {
	db := onSQLite(t)
	tx := db.Session(&gorm.Session{DryRun: true})
	type thing struct {
		ID   snowflake.ID
		Size int64
	}
	first := must(t, tx.Create(&thing{}))
	equal(t, "first", fmt.Sprint(first.Statement.Vars), fmt.Sprint([]any{firstID, 0}))
	{
		type thing struct {
			Size int64
			ID   snowflake.ID
		}
		second := must(t, tx.Create(&thing{}))
		equal(t, "second", fmt.Sprint(second.Statement.Vars), fmt.Sprint([]any{0, firstID + 1}))
	}
}

func TestATaggedFieldThatAnotherShadowsIsNotFilled(t *testing.T) {
	type Base struct {
		Code int64 `gorm:"snowflake"`
	}
	type parcel struct {
		ID snowflake.ID
		Base
		Code int64
	}
	db := onSQLite(t, &parcel{})
	p := parcel{Code: 5}
	must(t, db.Create(&p))
	equal(t, "record", p, parcel{ID: firstID, Code: 5})
	wantCalls(t, db.gen, 1)
}

func TestWithinARecordTheKeyComesFirst(t *testing.T) {
	type receipt struct {
		Before int64 `gorm:"snowflake"`
		ID     snowflake.ID
		After  int64 `gorm:"snowflake"`
	}
	db := onSQLite(t, &receipt{})
	receipts := make([]receipt, 2)
	must(t, db.Create(&receipts))
	for i, got := range receipts {
		next := firstID + snowflake.ID(3*i)
		equal(t, "record", got, receipt{ID: next, Before: int64(next + 1), After: int64(next + 2)})
	}
}

func TestIntegerKeysLeavesKeysWithASerializer(t *testing.T) {
	type moment struct {
		ID   int64 `gorm:"serializer:unixtime;type:datetime"`
		Name string
	}
	target := testdb.SQLite(t)
	db := open(t, target, target.Dialector(), gorm.Config{DryRun: true}, nil, gormplugin.WithIntegerKeys())
	m := moment{}
	must(t, db.Create(&m))
	equal(t, "key", m.ID, 0)
	wantCalls(t, db.gen)
}

func TestDestWithAnUnexportedFieldAtTheKeyIsAnError(t *testing.T) {
	type dto struct {
		id   snowflake.ID
		Name string
	}
	type model struct {
		ID   snowflake.ID
		Name string
	}
	db := onSQLite(t, &model{})
	d := dto{Name: "a"}
	if err := db.Model(&model{}).Create(&d).Error; !errors.Is(err, gorm.ErrInvalidValue) {
		t.Errorf("error %v, want gorm.ErrInvalidValue", err)
	}
	equal(t, "field", d.id, 0)
	db.wantKeys(t, "models")
}

func TestAListOfNoRecordsIsAnErrorThatSaysSo(t *testing.T) {
	db := onSQLite(t, &user{})
	err := db.Model(&user{}).Create(&[]int{1}).Error
	if !errors.Is(err, gorm.ErrInvalidData) || !strings.Contains(err.Error(), "[]int") {
		t.Errorf("error %v, want gorm.ErrInvalidData and the type", err)
	}
}

func TestRecordsThatLackNothingNeedNoGenerator(t *testing.T) {
	type badge struct {
		ID     snowflake.ID
		Number int64 `gorm:"snowflake:numbers"`
	}
	numbers := newCounting()
	target := testdb.SQLite(t)
	db := open(t, target, target.Dialector(), gorm.Config{}, []any{&badge{}, &keyed{}},
		gormplugin.WithNamed("numbers", numbers))
	must(t, db.Create(&[]keyed{{ID: 1}, {ID: 2}}))
	must(t, db.Create(&keyed{ID: 3}))
	wantCalls(t, db.gen)
	must(t, db.Create(&[]badge{{Number: 1}, {Number: 2}}))
	wantCalls(t, db.gen, 2)
	wantCalls(t, numbers)
	must(t, db.Create(&badge{ID: 5}))
	wantCalls(t, db.gen)
	wantCalls(t, numbers, 1)
}

// skipping leaves the first of several IDs at 0.
type skipping struct{}

func (skipping) Fill(_ context.Context, ids []snowflake.ID) error {
	for i := range ids[1:] {
		ids[i+1] = firstID + snowflake.ID(i)
	}
	return nil
}

func TestAZeroAmongOtherIDsIsAnError(t *testing.T) {
	db, err := gorm.Open(testdb.SQLite(t).Dialector(), &gorm.Config{DryRun: true}, gormplugin.New(skipping{}))
	if err != nil {
		t.Fatal(err)
	}
	closeAtEnd(t, db)
	users := named("a", "b", "c")
	if err := db.Create(&users).Error; err == nil || !strings.Contains(err.Error(), "the ID 0") {
		t.Errorf("error %v, want one about the ID 0", err)
	}
	equal(t, "key of the last", users[2].ID, 0)
}

func TestNegativeKeysStayInEveryStatement(t *testing.T) {
	db := onSQLite(t, &user{})
	for i, tx := range []*gorm.DB{db.DB, db.Select("Name"), db.Omit("CreatedAt"), db.Clauses(nothing)} {
		u := user{Model: gormplugin.Model{ID: snowflake.ID(-1 - i)}, Name: "a"}
		must(t, tx.Create(&u))
		equal(t, "key", u.ID, snowflake.ID(-1-i))
	}
	db.wantKeys(t, "users", -1, -2, -3, -4)
	wantCalls(t, db.gen)
}

// broken is a value that cannot be had.
type broken struct{}

var errBroken = errors.New("broken")

func (broken) Value() (driver.Value, error) { return nil, errBroken }

// endless is a value whose value is a value.
type endless struct{}

func (e endless) Value() (driver.Value, error) { return e, nil }

func TestKeysInMapsThatHaveNoValueAreErrorsOfTheDriver(t *testing.T) {
	db := onSQLite(t, &keyed{})
	if err := db.Model(&keyed{}).Create(map[string]any{"id": broken{}}).Error; !errors.Is(err, errBroken) {
		t.Errorf("error %v, want %v", err, errBroken)
	}
	silent := db.Session(&gorm.Session{Logger: logger.Discard}) // GORM's follow such values without an end
	if err := silent.Model(&keyed{}).Create(map[string]any{"id": endless{}}).Error; err == nil {
		t.Error("a value without an end was written")
	}
	wantCalls(t, db.gen)
}

func TestANilPointerInAMapIsNoKey(t *testing.T) {
	db := onSQLite(t, &keyed{})
	m := map[string]any{"id": (*int64)(nil)}
	must(t, db.Model(&keyed{}).Create(m))
	equal(t, "key", m["id"], any(firstID))
}

// presaved adds a conflict clause in BeforeSave.
type presaved struct {
	ID   snowflake.ID `gorm:"primaryKey;type:int"`
	Code string       `gorm:"uniqueIndex;size:20"`
}

func (*presaved) BeforeSave(tx *gorm.DB) error {
	tx.Statement.AddClause(nothing)
	return nil
}

func TestAClauseOfBeforeSaveCounts(t *testing.T) {
	db := onSQLite(t, &presaved{})
	must(t, db.Create(&presaved{Code: "a"}))
	skipped := presaved{Code: "a"}
	must(t, db.Create(&skipped))
	equal(t, "key of the skipped record", skipped.ID, 0)
}

func TestAnUpdateWithoutATargetTakesTheKeyOfTheRow(t *testing.T) {
	db := onSQLite(t, &city{}, &street{})
	key := withBerlin(t, db)
	c := city{Code: "BER", Name: "Berlin, Stadt"}
	must(t, db.Clauses(clause.OnConflict{DoUpdates: clause.AssignmentColumns([]string{"name"})}).Create(&c))
	equal(t, "key", c.ID, key)
}

func TestAnUpsertByTheKeyReturnsNothing(t *testing.T) {
	db := onSQLite(t, &city{}, &street{})
	for _, name := range []string{"id", clause.PrimaryKey} {
		byKey := clause.OnConflict{Columns: []clause.Column{{Name: name}}, DoUpdates: clause.AssignmentColumns([]string{"name"})}
		must(t, db.Clauses(byKey).Create(&city{Code: name}))
		if inserts := db.log.takeLike("INSERT"); len(inserts) != 1 || strings.Contains(inserts[0], "RETURNING") {
			t.Errorf("by %s: %v, want one INSERT without RETURNING", name, inserts)
		}
	}
}

// vault has a field that GORM writes and never reads, and one that the database fills.
type vault struct {
	ID     snowflake.ID `gorm:"type:int"`
	Name   string       `gorm:"uniqueIndex;size:20"`
	Level  int64        `gorm:"check:level < 9"`
	Copied int64
	Code   int64  `gorm:"snowflake;->:false;<-:create"`
	Secret string `gorm:"->:false;<-;default:(lower('X'))"`
}

func TestColumnsThatGORMDoesNotReadAreNotReturned(t *testing.T) {
	type box struct {
		ID     snowflake.ID `gorm:"type:int"`
		Code   string       `gorm:"uniqueIndex;size:20"`
		Name   string
		Secret string `gorm:"->:false;<-;default:(lower('X'))"`
	}
	db := onSQLite(t, &box{})
	must(t, db.Clauses(byCode).Create(&box{Code: "a"}))
	for _, insert := range db.log.takeLike("INSERT") {
		if _, returned, there := strings.Cut(insert, "RETURNING"); !there || strings.Contains(returned, "secret") {
			t.Errorf("%s: want RETURNING without secret", insert)
		}
	}
}

func TestAGeneratedColumnThatGORMDoesNotReadFollowsTheRow(t *testing.T) {
	db := onSQLite(t, &vault{})
	first, again := vault{Name: "a"}, vault{Name: "a"}
	must(t, db.Create(&first))
	must(t, db.Clauses(byNameSetting("level")).Create(&again))
	equal(t, "key", again.ID, first.ID)
	equal(t, "code", again.Code, first.Code)
}

func TestAFailedUpsertTakesTheKeyBackAndAsksNothing(t *testing.T) {
	db := onSQLite(t, &vault{})
	db.log.take()
	v := vault{Name: "a", Level: 10}
	err := db.Clauses(byNameSetting("level")).Create(&v).Error
	if err == nil {
		t.Fatal("the CHECK let 10 in")
	}
	equal(t, "mentions in "+err.Error(), strings.Count(err.Error(), "CHECK"), 1)
	equal(t, "key", v.ID, 0)
	if extra := db.log.takeLike("SELECT"); len(extra) > 0 {
		t.Errorf("extra statements: %v", extra)
	}
}

func TestAnotherColumnMayTakeTheGeneratedValue(t *testing.T) {
	db := onSQLite(t, &vault{})
	first, again := vault{Name: "a"}, vault{Name: "a"}
	must(t, db.Create(&first))
	copies := clause.OnConflict{Columns: []clause.Column{{Name: "name"}}, DoUpdates: clause.Set{
		{Column: clause.Column{Name: "copied"}, Value: clause.Column{Table: "excluded", Name: "code"}},
	}}
	must(t, db.Clauses(copies).Create(&again))
	equal(t, "rows with a copy of the second code", db.count(t, "vaults", "copied = ?", firstID+3), 1)
}

func TestAKeyOfTheCallerIsNotInDoubtWhenASkippedRecordLosesAnotherColumn(t *testing.T) {
	type page struct {
		ID     snowflake.ID
		BookID snowflake.ID
	}
	type book struct {
		ID    snowflake.ID
		Code  int64 `gorm:"snowflake"`
		Pages []page
	}
	db := onSQLite(t, &book{}, &page{})
	must(t, db.Create(&book{ID: 5}))
	b := book{ID: 5, Pages: []page{{}}}
	must(t, db.Clauses(nothing).Create(&b))
	equal(t, "code of the skipped record", b.Code, 0)
	equal(t, "pages of the book", db.count(t, "pages", "book_id = 5"), 1)
}

func TestEveryKindOfAssociationOfASkippedRecordIsAnError(t *testing.T) {
	type seal struct {
		ID       snowflake.ID
		LetterID snowflake.ID
	}
	type label struct {
		ID snowflake.ID
	}
	type letter struct {
		ID     snowflake.ID
		Code   string `gorm:"uniqueIndex;size:20"`
		Seal   *seal
		Labels []label `gorm:"many2many:letter_labels"`
	}
	db := onSQLite(t, &letter{}, &seal{}, &label{})
	must(t, db.Create(&letter{Code: "a"}))
	for name, l := range map[string]letter{
		"has one":      {Code: "a", Seal: &seal{}},
		"many to many": {Code: "a", Labels: []label{{}}},
	} {
		if err := db.Clauses(nothing).Create(&l).Error; !errors.Is(err, gormplugin.ErrKeyUnknown) {
			t.Errorf("%s: error %v, want ErrKeyUnknown", name, err)
		}
	}
	for _, table := range []string{"seals", "labels", "letter_labels"} {
		equal(t, table, db.count(t, table, "1 = 1"), 0)
	}
}
