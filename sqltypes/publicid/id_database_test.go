package publicid_test

import (
	"database/sql"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"gorm.io/gorm"
	"gorm.io/gorm/logger"

	"github.com/sqlflake/sqlflake/gormplugin"
	"github.com/sqlflake/sqlflake/gormplugin/gormtest"
	"github.com/sqlflake/sqlflake/internal/testdb"
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
	run := func(t *testing.T, target testdb.Target) {
		gen := gormtest.New(time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC))
		db, err := gorm.Open(target.Dialector(), &gorm.Config{Logger: logger.Discard}, gormplugin.New(gen))
		if err != nil {
			t.Fatal(err)
		}
		pool, err := db.DB()
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { pool.Close() })
		if err := db.AutoMigrate(&User{}, &Order{}); err != nil {
			t.Fatal(err)
		}
		f(t, db)
	}
	testdb.Each(t, func(t *testing.T, target testdb.Target) {
		run(t, target)
		if target.Name == "postgres" {
			t.Run("simple", func(t *testing.T) {
				simple := testdb.Postgres(t)
				separator := "?"
				if strings.Contains(simple.DSN, "?") {
					separator = "&"
				}
				simple.DSN += separator + "default_query_exec_mode=simple_protocol"
				run(t, simple)
			})
		}
	})
}

// api binds and writes the models directly.
func api(db *gorm.DB) http.Handler {
	mux := http.NewServeMux()
	answer := func(w http.ResponseWriter, value any, err error) {
		switch {
		case errors.Is(err, publicid.ErrToken), errors.Is(err, gorm.ErrRecordNotFound):
			http.Error(w, "not found", http.StatusNotFound)
		case err != nil:
			http.Error(w, err.Error(), http.StatusInternalServerError)
		default:
			_ = json.NewEncoder(w).Encode(value)
		}
	}
	mux.HandleFunc("POST /users", func(w http.ResponseWriter, r *http.Request) {
		var user User
		err := json.NewDecoder(r.Body).Decode(&user)
		if err == nil {
			err = db.WithContext(r.Context()).Create(&user).Error
		}
		answer(w, user, err)
	})
	mux.HandleFunc("GET /users/{id}", func(w http.ResponseWriter, r *http.Request) {
		var user User
		id, err := publicid.ParseID[userKind](r.PathValue("id"))
		if err == nil {
			err = db.WithContext(r.Context()).Preload("Orders").First(&user, id).Error
		}
		answer(w, user, err)
	})
	return mux
}

func call(t *testing.T, handler http.Handler, method, path, body string) (status int, answer string) {
	t.Helper()
	recorder := httptest.NewRecorder()
	handler.ServeHTTP(recorder, httptest.NewRequestWithContext(t.Context(), method, path, strings.NewReader(body)))
	text, err := io.ReadAll(recorder.Result().Body)
	if err != nil {
		t.Fatal(err)
	}
	return recorder.Code, strings.TrimSpace(string(text))
}

