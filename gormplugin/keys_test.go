package gormplugin_test

import (
	"testing"

	"gorm.io/gorm"

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
	db := onSQLite(t)
	for _, record := range []any{
		&struct {
			ID snowflake.ID `gorm:"default:(7)"`
		}{},
		&struct {
			ID snowflake.ID `gorm:"type:int;autoIncrement"`
		}{},
		&struct {
			ID snowflake.ID `gorm:"snowflake:-"`
		}{},
		&struct {
			ID snowflake.ID `gorm:"<-:update"`
		}{},
	} {
		must(t, db.DryRun().Create(record))
		wantCalls(t, db.gen)
	}
	for _, record := range []any{
		&struct { // one key
			ID       snowflake.ID
			AuthorID snowflake.ID
			ParentID *snowflake.ID
		}{},
		&struct {
			Detail keyed `gorm:"embedded;snowflake:-"` // GORM copies this into the settings of ID
		}{},
	} {
		must(t, db.DryRun().Create(record))
		wantCalls(t, db.gen, 1)
	}
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
		wantError(t, db.Create(record).Error, gormplugin.ErrTag)
	}
}
