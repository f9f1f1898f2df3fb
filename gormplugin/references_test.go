package gormplugin_test

import (
	"bytes"
	"encoding/gob"
	"errors"
	"fmt"
	"strings"
	"testing"

	"gorm.io/gorm"
	"gorm.io/gorm/schema"

	"github.com/sqlflake/sqlflake/gormplugin"
	"github.com/sqlflake/sqlflake/internal/testdb"
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
		{&refersTo[uuidkey.ID, uint64]{}, "uuidkey.ID"},
		{&refersTo[sqltypes.Text, *sqltypes.Text]{}, ""},
		{&refersTo[*uuidkey.ID, uuidkey.ID]{}, ""},
		{&refersTo[int64, string]{}, ""},
		{&refersTo[string, *string]{}, ""},
		{&refersTo[snowflake.ID, sqltypes.Null]{}, ""},
		{&refersTo[snowflake.ID, flakeNumber]{}, ""},
		{&refersTo[flakeNumber, uint]{}, ""},
		{&noted[string]{}, "uint64"}, // polymorphic
		{&noted[uint64]{}, ""},
		{&book{Author: &keyed{ID: 1}}, "uint64"}, // belongs to
		{&page{Leaf: &keyed{ID: 1}}, "uint64"},
	} {
		want, text := error(nil), ""
		if model.remedy != "" {
			want, text = schema.ErrUnsupportedDataType, " "+model.remedy+":"
		}

		for what, err := range map[string]error{
			"Create":               dry.Create(model.model).Error,
			"Updates":              dry.Where("id = 1").Updates(model.model).Error,
			"DisableAutoIncrement": gormplugin.DisableAutoIncrement(db.DB, model.model),
		} {
			wantErrorOf(t, fmt.Sprintf("%T: %s", model.model, what), err, want, text)
		}
	}
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

	for _, options := range [][]gormplugin.Option{nil, {gormplugin.WithIntegerKeys()}} {
		db := open(t, testdb.SQLite(t), gorm.Config{DryRun: true}, nil, options...)
		err := db.Create(&parent{Kids: []kid{{}}}).Error
		equal(t, fmt.Sprint("refused by ", err), errors.Is(err, schema.ErrUnsupportedDataType), options != nil)
	}
}

type (
	noted[R any] struct {
		ID    snowflake.ID `gorm:"primaryKey;type:int"`
		Notes []noteOf[R]  `gorm:"polymorphic:Owner"`
	}
	noteOf[R any] struct {
		ID        snowflake.ID `gorm:"primaryKey;type:int"`
		OwnerID   R
		OwnerType string
	}
)

// Audit is embedded beside Model, whose own hook would hide this one.
type Audit struct{ Log string }

// BeforeCreate is a hook of GORM.
func (a *Audit) BeforeCreate(*gorm.DB) error {
	a.Log = "created"
	return nil
}

type watched struct {
	gormplugin.ModelSoftDelete
	Audit
	Owner   *watched
	OwnerID *snowflake.ID `gorm:"type:int"`
}

type (
	definedID snowflake.ID
	counted   struct{ gorm.Model }
	defined   struct {
		ID definedID `gorm:"primaryKey"`
	}
	coded struct {
		ID   string `gorm:"size:20"`
		Code string
	}
	selfKeyed struct{ ID string }
	left      struct {
		ID int64 `gorm:"snowflake:-"`
	}
	leftModel struct {
		gorm.Model `gorm:"snowflake:-"`
	}
	autoCounted struct {
		ID int64 `gorm:"autoIncrement"`
	}
)

// BeforeCreate is the usual way to make keys of UUIDs.
func (h *selfKeyed) BeforeCreate(*gorm.DB) error {
	h.ID = "made by a hook"
	return nil
}