func TestAPIHasOnlyTokensAndTheColumnHasTheNumber(t *testing.T) {
	eachGORM(t, func(t *testing.T, db *gorm.DB) {
		handler := api(db)
		var ada, grace User
		status, answer := call(t, handler, "POST", "/users", `{"name":"Ada","orders":[{},{}]}`)
		if err := json.Unmarshal([]byte(answer), &ada); status != 200 || err != nil || len(ada.Orders) != 2 || ada.ID.SnowflakeID() <= 0 {
			t.Fatalf("%d %s: %v", status, answer, err)
		}
		want := `{"id":"` + mustToken(t, users, ada.ID.SnowflakeID()) + `","name":"Ada","invited_by":null,"orders":[` +
			`{"id":"` + mustToken(t, orders, ada.Orders[0].ID.SnowflakeID()) + `","user_id":"` + ada.ID.String() + `"},` +
			`{"id":"` + mustToken(t, orders, ada.Orders[1].ID.SnowflakeID()) + `","user_id":"` + ada.ID.String() + `"}]}`
		if answer != want {
			t.Errorf("POST answers %s, want %s", answer, want)
		}
		if status, got := call(t, handler, "GET", "/users/"+ada.ID.String(), ""); status != 200 || got != want {
			t.Errorf("GET answers %d %s, want %s", status, got, want)
		}

		status, answer = call(t, handler, "POST", "/users", `{"name":"Grace","invited_by":"`+ada.ID.String()+`"}`)
		err := json.Unmarshal([]byte(answer), &grace)
		if status != 200 || err != nil || grace.InvitedBy == nil || *grace.InvitedBy != ada.ID {
			t.Fatalf("%d %s: %v", status, answer, err)
		}

		var raw struct {
			ID        snowflake.ID
			InvitedBy sql.Null[snowflake.ID]
		}
		if err := db.Table("users").Where("name = ?", "Grace").Take(&raw).Error; err != nil {
			t.Fatal(err)
		}
		if raw.ID != grace.ID.SnowflakeID() || !raw.InvitedBy.Valid || raw.InvitedBy.V != ada.ID.SnowflakeID() {
			t.Errorf("the columns hold %+v, want the numbers %d and %d", raw, grace.ID.SnowflakeID(), ada.ID.SnowflakeID())
		}

		digits := raw.ID.String()
		for path, name := range map[string]string{
			digits: "the number", "0": "0", raw.ID.Base32(): "Base32", strings.ToLower(grace.ID.String()): "lower case",
			ada.Orders[0].ID.String():                         "the token of an order",
			mustToken(t, mustCodec("user", otherKey), raw.ID): "the token of another key",
			mustToken(t, users, 4242):                         "the token of no row",
		} {
			if status, got := call(t, handler, "GET", "/users/"+path, ""); status != 404 {
				t.Errorf("GET with %s answers %d %s", name, status, got)
			}
		}
		for _, value := range []string{digits, `"` + digits + `"`, `""`, "0", `"` + ada.Orders[0].ID.String() + `"`} {
			if status, got := call(t, handler, "POST", "/users", `{"name":"Eve","invited_by":`+value+`}`); status != 404 {
				t.Errorf("POST with invited_by %s answers %d %s", value, status, got)
			}
		}
		var n int64
		if err := db.Model(&User{}).Count(&n).Error; n != 2 || err != nil {
			t.Errorf("there are %d users, %v, want 2", n, err)
		}
	})
}

// GORM takes the array of an ID for a list, and reads into its element.
func TestGORMReadsASingleValue(t *testing.T) {
	eachGORM(t, func(t *testing.T, db *gorm.DB) {
		ada := User{Name: "Ada"}
		if err := db.Create(&ada).Error; err != nil {
			t.Fatal(err)
		}
		grace := User{Name: "Grace", InvitedBy: &ada.ID}
		if err := db.Create(&grace).Error; err != nil {
			t.Fatal(err)
		}
		row := func(user User) *gorm.DB { return db.Model(&User{}).Where("id = ?", user.ID) }
		for name, read := range map[string]func(to any) error{
			"Raw": func(to any) error {
				return db.Raw("SELECT invited_by FROM users WHERE id = ?", grace.ID).Scan(to).Error
			},
			"Table": func(to any) error {
				return db.Table("users").Where("name = ?", "Grace").Select("invited_by").Scan(to).Error
			},
			"Scan":  func(to any) error { return row(grace).Select("invited_by").Scan(to).Error },
			"Pluck": func(to any) error { return row(grace).Pluck("invited_by", to).Error },
		} {
			id, null := userID(42), sql.Null[UserID]{}
			var pointer *UserID
			if err := errors.Join(read(&id), read(&null), read(&pointer)); err != nil || id != ada.ID || null.V != ada.ID || *pointer != ada.ID {
				t.Errorf("%s: %d, %+v, %v, %v", name, id.SnowflakeID(), null, pointer, err)
			}
		}
		id, null := userID(42), sql.Null[UserID]{Valid: true}
		if err := row(ada).Pluck("invited_by", &null).Error; err != nil || null.Valid {
			t.Errorf("NULL is read as %+v, %v", null, err)
		}
		if err := row(ada).Pluck("invited_by", &id).Error; !errors.Is(err, snowflake.ErrNull) ||
			!strings.Contains(err.Error(), "sql.Null[publicid.ID]") || !id.IsZero() {
			t.Errorf("NULL is read as %d, %v", id.SnowflakeID(), err)
		}
	})
}
