package publicid_test

import (
	"database/sql"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"gorm.io/gorm"
	"gorm.io/gorm/logger"

	"github.com/sqlflake/sqlflake/gormplugin"
	"github.com/sqlflake/sqlflake/gormplugin/gormtest"
	"github.com/sqlflake/sqlflake/internal/testdb"
	"github.com/sqlflake/sqlflake/internal/testdb/gormdb"
	"github.com/sqlflake/sqlflake/snowflake"
	"github.com/sqlflake/sqlflake/sqltypes/publicid"
)

// User and Order are the models of an API that shows only tokens.
type User struct {
	ID        UserID  `json:"id"         gorm:"primaryKey;type:int;size:64"`
	Name      string  `json:"name"`
	InvitedBy *UserID `json:"invited_by"`
	Orders    []Order `json:"orders,omitempty"`
}

type Order struct {
	ID     OrderID `json:"id"      gorm:"primaryKey;type:int;size:64"`
	UserID UserID  `json:"user_id"`
}

// eachGORM runs f on each database, on PostgreSQL also with the simple protocol, which writes IDs as text.
func eachGORM(t *testing.T, f func(t *testing.T, db *gorm.DB)) {
	t.Helper()
	testdb.Each(t, func(t *testing.T, target testdb.Target) {
		targets := []testdb.Target{target}
		if target.Name == "postgres" {
			simple := testdb.Postgres(t)
			simple.DSN += "&default_query_exec_mode=simple_protocol"
			targets = append(targets, simple)
		}
		for _, target := range targets {
			gen := gormtest.New(snowflake.Default(), time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC), time.Millisecond)
			db, err := gorm.Open(gormdb.Dialector(target), &gorm.Config{Logger: logger.Discard}, gormplugin.New(gen))
			if err != nil {
				t.Fatal(err)
			}
			pool, err := db.DB()
			if err := errors.Join(err, db.AutoMigrate(&User{}, &Order{})); err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = pool.Close() })
			f(t, db)
		}
	})
}

func TestJSONHasOnlyTokensAndTheColumnHasTheNumber(t *testing.T) {
	eachGORM(t, func(t *testing.T, db *gorm.DB) {
		var ada User
		if err := errors.Join(json.Unmarshal([]byte(`{"name":"Ada","orders":[{},{}]}`), &ada), db.Create(&ada).Error); err != nil {
			t.Fatal(err)
		}
		want := `{"id":"` + mustToken(t, users, ada.ID.SnowflakeID()) + `","name":"Ada","invited_by":null,"orders":[` +
			`{"id":"` + mustToken(t, orders, ada.Orders[0].ID.SnowflakeID()) + `","user_id":"` + ada.ID.String() + `"},` +
			`{"id":"` + ada.Orders[1].ID.String() + `","user_id":"` + ada.ID.String() + `"}]}`
		var back User
		id, err := publicid.ParseID[userKind](ada.ID.String())
		if err := errors.Join(err, db.Preload("Orders").First(&back, id).Error); err != nil {
			t.Fatal(err)
		}
		if text, err := json.Marshal(back); string(text) != want || err != nil {
			t.Errorf("read back as %s, %v, want %s", text, err, want)
		}

		var grace User
		body := `{"name":"Grace","invited_by":"` + ada.ID.String() + `"}`
		var raw struct {
			ID        snowflake.ID
			InvitedBy sql.Null[snowflake.ID]
		}
		if err := errors.Join(json.Unmarshal([]byte(body), &grace), db.Create(&grace).Error,
			db.Table("users").Where("name = ?", "Grace").Take(&raw).Error); err != nil {
			t.Fatal(err)
		}
		if raw.ID != grace.ID.SnowflakeID() || !raw.InvitedBy.Valid || raw.InvitedBy.V != ada.ID.SnowflakeID() {
			t.Errorf("the columns hold %+v, want the numbers %d and %d", raw, grace.ID.SnowflakeID(), ada.ID.SnowflakeID())
		}
		testSingleValues(t, db, ada, grace)
	})
}

// GORM takes the array of an ID for a list, and reads a single value into its element.
func testSingleValues(t *testing.T, db *gorm.DB, ada, grace User) {
	row := func(user User) *gorm.DB { return db.Model(&User{}).Where("id = ?", user.ID) }
	for name, read := range map[string]func(to any) error{
		"Raw": func(to any) error {
			return db.Raw("SELECT invited_by FROM users WHERE id = ?", grace.ID).Scan(to).Error
		},
		"Scan":  func(to any) error { return row(grace).Select("invited_by").Scan(to).Error },
		"Pluck": func(to any) error { return row(grace).Pluck("invited_by", to).Error },
	} {
		id, null := userID(42), sql.Null[UserID]{}
		var pointer *UserID
		err := errors.Join(read(&id), read(&null), read(&pointer))
		if err != nil || id != ada.ID || null.V != ada.ID || *pointer != ada.ID {
			t.Errorf("%s: %d, %+v, %v, %v", name, id.SnowflakeID(), null, pointer, err)
		}
	}
	id, null := userID(42), sql.Null[UserID]{Valid: true}
	if err := row(ada).Pluck("invited_by", &null).Error; err != nil || null.Valid {
		t.Errorf("NULL is read as %+v, %v", null, err)
	}
	if err := row(ada).Pluck("invited_by", &id).Error; !errors.Is(err, snowflake.ErrNull) ||
		!strings.Contains(err.Error(), "sql.Null[publicid.ID]") || id.SnowflakeID() != 0 {
		t.Errorf("NULL is read as %d, %v", id.SnowflakeID(), err)
	}
}
