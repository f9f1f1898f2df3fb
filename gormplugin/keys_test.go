package gormplugin_test

import (
	"strings"
	"testing"
	"time"

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
		wantIDs(t, []*keyed{letters[0].Head, letters[2].Head}, firstID, firstID+1) // the first was nil

		b, c := badge{Name: "a"}, coin{Name: "a"}
		var missing *coin // GORM makes one
		create(t, db.DB, &b, &c, &missing)
		db.wantKeys(t, "badges.badge_id", b.Key.ID)
		db.wantKeys(t, "coins.serial_no", c.Serial, missing.Serial)

		db.gen.next = firstID
		var shared snowflake.ID
		sheets := []sheet{{Name: "a"}, {Name: "b", ID: &shared}, {Name: "c", ID: &shared}, {Name: "d", ID: ptr(snowflake.ID(9))}}
		must(t, db.Create(&sheets))
		wantIDs(t, sheets, firstID, firstID+1, firstID+2, 9)
		db.wantKeys(t, "sheets", firstID, firstID+1, firstID+2, 9)
		equal(t, "a variable that rows shared", shared, 0)

		accounts := []account{{Name: "a"}, {ID: userID{5}, Name: "b"}}
		owners := []owner{{Name: "a"}, {ID: &userID{5}, Name: "b"}, {ID: &userID{}}}
		create(t, db.DB, &accounts, account{ID: userID{6}}, &owners)
		wantIDs(t, accounts, firstID+3, 5)
		wantIDs(t, owners, firstID+4, 5, firstID+5)
		db.wantKeys(t, "accounts", firstID+3, 5, 6)
		db.wantKeys(t, "owners", firstID+4, 5, firstID+5)
	}, &letter{}, &badge{}, &coin{}, &sheet{}, &account{}, &owner{})
}

func TestWhatIsNoKeyOfTheApplicationIsNotFilled(t *testing.T) {
	db := onSQLite(t)
	type Shadowed struct {
		Code int64 `gorm:"snowflake"`
	}
	create(t, db.DryRun(),
		with("ID", snowflake.ID(0), "default:(7)"),
		with("ID", snowflake.ID(0), "type:int;autoIncrement"),
		with("ID", snowflake.ID(0), "snowflake:-"),
		with("ID", snowflake.ID(0), "<-:update"),
		&struct { // GORM prefers none of the two
			RowNo  snowflake.ID `gorm:"primaryKey"`
			SeatNo snowflake.ID `gorm:"primaryKey"`
		}{},
	)
	wantCalls(t, db.gen)

	create(t, db.DryRun(),
		&struct { // the outer Code is the column
			ID snowflake.ID
			Shadowed
			Code int64
		}{},
		&struct { // one key
			ID        snowflake.ID
			AuthorID  snowflake.ID
			ParentID  *snowflake.ID
			Past      **int64
			CreatedAt time.Time
		}{Past: ptr(new(int64))},
		&struct {
			Detail keyed `gorm:"embedded;snowflake:-"` // GORM copies this into the settings of ID
		}{},
	)
	wantCalls(t, db.gen, 1, 1, 1)
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

	eachWith(t, withoutConstraints, func(t *testing.T, db *env) {
		p, alone := profile{Member: &member{Name: "ada"}, Text: "hello"}, profile{Text: "no member"}
		create(t, db.DB, &p, &alone)
		equals(t, "keys", []snowflake.ID{p.MemberID, p.Member.ID, alone.MemberID}, firstID, firstID, 0)
		wantCalls(t, db.gen, 1)
	}, &member{}, &profile{})
}

// column is what a database says of a column.
type column struct {
	Type  string // in lower case, without a width
	Made  bool   // by a sequence, AUTO_INCREMENT or a default
	InKey bool   // part of the primary key
}

