package main

import (
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"gorm.io/driver/sqlite"
	"gorm.io/gorm"

	"github.com/sqlflake/sqlflake/gormplugin"
	"github.com/sqlflake/sqlflake/gormplugin/gormtest"
	"github.com/sqlflake/sqlflake/internal/exampletest"
	"github.com/sqlflake/sqlflake/snowflake"
)

func TestIDsAreBoundFromPathQueryAndBody(t *testing.T) {
	gen := gormtest.New(snowflake.Default(), time.Date(2026, 1, 2, 15, 4, 5, 0, time.UTC), time.Millisecond)
	db, err := gorm.Open(sqlite.Open(filepath.Join(t.TempDir(), "test.db")), gormplugin.New(gen))
	exampletest.Must(t, err)
	exampletest.Must(t, db.AutoMigrate(&Order{}))
	const (
		first  = `{"id":"132861478830080000","user_id":"132861478825885696","cents":399}`
		second = `{"id":"132861478834274304","user_id":"132861478825885696","cents":80}`
	)
	links, err := newLinks("test:000102030405060708090a0b0c0d0e0f")
	exampletest.Must(t, err)
	router := newRouter(db, links)

	token, err := links.Token(132861478830080000)
	exampletest.Must(t, err)
	for _, test := range []struct {
		method, path, body string
		status             int
		want               string
	}{
		{"POST", "/orders", `{"user_id":"132861478825885696","cents":399}`, 200, first},
		{"POST", "/orders", `{"user_id":132861478825885696,"cents":80}`, 200, second},
		{"GET", "/users/132861478825885696/orders", "", 200, "[" + first + "," + second + "]"},
		{"GET", "/users/132861478825885696/orders?after=132861478830080000", "", 200, "[" + second + "]"},
		// as forms send it
		{"GET", "/users/132861478825885696/orders?after=", "", 200, "[" + first + "," + second + "]"},
		{"GET", "/users/1/orders", "", 200, "[]"},
		{"GET", "/users/ada/orders", "", 400, ""},
		{"GET", "/users/1/orders?after=x", "", 400, ""},
		{"GET", "/orders/" + token, "", 200, first},
		{"GET", "/orders/132861478830080000", "", 404, ""},
		{"POST", "/orders", `{"cents":80}`, 400, ""},
		{"POST", "/orders", `{"user_id":"ada"}`, 400, ""},
	} {
		w := httptest.NewRecorder()
		router.ServeHTTP(w, httptest.NewRequest(test.method, test.path, strings.NewReader(test.body)))
		if w.Code != test.status || w.Body.String() != test.want {
			t.Errorf("%s %s %s: %d %s, want %d %s",
				test.method, test.path, test.body, w.Code, w.Body, test.status, test.want)
		}
	}
}
