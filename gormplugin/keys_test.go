package gormplugin_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/google/uuid"
	"gorm.io/gorm"
	"gorm.io/gorm/clause"

	"github.com/sqlflake/sqlflake/gormplugin"
	"github.com/sqlflake/sqlflake/snowflake"
)

type keyed struct {
	ID snowflake.ID `gorm:"primaryKey"`
}

// userID is a key type of a model's own.
type userID struct{ snowflake.ID }

func (id *userID) SnowflakeID() snowflake.ID        { return id.ID }
func (id *userID) SetSnowflakeID(next snowflake.ID) { id.ID = next }

func TestKeysAreFilledWhereverTheyAre(t *testing.T) {
	type letter struct {
		Head *keyed `gorm:"embedded"`
		Name string
	}
	type badge struct {
		Key  keyed `gorm:"embedded;embeddedPrefix:badge_"`
		Name string
	}
	type coin struct {
		Serial snowflake.ID `gorm:"primaryKey;column:serial_no"`
		Name   string
	}
	type sheet struct {
		ID   *snowflake.ID `gorm:"primaryKey;type:int"`
		Name string
	}
	type account struct {
		ID   userID `gorm:"primaryKey;type:int;size:64"`
		Name string
	}
	type owner struct {
		ID   *userID `gorm:"primaryKey;type:int;size:64"`
		Name string
	}
	each(t, func(t *testing.T, db *env) {
		letters := []letter{{Name: "b"}, {Name: "c", Head: &keyed{ID: 3}}, {Name: "d", Head: &keyed{}}}
		must(t, db.Create(&letters))
		db.wantKeys(t, "letters", firstID, 3, firstID+1)
		equal(t, "key in an embedded pointer that was nil", letters[0].Head.ID, firstID)
		equal(t, "key in an embedded pointer", letters[2].Head.ID, firstID+1)

		b := badge{Name: "a"}
		must(t, db.Create(&b))
		equal(t, "rows by a prefix", db.count(t, "badges", "badge_id = ?", b.Key.ID), 1)
		c := coin{Name: "a"}
		must(t, db.Create(&c))
		equal(t, "rows by another column", db.count(t, "coins", "serial_no = ?", c.Serial), 1)

		db.gen.next = firstID
		var shared snowflake.ID
		sheets := []sheet{{Name: "a"}, {Name: "b", ID: &shared}, {Name: "c", ID: &shared}, {Name: "d", ID: ptr(snowflake.ID(9))}}
		must(t, db.Create(&sheets))
		db.wantKeys(t, "sheets", firstID, firstID+1, firstID+2, 9)
		equal(t, "second pointer", *sheets[1].ID, firstID+1)
		equal(t, "third pointer", *sheets[2].ID, firstID+2)
		equal(t, "a variable that rows shared", shared, 0)

		accounts := []account{{Name: "a"}, {ID: userID{5}, Name: "b"}}
		must(t, db.Create(&accounts))
		must(t, db.Create(account{ID: userID{6}}))
		db.wantKeys(t, "accounts", firstID+3, 5, 6)
		equal(t, "key of a type of its own", accounts[0].ID, userID{firstID + 3})
		owners := []owner{{Name: "a"}, {ID: &userID{5}, Name: "b"}, {ID: &userID{}}}
		must(t, db.Create(&owners))
		db.wantKeys(t, "owners", firstID+4, 5, firstID+5)
		equal(t, "pointer to a type of its own", *owners[0].ID, userID{firstID + 4})
	}, &letter{}, &badge{}, &coin{}, &sheet{}, &account{}, &owner{})
}

func TestOfACompositeKeyOnlyTheFieldIDIsFilled(t *testing.T) {
	type invoice struct {
		TenantID snowflake.ID `gorm:"primaryKey"`
		ID       snowflake.ID `gorm:"primaryKey"`
	}
	type seat struct { // GORM prefers none of the two
		RowNo  snowflake.ID `gorm:"primaryKey"`
		SeatNo snowflake.ID `gorm:"primaryKey"`
	}
	each(t, func(t *testing.T, db *env) {
		invoices := []invoice{{TenantID: 3}, {TenantID: 4, ID: 8}, {}}
		must(t, db.Create(&invoices))
		equal(t, "first", invoices[0], invoice{3, firstID})
		equal(t, "second", invoices[1], invoice{4, 8})
		equal(t, "without a tenant", invoices[2], invoice{0, firstID + 1})
		wantCalls(t, db.gen, 2)

		s := seat{RowNo: 1}
		must(t, db.Create(&s))
		equal(t, "seat", s, seat{RowNo: 1})
		wantCalls(t, db.gen)
	}, &invoice{}, &seat{})
}

