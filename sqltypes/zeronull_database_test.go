package sqltypes_test

import (
	"errors"
	"testing"

	"github.com/sqlflake/sqlflake/gormplugin"
	"github.com/sqlflake/sqlflake/internal/testdb"
	"github.com/sqlflake/sqlflake/snowflake"
	"github.com/sqlflake/sqlflake/sqltypes"
)

func TestZeroNullRoundTripsThroughDatabases(t *testing.T) {
	testdb.Each(t, func(t *testing.T, target testdb.Target) {
		db := openDatabase(t, target)
		db.mustExec(t, "CREATE TABLE nodes (id bigint PRIMARY KEY, parent bigint)")
		for key, want := range someZeroNulls {
			db.mustExec(t, "INSERT INTO nodes (id, parent) VALUES (?, ?)", key+1, want)
			got := sqltypes.ZeroNull(42)
			if err := db.scanOne(t, &got, "SELECT parent FROM nodes WHERE id = ?", key+1); got != want || err != nil {
				t.Errorf("%d was read back as %d, %v", int64(want), int64(got), err)
			}
			var isNull bool
			err := db.scanOne(t, &isNull, "SELECT parent IS NULL FROM nodes WHERE id = ?", key+1)
			if isNull != (want == 0) || err != nil {
				t.Errorf("%d was stored as NULL: %v, %v", int64(want), isNull, err)
			}
		}
	})
}

func TestZeroNullIsAConversionWhereAnIDMeetsTheDatabase(t *testing.T) {
	testdb.Each(t, func(t *testing.T, target testdb.Target) {
		db := openDatabase(t, target)
		db.mustExec(t, "CREATE TABLE nodes (id bigint PRIMARY KEY, parent bigint)")
		var parent snowflake.ID
		db.mustExec(t, "INSERT INTO nodes (id, parent) VALUES (?, ?)", 1, sqltypes.ZeroNull(parent))
		parent = 42
		err := db.scanOne(t, (*sqltypes.ZeroNull)(&parent), "SELECT parent FROM nodes WHERE parent IS NULL")
		if parent != 0 || err != nil {
			t.Errorf("NULL was read as %d, %v, want 0", parent, err)
		}
	})
}

// A row of before with the number 0 reads as nothing and becomes NULL.
func TestZeroNullReadsTheNumberZero(t *testing.T) {
	testdb.Each(t, func(t *testing.T, target testdb.Target) {
		db := openDatabase(t, target)
		db.mustExec(t, "CREATE TABLE nodes (parent bigint, legacy varchar(20), bad varchar(20))")
		db.mustExec(t, "INSERT INTO nodes VALUES (0, '0', '')")
		for _, column := range []string{"parent", "legacy"} {
			got := sqltypes.ZeroNull(42)
			if err := db.scanOne(t, &got, "SELECT "+column+" FROM nodes"); got != 0 || err != nil {
				t.Errorf("%s was read as %d, %v, want 0", column, int64(got), err)
			}
		}
		got := sqltypes.ZeroNull(42)
		if err := db.scanOne(t, &got, "SELECT bad FROM nodes"); got != 0 || !errors.Is(err, snowflake.ErrSyntax) {
			t.Errorf("an empty text was read as %d, %v, want 0 and %v", int64(got), err, snowflake.ErrSyntax)
		}
	})
}

// GORM reads NULL without Scan: into an integer it puts 0, a slice or a struct it leaves as it was.
func TestZeroNullIsResetByGORM(t *testing.T) {
	type row struct {
		ID     snowflake.ID
		Parent sqltypes.ZeroNull
	}
	testdb.Each(t, func(t *testing.T, target testdb.Target) {
		db := openArrayGORM(t, target)
		if err := db.AutoMigrate(&row{}); err != nil {
			t.Fatal(err)
		}
		if err := db.Create(&row{ID: 1}).Error; err != nil {
			t.Fatal(err)
		}
		read := row{Parent: 42}
		if err := db.First(&read, "id = 1").Error; err != nil || read != (row{ID: 1}) {
			t.Errorf("read %+v, %v", read, err)
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
		db := openArrayGORM(t, target)
		generator, err := snowflake.New(1)
		if err != nil {
			t.Fatal(err)
		}
		if err := db.Use(gormplugin.New(generator)); err != nil {
			t.Fatal(err)
		}
		for range 2 { // the second time there is nothing to change
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
		// The foreign key is enforced on each of the three, so 0 instead of NULL would be an error.
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
		// Taken from its parent, a leaf is a root.
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
