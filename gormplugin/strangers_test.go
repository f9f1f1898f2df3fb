package gormplugin_test

import (
	"errors"
	"testing"

	"gorm.io/gorm"

	"github.com/sqlflake/sqlflake/snowflake"
	"github.com/sqlflake/sqlflake/sqltypes"
	"github.com/sqlflake/sqlflake/sqltypes/uuidkey"
)

// dto has an ID and a public ID where a model has them.
type dto[K, P any] struct {
	ID       K
	PublicID P
	Name     string
}

type labelDTO[K any] struct {
	ID   K
	Note string
}

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
	db := onSQLite(t, &card{}, &label{})
	for _, c := range []struct {
		model, value any
		fails        bool
	}{
		{&card{}, &dto[*int64, string]{ptr(int64(0)), "7", "a pointer to 0"}, true},
		{&card{}, &dto[*int64, string]{nil, "7", "a nil pointer"}, true},
		{&card{}, []*dto[sqltypes.Text, string]{{5, "7", "texts"}}, true},
		{&card{}, &dto[uuidkey.ID, string]{5, "7", "a UUID"}, true},
		{&card{}, &dto[int64, int64]{5, 7, "a title"}, true},
		{&card{}, &dto[snowflake.ID, int64]{5, 7, "a title beside a key of the same type"}, true},
		{&card{}, &dto[int64, string]{5, "", "no public ID"}, true},
		{&card{}, &struct {
			id             snowflake.ID
			PublicID, Name string
		}{5, "7", "an unexported field"}, true},
		{&card{}, &[]struct{ PublicID, Name string }{{"7", "no key in a slice"}}, true},
		{&label{}, &labelDTO[float64]{5, "a fraction"}, true},
		{&label{}, &labelDTO[int64]{5, "a number"}, true},
		{&card{}, &dto[*int64, string]{ptr(int64(5)), "7", "all IDs"}, false},
		{&card{}, &[]dto[uint64, *string]{{6, ptr("7"), "all IDs"}}, false},
		{&label{}, &labelDTO[*sqltypes.Text]{ptr(sqltypes.Text(8)), "the type of the key"}, false},
	} {
		err := db.Model(c.model).Create(c.value).Error
		if c.fails && !errors.Is(err, gorm.ErrInvalidValue) || !c.fails && err != nil {
			t.Errorf("%+v: error %v, want gorm.ErrInvalidValue: %t", c.value, err, c.fails)
		}
	}
	one, many := dto[snowflake.ID, string]{Name: "new"}, []*dto[snowflake.ID, string]{{Name: "b"}, {Name: "c"}}
	must(t, db.Model(&card{}).Create(&one))
	must(t, db.Model(&card{}).Create(many))
	equal(t, "record of the types of the model", one, dto[snowflake.ID, string]{firstID, (firstID + 1).String(), "new"})
	db.wantKeys(t, "cards", 5, 6, firstID, firstID+2, firstID+4)
	equal(t, "labels", db.count(t, "labels", "id = ?", sqltypes.Text(8)), 1)
}
