package gormplugin_test

import (
	"errors"
	"testing"

	"gorm.io/gorm"

	"github.com/sqlflake/sqlflake/snowflake"
	"github.com/sqlflake/sqlflake/sqltypes"
	"github.com/sqlflake/sqlflake/sqltypes/uuidkey"
)

func TestAValueOfAnotherTypeNeedsEachIDInItsForm(t *testing.T) {
	type card struct {
		ID       snowflake.ID
		PublicID string `gorm:"snowflake;size:19"`
		Name     string
	}
	type label struct {
		ID   sqltypes.Text
		Name string
	}
	type byText struct {
		ID       sqltypes.Text
		PublicID string
		Name     string
	}
	db := onSQLite(t, &card{}, &label{})
	for _, c := range []struct {
		model, value any
		fails        bool
	}{
		{&card{}, &struct {
			ID             *int64
			PublicID, Name string
		}{ptr(int64(0)), "7", "a pointer to 0"}, true},
		{&card{}, &struct {
			ID             *int64
			PublicID, Name string
		}{nil, "7", "a nil pointer"}, true},
		{&card{}, &byText{5, "7", "a text"}, true},
		{&card{}, []*byText{{5, "7", "texts"}}, true},
		{&card{}, &struct {
			ID             uuidkey.ID
			PublicID, Name string
		}{5, "7", "a UUID"}, true},
		{&card{}, &struct {
			ID    int64
			Title int64
			Name  string
		}{5, 7, "a title"}, true},
		{&card{}, &struct {
			ID    snowflake.ID
			Title int64
			Name  string
		}{5, 7, "a title beside a key of the same type"}, true},
		{&card{}, &struct {
			ID             int64
			PublicID, Name string
		}{5, "", "no public ID"}, true},
		{&card{}, &struct {
			id             snowflake.ID
			PublicID, Name string
		}{5, "7", "an unexported field"}, true},
		{&card{}, &[]struct{ PublicID, Name string }{{"7", "no key in a slice"}}, true},
		{&label{}, &struct {
			ID   float64
			Name string
		}{5, "a fraction"}, true},
		{&label{}, &struct {
			ID   int64
			Name string
		}{5, "a number"}, true},
		{&card{}, &struct {
			ID             *int64
			PublicID, Name string
		}{ptr(int64(5)), "7", "all IDs"}, false},
		{&card{}, &[]struct {
			ID       uint64
			PublicID *string
			Name     string
		}{{6, ptr("7"), "all IDs"}}, false},
		{&label{}, &struct {
			ID   *sqltypes.Text
			Note string
		}{ptr(sqltypes.Text(8)), "the type of the key"}, false},
	} {
		err := db.Model(c.model).Create(c.value).Error
		if c.fails && !errors.Is(err, gorm.ErrInvalidValue) || !c.fails && err != nil {
			t.Errorf("%+v: error %v, want gorm.ErrInvalidValue: %t", c.value, err, c.fails)
		}
	}
	db.wantKeys(t, "cards", 5, 6)
	equal(t, "labels", db.count(t, "labels", "id = ?", sqltypes.Text(8)), 1)
}