func TestAKeyThatThePluginDoesNotFillIsSaidOnce(t *testing.T) {
	db := onSQLite(t, &counted{}, &defined{}, &coded{}, &selfKeyed{}, &left{}, &leftModel{}, &autoCounted{}, &user{})
	for _, tt := range []struct {
		create []any
		want   string
	}{
		{[]any{&counted{}, []counted{{}, {}}}, "counted is created without the key ID"},
		{[]any{&defined{ID: 5}, &defined{}}, "gormplugin_test.definedID"},
		{[]any{&coded{ID: "a"}, []*coded{{ID: "b"}, {}}}, "coded is created without the key ID"},
		{[]any{&selfKeyed{}, &left{}, &leftModel{}, &autoCounted{}, &user{}}, ""},
	} {
		create(t, db.DB, tt.create...)
		create(t, db.Omit("ID"), tt.create...)
		warnings := db.log.warnings.take()
		equal(t, "warnings "+tt.want, len(warnings), min(1, len(tt.want)))
		wantText(t, strings.Join(warnings, ""), tt.want)
	}
}

func TestModelWithoutAPluginStoresNoKeyZero(t *testing.T) {
	testdb.Each(t, func(t *testing.T, target testdb.Target) {
		db := on(t, target)
		db.migrate(t, &watched{})
		id := snowflake.ID(7)
		set := func() watched {
			id++
			return watched{ModelSoftDelete: gormplugin.ModelSoftDelete{Model: gormplugin.Model{ID: id}}}
		}
		owning := set()
		owning.Owner = &watched{}
		for what, err := range map[string]error{
			"a struct":       db.Create(&watched{}).Error,
			"a slice":        db.Create([]watched{set(), {}}).Error,
			"a map":          db.Model(&watched{}).Create(map[string]any{"log": "a"}).Error,
			"an association": db.Create(&owning).Error,
			"SkipHooks":      db.Session(&gorm.Session{SkipHooks: true}).Create(&watched{}).Error,
		} {
			wantErrorOf(t, what, err, gorm.ErrPrimaryKeyRequired, "no plugin is registered")
		}
		db.wantKeys(t, "watcheds")

		one, owned, owner := set(), set(), set()
		owned.Owner = &owner
		create(t, db.Model(&watched{}), &one, []watched{owned, set()}, map[string]any{"id": 99})
		equal(t, "hook of the other embedded struct", one.Log, "created")
		one.Log = "changed"
		must(t, db.Save(&one))
		must(t, db.Where(&watched{Audit: Audit{Log: "changed"}}).First(&watched{}))
		err := db.Omit("ID").Create(&watched{}).Error
		equal(t, "Omit of the key is refused", errors.Is(err, gorm.ErrPrimaryKeyRequired), false)

		var text bytes.Buffer
		var back watched
		noError(t, gob.NewEncoder(&text).Encode(one))
		noError(t, gob.NewDecoder(&text).Decode(&back))
		equal(t, "key in gob", back.ID, one.ID)
		wantNoText(t, inJSON(t, one), "Check")
	})
}

// A reference of several columns makes GORM call Value of each part (utils.ToStringKey), also of a nil pointer. That
// panics for each type whose Value is not declared for the pointer, as that of a key has to be. sqltypes.Null is no pointer.
func TestANilPartOfACompositeReferenceHasToBeANull(t *testing.T) {
	type office struct {
		ID        snowflake.ID `gorm:"primaryKey;type:int"`
		CompanyID snowflake.ID
		FloorID   snowflake.ID
	}
	type clerk[R any] struct {
		ID        snowflake.ID `gorm:"primaryKey;type:int"`
		CompanyID R
		FloorID   R
		Office    *office `gorm:"foreignKey:CompanyID,FloorID;references:CompanyID,FloorID"`
	}
	company := snowflake.ID(5)
	db := open(t, testdb.SQLite(t), withoutConstraints, []any{&office{}})
	for _, table := range []string{"nulls", "pointers"} {
		must(t, db.Exec("CREATE TABLE "+table+" (id integer PRIMARY KEY, company_id bigint, floor_id bigint)"))
	}

	null := clerk[sqltypes.Null]{CompanyID: sqltypes.NullFrom(company)}
	must(t, db.Table("nulls").Omit("Office").Create(&null))
	must(t, db.Table("nulls").Preload("Office").First(&null, null.ID))
	noError(t, db.Model(&null).Association("Office").Find(&office{}))

	pointer := clerk[*snowflake.ID]{CompanyID: &company}
	must(t, db.Table("pointers").Omit("Office").Create(&pointer))
	defer func() {
		if recover() == nil {
			t.Error("GORM has learnt it: the README may recommend *snowflake.ID here")
		}
	}()
	db.Table("pointers").Preload("Office").First(&pointer, pointer.ID)
}