// column asks the database itself, not GORM's migrator.
func (e *env) column(t *testing.T, table, name string) column {
	t.Helper()
	var c column
	var query string
	args := []any{table, name}
	switch e.target.Name {
	case "sqlite":
		query = `SELECT type, dflt_value IS NOT NULL OR
			(SELECT sql LIKE '%AUTOINCREMENT%' FROM sqlite_master WHERE name = ?), pk > 0
			FROM pragma_table_info(?) WHERE name = ?`
		args = []any{table, table, name}

	case "postgres":
		query = `SELECT c.data_type, c.column_default IS NOT NULL OR c.is_identity = 'YES', EXISTS (
			SELECT FROM information_schema.key_column_usage k
			JOIN information_schema.table_constraints p USING (constraint_schema, constraint_name)
			WHERE p.constraint_type = 'PRIMARY KEY' AND k.table_schema = c.table_schema
			AND k.table_name = c.table_name AND k.column_name = c.column_name)
			FROM information_schema.columns c WHERE c.table_schema = current_schema() AND c.table_name = ? AND c.column_name = ?`

	case "mariadb":
		query = `SELECT data_type, extra <> '' OR column_default IS NOT NULL AND column_default <> 'NULL', column_key = 'PRI'
			FROM information_schema.columns WHERE table_schema = database() AND table_name = ? AND column_name = ?`
	}

	row := e.Raw(query, args...).Row()
	if err := row.Scan(&c.Type, &c.Made, &c.InKey); err != nil {
		t.Fatalf("column %s of %s: %v", name, table, err)
	}

	c.Type = strings.ToLower(c.Type)
	return c
}

// integerOn returns the type of a column with the tag type:int.
func (e *env) integerOn() string {
	if e.target.Name == "sqlite" {
		return "integer"
	}
	return "bigint"
}

func TestKeysAndReferencesAreIntegersThatTheDatabaseDoesNotMake(t *testing.T) {
	type untagged struct {
		ID   snowflake.ID
		Name string
	}

	type tagged struct {
		ID   snowflake.ID `gorm:"primaryKey;type:int"`
		Name string
	}

	type pointed struct {
		ID *snowflake.ID `gorm:"primaryKey;type:int"`
	}

	type modelled struct{ gormplugin.Model }
	type soft struct{ gormplugin.ModelSoftDelete }
	type composed struct {
		TenantID snowflake.ID `gorm:"primaryKey"`
		ID       snowflake.ID `gorm:"primaryKey"`
	}

	type owned struct {
		ID userID `gorm:"primaryKey"`
	}

	type remark struct {
		ID     snowflake.ID
		UserID *snowflake.ID
		User   *user
		ItemID snowflake.ID
		Item   *item
		Tags   []tag `gorm:"many2many:remark_tags"`
	}

	each(t, func(t *testing.T, db *env) {
		integer := db.integerOn()
		for _, c := range []struct {
			table, name, kind string
			inKey             bool
		}{
			{"untaggeds", "id", "bigint", true},
			{"composeds", "tenant_id", "bigint", true},
			{"composeds", "id", "bigint", true},
			{"owneds", "id", "bigint", true},
			{"taggeds", "id", integer, true},
			{"pointeds", "id", integer, true},
			{"modelleds", "id", integer, true},
			{"softs", "id", integer, true},
			{"remarks", "id", "bigint", true},
			{"remarks", "user_id", integer, false},
			{"remarks", "item_id", integer, false},
			{"remark_tags", "remark_id", "bigint", true},
			{"remark_tags", "tag_id", integer, true},
			{"toys", "owner_id", integer, false}, // polymorphic
		} {
			equal(t, c.table+"."+c.name, db.column(t, c.table, c.name), column{Type: c.kind, InKey: c.inKey})
		}

		equal(t, "deleted_at in the key", db.column(t, "softs", "deleted_at").InKey, false)
		must(t, db.Create(&remark{Item: &item{Name: "a"}})) // a foreign key may be NULL
		equal(t, "rows without a user", db.count(t, "remarks", "user_id IS NULL"), 1)
	}, append(people(), &untagged{}, &tagged{}, &pointed{}, &modelled{}, &soft{}, &composed{}, &owned{}, &user{}, &item{}, &remark{})...)
}
