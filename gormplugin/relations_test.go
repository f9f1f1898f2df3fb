package gormplugin_test

import (
	"fmt"
	"testing"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"

	"github.com/sqlflake/sqlflake/gormplugin"
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
		berlin := town{Name: "Berlin", Nation: &nation{Code: "DE"}}
		create(t, db.DB, &nation{Code: "DE"}, &berlin)
		equal(t, "code of the town", berlin.NationCode, "DE")
		equal(t, "key of the skipped nation", berlin.Nation.ID, 0)
		must(t, db.Clauses(nothing).Create(&nation{Code: "DE", Towns: []town{{Name: "Bonn"}}}))
		must(t, db.Create(&[]town{{Nation: &nation{Code: "FR"}}, {Nation: &nation{Code: "DE"}}}))
		db.wantCounts(t, map[string]int{"towns WHERE nation_code IN (SELECT code FROM nations)": 4, "nations WHERE id <> 0": 2})
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
	BaseID  *snowflake.ID
	Base    *phone
	Mobiles []*phone `gorm:"foreignKey:BaseID"`
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
		second := owner{Phones: []phone{{Number: "1"}, {Number: "2"}}, Main: &phone{Number: "3"}}
		base := phone{Number: "4", Mobiles: []*phone{{Number: "1"}, {Number: "5"}}} // the relation of Base is not theirs
		create(t, db.DB, &first, &second, &base)
		wantIDs(t, []*phone{&second.Phones[0], base.Mobiles[0]}, 0, 0) // skipped
		equal(t, "key of the other", db.count(t, "phones", "id = ? AND number = '2'", second.Phones[1].ID), 1)
		must(t, db.Session(&gorm.Session{FullSaveAssociations: true}).Updates(&owner{ID: second.ID, Phones: []phone{{Number: "1"}}}))

		for _, err := range []error{
			db.Create(&owner{Phones: []phone{{Number: "1", Calls: []call{{}}}}}).Error,
			db.Create(&owner{Main: &phone{Number: "1"}}).Error,
			db.Create(&owner{Main: &phone{Number: "1", Maker: &maker{}}}).Error,
			db.Updates(&owner{ID: first.ID, Main: &phone{Number: "1"}}).Error,
			db.Create(&phone{Number: "6", Base: &phone{Number: "1"}}).Error,
		} {
			wantError(t, err, gormplugin.ErrKeyUnknown)
		}
		equal(t, "owners", db.count(t, "owners", "main_id IN (0, ?)", second.Main.ID), 2)
		db.wantCounts(t, map[string]int{"calls": 0})
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
		wantError(t, db.Create(&household{Phones: []*phone{{Number: "1"}}}).Error, gormplugin.ErrKeyUnknown,
			"record 0 of phone conflicts with an existing row whose key is unknown, and household.Phones would refer to it")
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
	// Elsewhere the conflict target keeps other unique columns an error.
	eachMySQL(t, withoutConstraints, func(t *testing.T, db *env) {
		full := db.Session(&gorm.Session{FullSaveAssociations: true})
		must(t, full.Create(&firm{Name: "acme", Offices: []office{{Name: "a"}}}))
		for name, err := range map[string]error{
			"belongs to":   full.Create(&[]man{{Firm: &firm{Name: "acme"}}, {Firm: &firm{Name: "new"}}}).Error,
			"many to many": full.Create(&man{Firms: []*firm{{Name: "acme"}, {Name: "new2"}}}).Error,
		} {
			if err != nil || !db.returning() {
				wantErrorOf(t, name, err, gormplugin.ErrKeyUnknown)
			}
		}
		db.wantCounts(t, map[string]int{
			"men WHERE firm_id <> 0 AND firm_id NOT IN (SELECT id FROM firms)": 0,
			"man_firms WHERE firm_id NOT IN (SELECT id FROM firms)":            0,
		})

		// Nothing refers to children, so theirs may stay unknown.
		other := firm{Name: "other", Offices: []office{{Name: "a"}, {Name: "b"}}}
		must(t, full.Create(&other))
		equal(t, "offices", db.count(t, "offices", "firm_id = ?", other.ID), 2)
	}, &firm{}, &office{}, &man{})
}

type company struct {
	ID   snowflake.ID `gorm:"primaryKey;type:int"`
	Name string
}

type tag struct {
	ID   snowflake.ID `gorm:"primaryKey;type:int"`
	Name string
}

type toy struct {
	ID        snowflake.ID `gorm:"primaryKey;type:int"`
	Name      string
	OwnerID   snowflake.ID
	OwnerType string
}

type passport struct {
	ID       snowflake.ID `gorm:"primaryKey;type:int"`
	PersonID snowflake.ID
	Number   string
}

type pet struct {
	ID       snowflake.ID `gorm:"primaryKey;type:int"`
	PersonID snowflake.ID
	Name     string
	Toys     []toy `gorm:"polymorphic:Owner"`
}

// person has every kind of association.
type person struct {
	ID        snowflake.ID `gorm:"primaryKey;type:int"`
	Name      string
	CompanyID *snowflake.ID
	Company   *company
	Passport  passport
	Pets      []*pet
	Tags      []tag `gorm:"many2many:person_tags"`
	ManagerID *snowflake.ID
	Manager   *person
	Team      []person  `gorm:"foreignKey:ManagerID"`
	Friends   []*person `gorm:"many2many:person_friends"`
}

