package gormplugin_test

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"gorm.io/driver/mysql"
	"gorm.io/driver/sqlite"
	"gorm.io/gorm"
	"gorm.io/gorm/clause"
	"gorm.io/gorm/schema"
	"gorm.io/gorm/utils/tests"

	"github.com/sqlflake/sqlflake/snowflake"
)

// The tests of this file hold GORM, without the plugin, to what gorm.go repeats of it. If one fails after an update of
// GORM, the function of gorm.go that it names has to change.

// dry returns a handle that only builds statements.
func dry(t *testing.T, dialector gorm.Dialector, config gorm.Config) *gorm.DB {
	t.Helper()
	config.DryRun, config.DisableAutomaticPing, config.Logger = true, true, &recorder{}
	db, err := gorm.Open(dialector, &config)
	if err != nil {
		t.Fatal(err)
	}
	return db
}

func schemaOf(t *testing.T, db *gorm.DB, model any) *schema.Schema {
	t.Helper()
	stmt := &gorm.Statement{DB: db}
	if err := stmt.Parse(model); err != nil {
		t.Fatal(err)
	}
	return stmt.Schema
}

func TestGORMNamesForeignRelationsWithAnUnderscore(t *testing.T) { // ownRelations
	db := dry(t, tests.DummyDialector{}, gorm.Config{})
	foreign, own := 0, 0
	for name, rel := range schemaOf(t, db, &parent{}).Relationships.Relations["Children"].FieldSchema.Relationships.Relations {
		if strings.HasPrefix(name, "_") {
			foreign++
		} else {
			own++
			t.Errorf("the child declares no relation, and has %s", rel.Name)
		}
	}
	if foreign != 1 {
		t.Errorf("%d relations with an underscore, want 1", foreign)
	}
}

func TestGORMTreatsIntegerKeysAsAutoIncrement(t *testing.T) { // clearAutoIncrement, returningOf
	type counted struct{ ID int64 }
	db := dry(t, sqlite.Open(":memory:"), gorm.Config{SkipDefaultTransaction: true})
	s := schemaOf(t, db, &counted{})
	key := s.PrioritizedPrimaryField
	if !key.AutoIncrement || !key.HasDefaultValue || !slices.Contains(s.FieldsWithDefaultDBValue, key) {
		t.Errorf("key %+v", key)
	}
	if sql := db.Create(&counted{ID: 1}).Statement.SQL.String(); !strings.Contains(sql, "RETURNING") {
		t.Errorf("%s does not return the key", sql)
	}
	key.AutoIncrement, key.HasDefaultValue, s.FieldsWithDefaultDBValue = false, false, nil
	if sql := db.Create(&counted{ID: 1}).Statement.SQL.String(); strings.Contains(sql, "RETURNING") {
		t.Errorf("%s returns the key", sql)
	}
}

func TestTheOrderOfDialectsInConflicts(t *testing.T) { // conflictOf, schemaConflict
	type word struct {
		ID   snowflake.ID
		Text upserted // whose clause is DO NOTHING
	}
	both := clause.OnConflict{DoNothing: true, DoUpdates: clause.AssignmentColumns([]string{"name"})}
	for want, db := range map[string]*gorm.DB{
		"UPDATE `name`=": dry(t, mysql.New(mysql.Config{DSN: "u@tcp(127.0.0.1:1)/", SkipInitializeWithVersion: true}), gorm.Config{SkipDefaultTransaction: true}),
		"DO NOTHING":     dry(t, sqlite.Open(":memory:"), gorm.Config{SkipDefaultTransaction: true}),
	} {
		if sql := db.Clauses(both).Create(&city{ID: 1}).Statement.SQL.String(); !strings.Contains(sql, want) {
			t.Errorf("%s: want %s", sql, want)
		}
	}
	db := dry(t, sqlite.Open(":memory:"), gorm.Config{SkipDefaultTransaction: true})
	update := clause.OnConflict{Columns: []clause.Column{{Name: "id"}}, DoUpdates: clause.AssignmentColumns([]string{"text"})}
	if sql := db.Clauses(update).Create(&word{ID: 1}).Statement.SQL.String(); !strings.HasSuffix(sql, "DO NOTHING") {
		t.Errorf("%s: want the clause of the type", sql)
	}
	if sql := db.Unscoped().Clauses(update).Create(&word{ID: 1}).Statement.SQL.String(); strings.HasSuffix(sql, "DO NOTHING") {
		t.Errorf("%s: want the clause of the statement", sql)
	}
}

