package sqltypes_test

import (
	"testing"

	"gorm.io/gorm"
	"gorm.io/gorm/logger"

	"github.com/sqlflake/sqlflake/gormplugin"
	"github.com/sqlflake/sqlflake/internal/testdb"
	"github.com/sqlflake/sqlflake/snowflake"
	"github.com/sqlflake/sqlflake/sqltypes"
)

// openPlainGORM opens a handle without the plugin and without a log.
func openPlainGORM(t *testing.T, target testdb.Target) *gorm.DB {
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

type team struct {
	ID      snowflake.ID
	Members sqltypes.Array
}

func TestArrayIsABigintArrayColumnInGORM(t *testing.T) {
	eachPgxMode(t, func(t *testing.T, target testdb.Target) {
		db := openPlainGORM(t, target)
		for range 2 { // the second call changes nothing
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
		// An update to NULL and back.
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

type branch struct {
	ID       snowflake.ID
	ParentID sqltypes.ZeroNull
	Parent   *branch
	Children []branch `gorm:"foreignKey:ParentID"`
}

func TestZeroNullIsAnOptionalForeignKeyInGORM(t *testing.T) {
	testdb.Each(t, func(t *testing.T, target testdb.Target) {
		db := openPlainGORM(t, target)
		generator, err := snowflake.New(1)
		if err != nil {
			t.Fatal(err)
		}
		if err := db.Use(gormplugin.New(generator)); err != nil {
			t.Fatal(err)
		}
		for range 2 { // the second call changes nothing
			if err := db.AutoMigrate(&branch{}); err != nil {
				t.Fatal(err)
			}
		}
		columns, err := db.Migrator().ColumnTypes(&branch{})
		if err != nil {
			t.Fatal(err)
		}
		for _, column := range columns {
			nullable, ok := column.Nullable()
			if name := column.DatabaseTypeName(); column.Name() == "parent_id" &&
				(!ok || !nullable || name != "bigint" && name != "int8") {
				t.Errorf("parent_id is a %s, nullable %v, want a bigint that may be NULL", name, nullable)
			}
		}
		// All three databases enforce the foreign key, so 0 instead of NULL would be an error.
		root := branch{Children: []branch{{}, {}}}
		if err := db.Create(&root).Error; err != nil {
			t.Fatal(err)
		}
		leaf := branch{Parent: &branch{}}
		if err := db.Create(&leaf).Error; err != nil {
			t.Fatal(err)
		}
		if snowflake.ID(leaf.ParentID) != leaf.Parent.ID || leaf.ParentID == 0 ||
			snowflake.ID(root.Children[0].ParentID) != root.ID {
			t.Errorf("the foreign keys are not set: %+v, %+v", leaf, root)
		}
		var roots []branch
		err = db.Where("parent_id IS NULL").Preload("Children").Preload("Parent").Order("id").Find(&roots).Error
		if err != nil || len(roots) != 2 || len(roots[0].Children) != 2 || len(roots[1].Children) != 1 || roots[0].ParentID != 0 {
			t.Errorf("the roots are %+v, %v", roots, err)
		}
		var read branch
		err = db.Preload("Parent").First(&read, "id = ?", leaf.ID).Error
		if err != nil || read.Parent == nil || read.Parent.ID != leaf.Parent.ID {
			t.Errorf("the leaf is %+v, %v", read, err)
		}
		// Without its parent the leaf is a root.
		read.ParentID, read.Parent = 0, nil
		if err := db.Save(&read).Error; err != nil {
			t.Fatal(err)
		}
		var count int64
		if err := db.Model(&branch{}).Where("parent_id IS NULL").Count(&count).Error; count != 3 || err != nil {
			t.Errorf("%d roots, %v, want 3", count, err)
		}
	})
}