func people() []any { return []any{&company{}, &tag{}, &person{}, &passport{}, &pet{}, &toy{}} }

func newPerson(name string) person {
	return person{
		Name: name, Company: &company{Name: name + " & sons"}, Passport: passport{Number: name + " 1"},
		Pets:    []*pet{{Name: name + "'s cat", Toys: []toy{{Name: "mouse"}, {Name: "ball"}}}, {Name: name + "'s dog"}},
		Tags:    []tag{{Name: "red"}, {Name: "blue"}},
		Manager: &person{Name: name + "'s boss"}, Team: []person{{Name: name + "'s aide"}},
		Friends: []*person{{Name: name + "'s friend", Tags: []tag{{Name: "green"}}}},
	}
}

// wantNoOrphans counts the rows that refer to none.
func (e *env) wantNoOrphans(t *testing.T) {
	t.Helper()
	e.wantCounts(t, map[string]int{
		"passports WHERE person_id NOT IN (SELECT id FROM people)":      0,
		"pets WHERE person_id NOT IN (SELECT id FROM people)":           0,
		"toys WHERE owner_id NOT IN (SELECT id FROM pets)":              0,
		"people WHERE company_id NOT IN (SELECT id FROM companies)":     0,
		"people WHERE manager_id NOT IN (SELECT id FROM people)":        0,
		"person_tags WHERE person_id NOT IN (SELECT id FROM people)":    0,
		"person_tags WHERE tag_id NOT IN (SELECT id FROM tags)":         0,
		"person_friends WHERE person_id NOT IN (SELECT id FROM people)": 0,
		"person_friends WHERE friend_id NOT IN (SELECT id FROM people)": 0,
	})
}

func TestAssociationsOfEveryKindAreFilled(t *testing.T) {
	eachUpsert(t, withoutConstraints, func(t *testing.T, db *env) {
		p := newPerson("ada")
		create(t, db.DB, &p, &[]person{newPerson("bob"), newPerson("eve")})
		db.wantNoOrphans(t)
		db.wantCounts(t, map[string]int{
			"people": 12, "companies": 3, "passports": 3, "pets": 6, "toys": 6, "tags": 9,
			"person_tags": 9, "person_friends": 3,
		})

		var back person
		must(t, db.Preload("Pets.Toys").Preload("Tags").Preload("Friends.Tags").Preload("Team").Joins("Company").
			Joins("Manager").Joins("Passport").First(&back, "people.id = ?", p.ID))
		equal(t, "passport", back.Passport.ID, p.Passport.ID)
		equal(t, "toys of the cat", len(back.Pets[0].Toys), 2)
		names := []string{back.Company.Name, back.Friends[0].Tags[0].Name, back.Manager.Name, back.Team[0].Name}
		equals(t, "names", names, "ada & sons", "green", "ada's boss", "ada's aide")
	}, people()...)
}

func TestANewRecordThatSeveralOwnersShareBecomesOneRow(t *testing.T) {
	for name, config := range map[string]gorm.Config{"default": {}, "FullSaveAssociations": {FullSaveAssociations: true}} {
		t.Run(name, func(t *testing.T) {
			eachUpsert(t, config, func(t *testing.T, db *env) {
				shared, friend, acme := &pet{Name: "cat"}, &person{Name: "kim"}, &company{Name: "acme"}
				owners := []person{
					{Name: "ada", Pets: []*pet{shared}, Friends: []*person{friend}, Company: acme},
					{Name: "bob", Pets: []*pet{shared, {Name: "dog"}}, Friends: []*person{friend}, Company: acme},
				}
				must(t, db.Create(&owners))
				db.wantCounts(t, map[string]int{"pets": 2, "people": 3, "companies": 1})
				equal(t, "owner of the shared pet", shared.PersonID, owners[1].ID)
				equal(t, "company", *owners[0].CompanyID, acme.ID)
				db.wantNoOrphans(t)
			}, people()...)
		})
	}
}

func TestAssociationModeFillsStructsAndMaps(t *testing.T) {
	each(t, func(t *testing.T, db *env) {
		p := person{Name: "ada"}
		must(t, db.Omit("Passport").Create(&p))
		noError(t, db.Model(&p).Association("Pets").Append(&pet{Name: "cat"}, &pet{Name: "dog"}))
		noError(t, db.Model(&p).Association("Tags").Append([]tag{{Name: "red"}}))
		noError(t, db.Model(&p).Association("Tags").Append(map[string]any{"Name": "blue"}))
		noError(t, db.Model(&p).Association("Company").Replace(&company{Name: "acme"}))
		noError(t, db.Model(&p).Association("Friends").Append(&person{Name: "kim"}))
		noError(t, db.Model(&p).Association("Tags").Replace(&tag{Name: "green"}, p.Tags[0]))
		db.wantCounts(t, map[string]int{
			fmt.Sprintf("pets WHERE person_id = %d", p.ID):                              2,
			fmt.Sprintf("tags WHERE id >= %d", firstID):                                 3,
			fmt.Sprintf("person_tags WHERE person_id = %d", p.ID):                       2,
			fmt.Sprintf("people WHERE id = %d AND company_id = %d", p.ID, p.Company.ID): 1,
		})

		db.wantNoOrphans(t)
	}, people()...)
}
