package sqltypes_test

import (
	"slices"
	"testing"

	"gorm.io/gorm"
	"gorm.io/gorm/logger"

	"github.com/sqlflake/sqlflake/internal/testdb"
	"github.com/sqlflake/sqlflake/snowflake"
	"github.com/sqlflake/sqlflake/sqltypes"
)

// openArrayGORM returns a GORM without a log: the tests look at its errors.
func openArrayGORM(t *testing.T, target testdb.Target) *gorm.DB {
	t.Helper()
	db, err := gorm.Open(target.Dialector(), &gorm.Config{Logger: logger.Discard})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if pool, err := db.DB(); err != nil || pool.Close() != nil {
			t.Error("the pool does not close")
		}
	})
	return db
}

// The comment of Array warns of it.
func TestGORMLeavesAnArrayAsItIsAtNULL(t *testing.T) {
	db := openArrayGORM(t, testdb.Postgres(t))
	if err := db.AutoMigrate(&team{}); err != nil {
		t.Fatal(err)
	}
	if err := db.Create(&team{ID: 1}).Error; err != nil {
		t.Fatal(err)
	}
	fresh, used := team{}, team{Members: staleArray()}
	if db.First(&fresh, "id = 1").Error != nil || db.First(&used, "id = 1").Error != nil {
		t.Fatal("the row is not found")
	}
	if fresh.Members != nil || !sameArray(used.Members, staleArray()) {
		t.Errorf("read %v into a new struct, %v into one that was used", fresh.Members, used.Members)
	}
}

type team struct {
	ID      snowflake.ID
	Members sqltypes.Array
}

func TestGORMMakesAndKeepsABigintArray(t *testing.T) {
	eachPgxMode(t, func(t *testing.T, target testdb.Target) {
		db := openArrayGORM(t, target)
		for range 2 { // the second time there is nothing to change
			if err := db.AutoMigrate(&team{}); err != nil {
				t.Fatal(err)
			}
		}
		var columnType string
		err := db.Raw(`SELECT format_type(atttypid, atttypmod) FROM pg_attribute
			WHERE attrelid = 'teams'::regclass AND attname = 'members'`).Scan(&columnType).Error
		if columnType != "bigint[]" || err != nil {
			t.Errorf("the column is a %s, %v, want bigint[]", columnType, err)
		}
		var teams []team
		for i, test := range someArrays {
			teams = append(teams, team{ID: snowflake.ID(i + 1), Members: test.array})
		}
		if err := db.Create(&teams).Error; err != nil {
			t.Fatal(err)
		}
		var got []team
		if err := db.Order("id").Find(&got).Error; err != nil || len(got) != len(teams) {
			t.Fatalf("read %v, %v", got, err)
		}
		for i := range got {
			if !sameArray(got[i].Members, teams[i].Members) {
				t.Errorf("%#v was read back as %#v", teams[i].Members, got[i].Members)
			}
		}
		// An update to NULL and back, through the ways that GORM has.
		one := team{ID: 4}
		for _, want := range []sqltypes.Array{nil, {}, {8, 9}} {
			if err := db.Model(&one).Updates(map[string]any{"members": want}).Error; err != nil {
				t.Fatal(err)
			}
			var read team
			if err := db.First(&read, "id = ?", 4).Error; !sameArray(read.Members, want) || err != nil {
				t.Errorf("updated to %#v, read %#v, %v", want, read.Members, err)
			}
		}
	})
}

func TestGORMWantsAnArrayForANYAndASliceForIN(t *testing.T) {
	eachPgxMode(t, func(t *testing.T, target testdb.Target) {
		db := openArrayGORM(t, target)
		if err := db.AutoMigrate(&team{}); err != nil {
			t.Fatal(err)
		}
		if err := db.Create([]team{{ID: 1}, {ID: 2}, {ID: 3, Members: sqltypes.Array{7}}}).Error; err != nil {
			t.Fatal(err)
		}
		ids := []snowflake.ID{1, 3, 9007199254740993}
		for name, query := range map[string]*gorm.DB{
			"ANY":   db.Where("id = ANY(?)", sqltypes.Array(ids)),
			"IN":    db.Where("id IN ?", ids),
			"map":   db.Where(map[string]any{"id": ids}),
			"equal": db.Where("id = 1").Or("members = ?", sqltypes.Array{7}),
		} {
			var got []snowflake.ID
			err := query.Model(&team{}).Order("id").Pluck("id", &got).Error
			if !slices.Equal(got, []snowflake.ID{1, 3}) || err != nil {
				t.Errorf("%s: %v, %v, want [1 3]", name, got, err)
			}
		}
	})
}

// Without arrays a column of IDs is JSON, and JSONNumbers a parameter of IDs.
func TestGORMKeepsASliceAsJSONWhereThereAreNoArrays(t *testing.T) {
	type group struct {
		ID      snowflake.ID
		Members []snowflake.ID `gorm:"serializer:json;type:text"`
	}
	// The groups of a member, whose ID is in quotes in the JSON.
	ofMember := map[string]string{
		"sqlite":  "? IN (SELECT CAST(value AS INTEGER) FROM json_each(members))",
		"mariadb": "? IN (SELECT id FROM JSON_TABLE(members, '$[*]' COLUMNS (id BIGINT PATH '$')) AS ids)",
	}
	testdb.Each(t, func(t *testing.T, target testdb.Target) {
		condition, ok := inJSON[target.Name]
		if !ok {
			t.Skip("it has arrays")
		}
		db := openArrayGORM(t, target)
		if err := db.AutoMigrate(&group{}); err != nil {
			t.Fatal(err)
		}
		groups := []group{
			{1, []snowflake.ID{5, 9007199254740993}},
			{2, []snowflake.ID{9007199254740992}},
			{9007199254740993, []snowflake.ID{}},
		}
		if err := db.Create(&groups).Error; err != nil {
			t.Fatal(err)
		}
		var got []group
		if err := db.Where(condition, sqltypes.Array{1, 9007199254740993}.JSONNumbers()).Order("id").Find(&got).Error; err != nil {
			t.Fatal(err)
		}
		if len(got) != 2 || got[0].ID != 1 || got[1].ID != 9007199254740993 || !slices.Equal(got[0].Members, groups[0].Members) {
			t.Errorf("read %v, want the first and the last of %v", got, groups)
		}
		got = nil
		err := db.Where(ofMember[target.Name], snowflake.ID(9007199254740993)).Find(&got).Error
		if err != nil || len(got) != 1 || got[0].ID != 1 {
			t.Errorf("the groups of a member are %v, %v, want the first", got, err)
		}
	})
}
