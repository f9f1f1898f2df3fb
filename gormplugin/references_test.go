package gormplugin_test

import (
	"bytes"
	"encoding/gob"
	"encoding/json"
	"errors"
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
		db := open(t, target, gorm.Config{DryRun: true}, nil, options...)
		err := db.Create(&parent{Kids: []kid{{}}}).Error
		if errors.Is(err, schema.ErrUnsupportedDataType) != (options != nil) {
			t.Errorf("%d options: error %v", len(options), err)
		}
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
		for _, value := range tt.create {
			must(t, db.Create(value))
			must(t, db.Omit("ID").Create(value))
		}
		warnings := db.log.warnings.take()
		if got := strings.Join(warnings, "\n"); len(warnings) != min(1, len(tt.want)) || !strings.Contains(got, tt.want) {
			t.Errorf("%T: warnings %q, want %q", tt.create[0], warnings, tt.want)
		}
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
		for what, create := range map[string]func() error{
			"a struct":       func() error { return db.Create(&watched{}).Error },
			"a slice":        func() error { return db.Create([]watched{set(), {}}).Error },
			"a map":          func() error { return db.Model(&watched{}).Create(map[string]any{"log": "a"}).Error },
			"an association": func() error { a := set(); a.Owner = &watched{}; return db.Create(&a).Error },
			"SkipHooks":      func() error { return db.Session(&gorm.Session{SkipHooks: true}).Create(&watched{}).Error },
		} {
			err := create()
			if !errors.Is(err, gorm.ErrPrimaryKeyRequired) || !strings.Contains(err.Error(), "no plugin is registered") {
				t.Errorf("%s: error %v, want one that names the plugin", what, err)
			}
		}
		equal(t, "rows", db.count(t, "watcheds", "1 = 1"), 0)

		one, owned := set(), set()
		owner := set()
		owned.Owner = &owner
		must(t, db.Create(&one))
		must(t, db.Create([]watched{owned, set()}))
		must(t, db.Model(&watched{}).Create(map[string]any{"id": 99}))
		equal(t, "hook of the other embedded struct", one.Log, "created")
		one.Log = "changed"
		must(t, db.Save(&one))
		must(t, db.Where(&watched{Audit: Audit{Log: "changed"}}).First(&watched{}))
		if err := db.Omit("ID").Create(&watched{}).Error; errors.Is(err, gorm.ErrPrimaryKeyRequired) {
			t.Errorf("Omit of the key: %v", err)
		}

		var text bytes.Buffer
		var back watched
		if err := gob.NewEncoder(&text).Encode(one); err != nil {
			t.Error(err)
		} else if err := gob.NewDecoder(&text).Decode(&back); err != nil || back.ID != one.ID {
			t.Errorf("gob: %v, error %v", back, err)
		}
		if form, err := json.Marshal(one); err != nil || strings.Contains(string(form), "Check") {
			t.Errorf("JSON: %s, error %v", form, err)
		}
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