func TestWhatIsNoKeyOfTheApplicationIsNotFilled(t *testing.T) {
	type note struct {
		ID       snowflake.ID `gorm:"primaryKey"`
		AuthorID snowflake.ID
		ParentID *snowflake.ID
	}
	type made struct {
		ID   snowflake.ID `gorm:"primaryKey;default:(7)"`
		Name string
	}
	type counted struct {
		ID   snowflake.ID `gorm:"primaryKey;type:int;autoIncrement"`
		Name string
	}
	type out struct {
		ID   snowflake.ID `gorm:"primaryKey;snowflake:-"`
		Name string
	}
	type report struct {
		Detail keyed `gorm:"embedded;snowflake:-"` // GORM copies this into the settings of ID
	}
	each(t, func(t *testing.T, db *env) {
		n := note{}
		must(t, db.Create(&n))
		equal(t, "plain ID column", n.AuthorID, 0)
		if n.ParentID != nil {
			t.Errorf("plain *ID column: %v", *n.ParentID)
		}
		wantCalls(t, db.gen, 1)

		must(t, db.Create(&made{}))
		equal(t, "key with a default", db.count(t, "mades", "id = 7"), 1)
		c := counted{}
		must(t, db.Create(&c))
		equal(t, "autoIncrement", c.ID, 1)
		must(t, db.Create(&out{}))
		wantCalls(t, db.gen)
		must(t, db.Create(&report{})) // only the field's own tag opts out
		wantCalls(t, db.gen, 1)
	}, &note{}, &made{}, &counted{}, &out{}, &report{})
}

func TestAKeyThatMayNotBeCreatedIsNotFilled(t *testing.T) {
	type log struct {
		ID   snowflake.ID `gorm:"primaryKey;type:int;<-:update"` // the rowid of SQLite
		Name string
	}
	db := onSQLite(t, &log{})
	l := log{Name: "a"}
	must(t, db.Create(&l))
	equal(t, "key", l.ID, 0)
	wantCalls(t, db.gen)
	db.wantKeys(t, "logs", 1)
}

func TestAKeyThatBelongsToAnotherModelIsNotFilled(t *testing.T) {
	type member struct {
		ID   snowflake.ID `gorm:"primaryKey"`
		Name string
	}
	type profile struct {
		MemberID snowflake.ID `gorm:"primaryKey"`
		Member   *member
		Text     string
	}
	eachWith(t, gorm.Config{DisableForeignKeyConstraintWhenMigrating: true}, func(t *testing.T, db *env) {
		p := profile{Member: &member{Name: "ada"}, Text: "hello"}
		must(t, db.Create(&p))
		equal(t, "key", p.MemberID, firstID)
		equal(t, "key of the member", p.Member.ID, firstID)
		wantCalls(t, db.gen, 1)

		alone := profile{Text: "no member"}
		must(t, db.Create(&alone))
		equal(t, "key without a member", alone.MemberID, 0)
		wantCalls(t, db.gen)
	}, &member{}, &profile{})
}

func TestADefaultThatIsANumberIsRefusedOnAKey(t *testing.T) {
	type zero struct {
		ID   snowflake.ID `gorm:"default:0"`
		Name string
	}
	type own struct {
		ID   userID `gorm:"type:int;size:64;default:'5'"`
		Name string
	}
	type old struct {
		ID   int64 `gorm:"default:0"`
		Name string
	}
	db := withIntegers(t)
	for _, record := range []any{&zero{Name: "a"}, &own{Name: "a"}, &old{Name: "a"}} {
		if err := db.Create(record).Error; !errors.Is(err, gormplugin.ErrTag) {
			t.Errorf("%T: error %v, want ErrTag", record, err)
		}
	}
}

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

// document has a UUID that its own hook makes.
type document struct {
	ID    string `gorm:"primaryKey;size:36"`
	Code  string `gorm:"uniqueIndex;size:20"`
	Title string
	Pages []page
}

func (d *document) BeforeCreate(*gorm.DB) error {
	if d.ID == "" {
		d.ID = uuid.NewString()
	}
	return nil
}

// page counts up.
type page struct {
	ID         uint
	DocumentID string `gorm:"size:36"`
	Text       string
}

func TestModelsWithOtherKeysAreLeftAlone(t *testing.T) {
	eachWith(t, withoutConstraints, func(t *testing.T, db *env) {
		d := document{Code: "a", Title: "A", Pages: []page{{Text: "1"}, {Text: "2"}}}
		must(t, db.Create(&d))
		if _, err := uuid.Parse(d.ID); err != nil {
			t.Errorf("key of the document: %v", err)
		}
		equal(t, "key of the first page", d.Pages[0].ID, 1)
		equal(t, "key of the second page", d.Pages[1].ID, 2)
		must(t, db.Model(&page{}).Create(map[string]any{"Text": "3"}))
		must(t, db.Create(&[]page{{Text: "4"}, {ID: 9, Text: "9"}}))
		must(t, db.Clauses(clause.OnConflict{DoNothing: true}).Create(&document{ID: uuid.NewString(), Code: "a"}))
		equal(t, "documents", db.count(t, "documents", "1 = 1"), 1)
		wantCalls(t, db.gen)
	}, &document{}, &page{})
}
