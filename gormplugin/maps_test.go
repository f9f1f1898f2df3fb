package gormplugin_test

import (
	"database/sql"
	"database/sql/driver"
	"encoding/json"
	"errors"
	"slices"
	"testing"

	"gorm.io/gorm"
	"gorm.io/gorm/clause"
	"gorm.io/gorm/logger"

	"github.com/sqlflake/sqlflake/snowflake"
)

type item struct {
	ID   snowflake.ID `gorm:"primaryKey;type:int;column:item_id"`
	Name string
}

func (e *env) itemKeys(t *testing.T) []int64 {
	t.Helper()
	var keys []int64
	must(t, e.Table("items").Order("item_id").Pluck("item_id", &keys))
	return keys
}

func TestAllKindsOfMapsAreFilledInPlaceUnderTheColumnName(t *testing.T) {
	each(t, func(t *testing.T, db *env) {
		one, other := map[string]any{"Name": "a"}, map[string]any{"name": "b"}
		must(t, db.Model(&item{}).Create(one))
		must(t, db.Model(&item{}).Create(&other))
		equal(t, "map", one["item_id"], any(firstID))
		equal(t, "pointer to a map", other["item_id"], any(firstID+1))
		wantCalls(t, db.gen, 1, 1)

		many, more := []map[string]any{{"Name": "c"}, {"Name": "d"}}, []map[string]any{{"Name": "e"}, {"Name": "f"}}
		must(t, db.Model(&item{}).Create(many))
		must(t, db.Model(&item{}).Create(&more))
		wantCalls(t, db.gen, 2, 2)
		for i, m := range slices.Concat(many, more) {
			equal(t, "map in a slice", m["item_id"], any(firstID+2+snowflake.ID(i)))
		}
		equal(t, "maps in the slice", len(more), 2)

		must(t, db.Model(&item{}).CreateInBatches(&[]map[string]any{{"Name": "g"}, {"Name": "h"}, {"Name": "i"}}, 2))
		wantCalls(t, db.gen, 2, 1)
		keys := db.itemKeys(t)
		equal(t, "rows", len(keys), 9)
		equal(t, "last key", keys[8], int64(firstID+8))
	}, &item{})
}

func TestKeysInMapsStayUnderEitherName(t *testing.T) {
	each(t, func(t *testing.T, db *env) {
		id := snowflake.ID(4)
		maps := []map[string]any{
			{"ID": 1},
			{"item_id": snowflake.ID(2)},
			{"ID": int64(-3)},
			{"item_id": &id},
			{"ID": "5"},
			{"item_id": json.Number("6")},
			{"ID": 7.0},
			{"ID": uint32(8)},
			{"item_id": sql.NullInt64{Int64: 9, Valid: true}},
		}
		for _, m := range maps {
			before := len(m)
			must(t, db.Model(&item{}).Create(m))
			equal(t, "entries", len(m), before)
		}
		must(t, db.Model(&item{}).Create(map[string]any{"item_id": clause.Expr{SQL: "9 + 1"}}))
		wantCalls(t, db.gen)
		if keys := db.itemKeys(t); !slices.Equal(keys, []int64{-3, 1, 2, 4, 5, 6, 7, 8, 9, 10}) {
			t.Errorf("keys %v", keys)
		}
	}, &item{})
}

func TestZerosInMapsAreNoKeys(t *testing.T) {
	each(t, func(t *testing.T, db *env) {
		var none *snowflake.ID
		zero := snowflake.ID(0)
		maps := []map[string]any{
			{"ID": 0},
			{"ID": nil},
			{"ID": snowflake.ID(0)},
			{"item_id": none},
			{"item_id": (*int64)(nil)},
			{"item_id": &zero},
			{"item_id": "0"},
			{"ID": 0.0},
			{"ID": uint(0)},
			{"item_id": sql.NullInt64{}},
			{"ID": json.Number("0")},
		}
		for _, m := range maps {
			must(t, db.Model(&item{}).Create(m))
			if _, there := m["ID"]; there {
				t.Errorf("a second spelling is left: %v", m)
			}
		}
		slice := []map[string]any{{"ID": 0, "Name": "a"}, {"Name": "b"}, nil, {"item_id": 5}}
		must(t, db.Model(&item{}).Create(slice))
		wantCalls(t, db.gen, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 3)
		equal(t, "key of the nil map", slice[2]["item_id"], any(firstID+13))
		keys := db.itemKeys(t)
		equal(t, "rows", len(keys), 15)
		equal(t, "smallest key", keys[0], 5)

		var empty map[string]any
		must(t, db.Model(&item{}).Create(&empty))
		equal(t, "key of the map that was nil", empty["item_id"], any(firstID+14))
	}, &item{})
}

func TestSelectAndOmitHoldForMaps(t *testing.T) {
	db := onSQLite(t, &item{})
	m, omitted := map[string]any{"Name": "a"}, map[string]any{"Name": "b"}
	must(t, db.Model(&item{}).Select("Name").Create(m))
	equal(t, "rows", db.count(t, "items", "item_id = ?", m["item_id"]), 1)
	wantCalls(t, db.gen, 1)
	must(t, db.Model(&item{}).Omit("ID").Create(omitted))
	wantCalls(t, db.gen)
	equal(t, "entries", len(omitted), 1)
}

// broken is a value that cannot be had.
type broken struct{}

var errBroken = errors.New("broken")

func (broken) Value() (driver.Value, error) { return nil, errBroken }

// endless is a value whose value is a value.
type endless struct{}

func (e endless) Value() (driver.Value, error) { return e, nil }

func TestKeysInMapsThatHaveNoValueAreErrorsOfTheDriver(t *testing.T) {
	db := onSQLite(t, &keyed{})
	wantError(t, db.Model(&keyed{}).Create(map[string]any{"id": broken{}}).Error, errBroken)
	silent := db.Session(&gorm.Session{Logger: logger.Discard}) // GORM's follow such values without an end
	if err := silent.Model(&keyed{}).Create(map[string]any{"id": endless{}}).Error; err == nil {
		t.Error("a value without an end was written")
	}
	wantCalls(t, db.gen)
}
