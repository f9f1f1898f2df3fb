package gormplugin_test

import (
	"errors"
	"strings"
	"testing"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"

	"github.com/sqlflake/sqlflake/gormplugin"
	"github.com/sqlflake/sqlflake/internal/skip"
	"github.com/sqlflake/sqlflake/snowflake"
)

// nation and town are related by a code, not by the Snowflake key.
type nation struct {
	ID    snowflake.ID `gorm:"primaryKey;type:int"`
	Code  string       `gorm:"uniqueIndex;size:10"`
	Towns []town       `gorm:"foreignKey:NationCode;references:Code"`
}

type town struct {
	ID         snowflake.ID `gorm:"primaryKey;type:int"`
	Name       string
	NationCode string  `gorm:"size:10"`
	Nation     *nation `gorm:"foreignKey:NationCode;references:Code"`
}

func TestARelationByAnotherColumnNeedsNoKey(t *testing.T) {
	eachUpsert(t, gorm.Config{}, func(t *testing.T, db *env) {
		must(t, db.Create(&nation{Code: "DE"}))
		berlin := town{Name: "Berlin", Nation: &nation{Code: "DE"}}
		must(t, db.Create(&berlin))
		equal(t, "code of the town", berlin.NationCode, "DE")
		equal(t, "key of the skipped nation", berlin.Nation.ID, 0)
		must(t, db.Clauses(nothing).Create(&nation{Code: "DE", Towns: []town{{Name: "Bonn"}}}))
		must(t, db.Create(&[]town{{Nation: &nation{Code: "FR"}}, {Nation: &nation{Code: "DE"}}}))
		equal(t, "towns", db.count(t, "towns", "nation_code IN (SELECT code FROM nations)"), 4)
		equal(t, "nations", db.count(t, "nations", "id <> 0"), 2)
	}, &nation{}, &town{})
}

// phone is skipped by a clause of its hook if its number already exists.
type phone struct {
	ID      snowflake.ID `gorm:"primaryKey;type:int"`
	Number  string       `gorm:"uniqueIndex;size:20"`
	OwnerID snowflake.ID
	Calls   []call
	MakerID snowflake.ID
	Maker   *maker
}

type maker struct {
	ID snowflake.ID `gorm:"primaryKey;type:int"`
}

func (*phone) BeforeCreate(tx *gorm.DB) error {
	tx.Statement.AddClause(nothing)
	return nil
}

type call struct {
	ID      snowflake.ID `gorm:"primaryKey;type:int"`
	PhoneID snowflake.ID
}

// owner has phones that refer to it, and refers to one itself.
type owner struct {
	ID     snowflake.ID `gorm:"primaryKey;type:int"`
	Phones []phone
	MainID snowflake.ID
	Main   *phone `gorm:"foreignKey:MainID"` // without the tag GORM takes it for another phone of the owner's
}

func TestASkippedChildThatNothingRefersToIsNoError(t *testing.T) {
	eachUpsert(t, withoutConstraints, func(t *testing.T, db *env) {
		first := owner{Phones: []phone{{Number: "1"}}}
		must(t, db.Create(&first))
		second := owner{Phones: []phone{{Number: "1"}, {Number: "2"}}, Main: &phone{Number: "3"}}
		must(t, db.Create(&second))
		equal(t, "key of the skipped phone", second.Phones[0].ID, 0)
		equal(t, "key of the other", db.count(t, "phones", "id = ? AND number = '2'", second.Phones[1].ID), 1)
		must(t, db.Session(&gorm.Session{FullSaveAssociations: true}).Updates(&owner{ID: second.ID, Phones: []phone{{Number: "1"}}}))

		wantKeyUnknown(t, db.Create(&owner{Phones: []phone{{Number: "1", Calls: []call{{}}}}}).Error)
		wantKeyUnknown(t, db.Create(&owner{Main: &phone{Number: "1"}}).Error)
		wantKeyUnknown(t, db.Create(&owner{Main: &phone{Number: "1", Maker: &maker{}}}).Error)
		wantKeyUnknown(t, db.Updates(&owner{ID: first.ID, Main: &phone{Number: "1"}}).Error)
		equal(t, "owners", db.count(t, "owners", "main_id IN (0, ?)", second.Main.ID), 2)
		equal(t, "calls", db.count(t, "calls", "1 = 1"), 0)
	}, &owner{}, &phone{}, &call{}, &maker{})
}

