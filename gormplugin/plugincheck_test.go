package gormplugin_test

import (
	"bytes"
	"encoding/gob"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"gorm.io/gorm"

	"github.com/sqlflake/sqlflake/gormplugin"
	"github.com/sqlflake/sqlflake/internal/testdb"
	"github.com/sqlflake/sqlflake/snowflake"
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
		warnings := db.log.takeWarnings()
		if got := strings.Join(warnings, "\n"); len(warnings) != min(1, len(tt.want)) || !strings.Contains(got, tt.want) {
			t.Errorf("%T: warnings %q, want %q", tt.create[0], warnings, tt.want)
		}
	}
}

func TestModelWithoutAPluginStoresNoKeyZero(t *testing.T) {
	testdb.Each(t, func(t *testing.T, target testdb.Target) {
		db, _ := openWith(t, target, nil, &watched{})
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
		var rows int64
		must(t, db.Model(&watched{}).Count(&rows))
		equal(t, "rows", rows, 0)

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
