package gormplugin_test

import (
	"strings"
	"testing"

	"gorm.io/gorm"

	"github.com/sqlflake/sqlflake/snowflake"
)

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
	for _, reference := range []string{
		"passports.person_id people", "pets.person_id people", "toys.owner_id pets", "people.company_id companies",
		"people.manager_id people", "person_tags.person_id people", "person_tags.tag_id tags",
		"person_friends.person_id people", "person_friends.friend_id people",
	} {
		column, to, _ := strings.Cut(reference, " ")
		table, name, _ := strings.Cut(column, ".")
		n := e.count(t, table, name+" IS NOT NULL AND "+name+" NOT IN (SELECT id FROM "+to+")")
		equal(t, "rows without what they refer to in "+column, n, 0)
	}
}

func TestAssociationsOfEveryKindAreFilled(t *testing.T) {
	noConstraints := gorm.Config{DisableForeignKeyConstraintWhenMigrating: true}
	eachUpsert(t, noConstraints, func(t *testing.T, db *env) {
		p := newPerson("ada")
		must(t, db.Create(&p))
		q := []person{newPerson("bob"), newPerson("eve")}
		must(t, db.Create(&q))
		db.wantNoOrphans(t)
		for table, want := range map[string]int64{
			"people": 12, "companies": 3, "passports": 3, "pets": 6, "toys": 6, "tags": 9,
			"person_tags": 9, "person_friends": 3,
		} {
			equal(t, "rows in "+table, db.count(t, table, "1 = 1"), want)
		}
		var back person
		must(t, db.Preload("Pets.Toys").Preload("Tags").Preload("Friends.Tags").Preload("Team").Joins("Company").
			Joins("Manager").Joins("Passport").First(&back, "people.id = ?", p.ID))
		equal(t, "company", back.Company.Name, "ada & sons")
		equal(t, "passport", back.Passport.ID, p.Passport.ID)
		equal(t, "toys of the cat", len(back.Pets[0].Toys), 2)
		equal(t, "tag of the friend", back.Friends[0].Tags[0].Name, "green")
		equal(t, "boss", back.Manager.Name, "ada's boss")
		equal(t, "team", back.Team[0].Name, "ada's aide")
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
				equal(t, "pets", db.count(t, "pets", "1 = 1"), 2)
				equal(t, "owner of the shared pet", shared.PersonID, owners[1].ID)
				equal(t, "people", db.count(t, "people", "1 = 1"), 3)
				equal(t, "companies", db.count(t, "companies", "1 = 1"), 1)
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
		db.gen.takeCalls()

		steps := []func() error{
			func() error { return db.Model(&p).Association("Pets").Append(&pet{Name: "cat"}, &pet{Name: "dog"}) },
			func() error { return db.Model(&p).Association("Tags").Append([]tag{{Name: "red"}}) },
			func() error { return db.Model(&p).Association("Tags").Append(map[string]any{"Name": "blue"}) },
			func() error { return db.Model(&p).Association("Company").Replace(&company{Name: "acme"}) },
			func() error { return db.Model(&p).Association("Friends").Append(&person{Name: "kim"}) },
			func() error { return db.Model(&p).Association("Tags").Replace(&tag{Name: "green"}, p.Tags[0]) },
		}
		for i, step := range steps {
			if err := step(); err != nil {
				t.Fatalf("step %d: %v", i, err)
			}
		}
		equal(t, "pets", db.count(t, "pets", "person_id = ?", p.ID), 2)
		equal(t, "tags", db.count(t, "tags", "id >= ?", firstID), 3)
		equal(t, "join rows", db.count(t, "person_tags", "person_id = ?", p.ID), 2)
		equal(t, "company", db.count(t, "people", "id = ? AND company_id = ?", p.ID, p.Company.ID), 1)
		db.wantNoOrphans(t)
	}, people()...)
}

func TestJoinTablesWithAKeyOfTheirOwnAreFilled(t *testing.T) {
	type book struct {
		ID   snowflake.ID `gorm:"primaryKey;type:int"`
		Name string
	}
	type shelf struct {
		ID    snowflake.ID `gorm:"primaryKey;type:int"`
		Books []book       `gorm:"many2many:placements"`
	}
	type placement struct {
		ID      snowflake.ID `gorm:"primaryKey;type:int"`
		ShelfID snowflake.ID `gorm:"uniqueIndex:place"`
		BookID  snowflake.ID `gorm:"uniqueIndex:place"`
	}
	each(t, func(t *testing.T, db *env) {
		noError(t, db.SetupJoinTable(&shelf{}, "Books", &placement{}))
		noError(t, db.AutoMigrate(&shelf{}, &book{}))
		s := shelf{Books: []book{{Name: "a"}, {Name: "b"}}}
		must(t, db.Create(&s))
		equal(t, "join rows with a key", db.count(t, "placements", "id >= ? AND shelf_id = ?", firstID, s.ID), 2)
		// The join rows are there already; DO NOTHING skips them, and that is no error.
		if err := db.Model(&s).Association("Books").Append(&s.Books[0]); err != nil {
			t.Error(err)
		}
		equal(t, "join rows", db.count(t, "placements", "1 = 1"), 2)
	})
}