func TestOnlyTheStatementsRightAboveCountAsReferringOnes(t *testing.T) {
	type person struct {
		ID     snowflake.ID `gorm:"primaryKey;type:int"`
		Phones []phone      `gorm:"foreignKey:OwnerID"`
	}
	type household struct {
		ID      snowflake.ID `gorm:"primaryKey;type:int"`
		Members []*person    `gorm:"many2many:household_members"`
		Phones  []*phone     `gorm:"many2many:household_phones"`
	}
	eachUpsert(t, withoutConstraints, func(t *testing.T, db *env) {
		must(t, db.Create(&phone{Number: "1"}))
		below := household{Members: []*person{{Phones: []phone{{Number: "1"}}}}}
		must(t, db.Create(&below)) // the phone of a member, to which no household refers
		equal(t, "key of the skipped phone", below.Members[0].Phones[0].ID, 0)
		err := db.Create(&household{Phones: []*phone{{Number: "1"}}}).Error
		wantKeyUnknown(t, err)
		if err != nil && !strings.Contains(err.Error(), "record 0 of phone conflicts with an existing row whose key is "+
			"unknown, and household.Phones would refer to it") {
			t.Errorf("text %q", err)
		}
	}, &household{}, &person{}, &phone{}, &call{}, &maker{})
}

func TestAHandleMadeFromAParentsIsNotItsAssociation(t *testing.T) {
	eachUpsert(t, withoutConstraints, func(t *testing.T, db *env) {
		must(t, db.Create(&firm{Name: "acme"}))
		m := man{Name: "bob"}
		created := must(t, db.Create(&m))
		updated := must(t, db.Updates(&m))
		for _, done := range []*gorm.DB{created, updated} {
			tx := done.Session(&gorm.Session{}).Model(&firm{}).Table("firms").Clauses(nothing)
			tx.Statement.Clauses = map[string]clause.Clause{"ON CONFLICT": tx.Statement.Clauses["ON CONFLICT"]}
			f := firm{Name: "acme"}
			must(t, tx.Create(&f))
			equal(t, "key of the skipped record", f.ID, 0)
		}
	}, &firm{}, &office{}, &man{})
}

// firm and man are saved with their associations updated.
type firm struct {
	ID      snowflake.ID `gorm:"primaryKey;type:int"`
	Name    string       `gorm:"uniqueIndex;size:20"`
	Offices []office
}

type office struct {
	ID     snowflake.ID `gorm:"primaryKey;type:int"`
	Name   string       `gorm:"uniqueIndex;size:20"`
	FirmID snowflake.ID
}

type man struct {
	ID     snowflake.ID `gorm:"primaryKey;type:int"`
	Name   string
	FirmID snowflake.ID
	Firm   *firm
	Firms  []*firm `gorm:"many2many:man_firms"`
}

func TestSavingAssociationsInFullLeavesNoOrphans(t *testing.T) {
	eachUpsert(t, withoutConstraints, func(t *testing.T, db *env) {
		if !db.mysql {
			skip.Inapplicable(t, "elsewhere the conflict target keeps other unique columns an error")
		}
		full := db.Session(&gorm.Session{FullSaveAssociations: true})
		acme := firm{Name: "acme", Offices: []office{{Name: "a"}}}
		must(t, full.Create(&acme))
		for name, create := range map[string]func() error{
			"belongs to": func() error {
				return full.Create(&[]man{{Firm: &firm{Name: "acme"}}, {Firm: &firm{Name: "new"}}}).Error
			},
			"many to many": func() error {
				return full.Create(&man{Firms: []*firm{{Name: "acme"}, {Name: "new2"}}}).Error
			},
		} {
			if err := create(); err != nil || !db.returning() {
				if !errors.Is(err, gormplugin.ErrKeyUnknown) {
					t.Errorf("%s: %v, want ErrKeyUnknown", name, err)
				}
			}
		}
		equal(t, "men without a firm", db.count(t, "men", "firm_id <> 0 AND firm_id NOT IN (SELECT id FROM firms)"), 0)
		equal(t, "join rows without a firm", db.count(t, "man_firms", "firm_id NOT IN (SELECT id FROM firms)"), 0)

		// Nothing refers to children, so theirs may stay unknown.
		other := firm{Name: "other", Offices: []office{{Name: "a"}, {Name: "b"}}}
		must(t, full.Create(&other))
		equal(t, "offices", db.count(t, "offices", "firm_id = ?", other.ID), 2)
	}, &firm{}, &office{}, &man{})
}

// clerk is skipped if the badge is there.
type clerk struct {
	ID        snowflake.ID `gorm:"primaryKey;type:int"`
	Badge     string       `gorm:"uniqueIndex;size:20"`
	ManagerID *snowflake.ID
	Manager   *clerk
	Team      []*clerk `gorm:"foreignKey:ManagerID"`
}

func (*clerk) BeforeCreate(tx *gorm.DB) error {
	tx.Statement.AddClause(nothing)
	return nil
}

func TestASelfReferenceTellsManagersFromReports(t *testing.T) {
	eachUpsert(t, withoutConstraints, func(t *testing.T, db *env) {
		must(t, db.Create(&clerk{Badge: "a"}))
		boss := clerk{Badge: "boss", Team: []*clerk{{Badge: "a"}, {Badge: "b"}}}
		must(t, db.Create(&boss))
		equal(t, "key of the skipped report", boss.Team[0].ID, 0)
		wantKeyUnknown(t, db.Create(&clerk{Badge: "c", Manager: &clerk{Badge: "a"}}).Error)
	}, &clerk{})
}