func TestUpdateAllIsExpandedWithTheValues(t *testing.T) { // expandUpdateAll
	db := dry(t, sqlite.Open(":memory:"), gorm.Config{SkipDefaultTransaction: true})
	stmt := db.Clauses(clause.OnConflict{UpdateAll: true}).Create(&city{ID: 1}).Statement
	c := stmt.Clauses["ON CONFLICT"].Expression.(clause.OnConflict)
	if len(c.DoUpdates) == 0 || len(c.Columns) != 1 || c.Columns[0].Name != "id" {
		t.Errorf("clause %+v, want the assignments and the key as target", c)
	}
}

func TestStatementsTellCallbacksWhereTheyAre(t *testing.T) { // isBuilt, hasTransaction, inherited
	type seen struct {
		table              string
		built, transaction bool
		inherited          any
	}
	var before, after []seen
	look := func(list *[]seen) func(*gorm.DB) {
		return func(db *gorm.DB) {
			_, started := db.InstanceGet("gorm:started_transaction")
			setting, _ := db.Statement.Settings.Load("told")
			*list = append(*list, seen{db.Statement.Table, db.Statement.SQL.Len() > 0, started, setting})
			db.Statement.Settings.Store("told", db.Statement.Table)
		}
	}
	db, err := gorm.Open(sqlite.Open(":memory:"), &gorm.Config{Logger: &recorder{}})
	if err != nil {
		t.Fatal(err)
	}
	closeAtEnd(t, db)
	if pool, err := db.DB(); err == nil {
		pool.SetMaxOpenConns(1)
	}
	if err := db.AutoMigrate(&parent{}, &child{}); err != nil {
		t.Fatal(err)
	}
	create := db.Callback().Create()
	if create.Before("gorm:create").Register("before", look(&before)) != nil ||
		create.Before("gorm:save_after_associations").Register("after", look(&after)) != nil {
		t.Fatal("no callbacks")
	}
	must(t, db.Create(&parent{ID: 1, Children: []child{{ID: 2}}}))
	must(t, db.Session(&gorm.Session{SkipDefaultTransaction: true}).Create(&child{ID: 3, ParentID: 1}))
	wantBefore := []seen{{"parents", false, true, nil}, {"children", false, false, "parents"}, {"children", false, false, nil}}
	wantAfter := []seen{{"parents", true, true, "parents"}, {"children", true, false, "children"}, {"children", true, false, "children"}}
	if !slices.Equal(before, wantBefore) {
		t.Errorf("before gorm:create: %v, want %v", before, wantBefore)
	}
	if !slices.Equal(after, wantAfter) {
		t.Errorf("after gorm:create: %v, want %v", after, wantAfter)
	}
}

func TestSelectAndOmitDecideAboutColumnsAndRelations(t *testing.T) { // selectionOf, savesRelation
	db := dry(t, sqlite.Open(":memory:"), gorm.Config{SkipDefaultTransaction: true})
	p := parent{ID: 1, Name: "p", Children: []child{{ID: 2}}}
	for want, tx := range map[string]*gorm.DB{
		"(`id`,`name`)": db.Omit("Children"), "(`name`)": db.Select("Name"), "(`id`)": db.Omit("Name"),
	} {
		stmt := tx.Create(&p).Statement
		if sql := stmt.SQL.String(); !strings.Contains(sql, want) {
			t.Errorf("%s: want %s", sql, want)
		}
		columns, restricted := stmt.SelectAndOmitColumns(true, false)
		named, ok := columns["Children"]
		if saves := named || !ok && !restricted; saves != (want == "(`id`)") {
			t.Errorf("%s: the children are saved: %t", want, saves)
		}
	}
}

func TestGORMStoresOneCharacterForAKey(t *testing.T) { // badReference
	db := dry(t, tests.DummyDialector{}, gorm.Config{})
	field := schemaOf(t, db, &textNote{}).LookUpField("OwnerID")
	note := textNote{}
	if err := field.Set(t.Context(), reflect.ValueOf(&note).Elem(), firstID); err != nil {
		t.Fatal(err)
	}
	equal(t, "owner", note.OwnerID, "\uFFFD")
}
