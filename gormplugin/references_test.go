package gormplugin_test

import (
	"errors"
	"strings"
	"testing"

	"gorm.io/gorm"
	"gorm.io/gorm/schema"

	"github.com/sqlflake/sqlflake/gormplugin"
	"github.com/sqlflake/sqlflake/internal/testdb"
	"github.com/sqlflake/sqlflake/internal/testdb/gormdb"
	"github.com/sqlflake/sqlflake/snowflake"
	"github.com/sqlflake/sqlflake/sqltypes"
	"github.com/sqlflake/sqlflake/sqltypes/uuidkey"
)

type flakeNumber int64

// refersTo has a key of type K that the plugin fills, to which children refer with a field of type R.
type refersTo[K, R any] struct {
	ID   K           `gorm:"primaryKey;snowflake;autoIncrement:false"`
	Kids []refers[R] `gorm:"foreignKey:OwnerID"`
}

type refers[R any] struct {
	ID      snowflake.ID `gorm:"primaryKey;type:int"`
	OwnerID R
}

func TestReferencesThatCannotHoldAKeyAreRefused(t *testing.T) {
	type book struct {
		ID       snowflake.ID `gorm:"primaryKey;type:int"`
		AuthorID string
		Author   *keyed
	}
	type page struct {
		ID     uint `gorm:"primaryKey"`
		LeafID int32
		Leaf   *keyed
	}
	db := onSQLite(t)
	dry := db.Session(&gorm.Session{DryRun: true})
	for _, model := range []struct {
		model  any
		remedy string // empty: the reference works
	}{
		{&refersTo[uint, uint32]{}, "uint64"},
		{&refersTo[int64, int32]{}, "uint64"},
		{&refersTo[int64, *int16]{}, "uint64"},
		{&refersTo[int64, float64]{}, "uint64"},
		{&refersTo[string, int32]{}, "string"},
		{&refersTo[string, float32]{}, "string"},
		{&refersTo[flakeNumber, string]{}, "uint64"},
		{&refersTo[snowflake.ID, string]{}, "uint64"},
		{&refersTo[snowflake.ID, sqltypes.Text]{}, "uint64"},
		{&refersTo[*snowflake.ID, *sqltypes.Text]{}, "uint64"},
		{&refersTo[sqltypes.Text, string]{}, "sqltypes.Text"},
		{&refersTo[sqltypes.Text, snowflake.ID]{}, "sqltypes.Text"},
		{&refersTo[sqltypes.Text, sqltypes.Null]{}, "sqltypes.Text"},
		{&refersTo[sqltypes.Text, sqltypes.Binary]{}, "sqltypes.Text"},
		{&refersTo[sqltypes.Binary, snowflake.ID]{}, "sqltypes.Binary"},
		{&refersTo[uuidkey.ID, uint64]{}, "uuidkey.ID"},
		{&refersTo[string, sqltypes.Binary]{}, "string"},
		{&refersTo[sqltypes.Text, *sqltypes.Text]{}, ""},
		{&refersTo[*uuidkey.ID, uuidkey.ID]{}, ""},
		{&refersTo[int64, string]{}, ""},
		{&refersTo[string, *string]{}, ""},
		{&refersTo[snowflake.ID, sqltypes.Null]{}, ""},
		{&refersTo[snowflake.ID, flakeNumber]{}, ""},
		{&refersTo[flakeNumber, uint]{}, ""},
		{&textOwner{}, "uint64"}, // polymorphic
		{&uintOwner{}, ""},
		{&book{Author: &keyed{ID: 1}}, "uint64"}, // belongs to
		{&page{Leaf: &keyed{ID: 1}}, "uint64"},
	} {
		for what, err := range map[string]error{
			"Create":               dry.Create(model.model).Error,
			"Updates":              dry.Where("id = 1").Updates(model.model).Error,
			"DisableAutoIncrement": gormplugin.DisableAutoIncrement(db.DB, model.model),
		} {
			switch {
			case model.remedy == "":
				if err != nil {
					t.Errorf("%T: %s: %v", model.model, what, err)
				}
			case !errors.Is(err, schema.ErrUnsupportedDataType) || !strings.Contains(err.Error(), "make it a") ||
				!strings.Contains(strings.SplitN(err.Error(), "make it a", 2)[1], " "+model.remedy+":"):
				t.Errorf("%T: %s: error %v, want schema.ErrUnsupportedDataType and the remedy %s", model.model, what, err, model.remedy)
			}
		}
	}
}

func TestReferencesThatWorkFindTheirRows(t *testing.T) {
	type leaf struct {
		ID     snowflake.ID `gorm:"primaryKey;type:int"`
		TreeID *sqltypes.Text
	}
	type tree struct {
		ID     sqltypes.Text
		Leaves []leaf
	}
	each(t, func(t *testing.T, db *env) {
		made := tree{Leaves: []leaf{{}, {}}}
		must(t, db.Create(&made))
		var found tree
		must(t, db.Preload("Leaves").First(&found, "id = ?", made.ID))
		equal(t, "leaves", len(found.Leaves), 2)
	}, &tree{}, &leaf{})
}

func TestASmallReferenceToAKeyOfIntegerKeysIsRefused(t *testing.T) {
	type kid struct {
		ID       uint
		ParentID uint32
	}
	type parent struct {
		ID   uint
		Kids []kid
	}
	target := testdb.SQLite(t)
	for _, options := range [][]gormplugin.Option{nil, {gormplugin.WithIntegerKeys()}} {
		db := open(t, target, gormdb.Dialector(target), gorm.Config{DryRun: true}, nil, options...)
		err := db.Create(&parent{Kids: []kid{{}}}).Error
		if errors.Is(err, schema.ErrUnsupportedDataType) != (options != nil) {
			t.Errorf("%d options: error %v", len(options), err)
		}
	}
}

type (
	textOwner struct {
		ID    snowflake.ID `gorm:"primaryKey;type:int"`
		Notes []textNote   `gorm:"polymorphic:Owner"`
	}
	textNote struct {
		ID        snowflake.ID `gorm:"primaryKey;type:int"`
		OwnerID   string
		OwnerType string
	}
	uintOwner struct {
		ID    snowflake.ID `gorm:"primaryKey;type:int"`
		Notes []uintNote   `gorm:"polymorphic:Owner"`
	}
	uintNote struct {
		ID        snowflake.ID `gorm:"primaryKey;type:int"`
		OwnerID   uint64
		OwnerType string
	}
)
