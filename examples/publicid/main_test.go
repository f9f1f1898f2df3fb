package main

import (
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"gorm.io/driver/sqlite"

	"github.com/sqlflake/sqlflake/examples/internal/exampletest"
	"github.com/sqlflake/sqlflake/gormplugin/gormtest"
	"github.com/sqlflake/sqlflake/internal/testdb"
	"github.com/sqlflake/sqlflake/snowflake"
)

// The generator and the keys are fixed, so the tokens are the same in each run.
func TestTheAPIKnowsTokensOnly(t *testing.T) {
	pool := testdb.SQLite(t).Open(t)
	gen := gormtest.New(snowflake.Default(), time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC), time.Millisecond)
	api, err := open(sqlite.New(sqlite.Config{Conn: pool}), gen, "2026a:000102030405060708090a0b0c0d0e0f")
	exampletest.Must(t, err)
	const ada = `{"id":"2BN5D8MQNV4EBEF8WQ5QEYGZDA","name":"Ada"}`
	const notFound, badJSON = `{"error":"not found"}`, `{"error":"bad JSON"}`
	check := func(request, body string, status int, want string) {
		t.Helper()
		method, path, _ := strings.Cut(request, " ")
		w := httptest.NewRecorder()
		api.ServeHTTP(w, httptest.NewRequest(method, path, strings.NewReader(body)))
		if w.Code != status || strings.TrimSpace(w.Body.String()) != want {
			t.Errorf("%s %.50s: %d %s, want %d %s", request, body, w.Code, w.Body, status, want)
		}
	}
	check("POST /users", `{"id":"5","name":"Ada"}`, 200, ada) // the client's ID is not used
	check("GET /users/2BN5D8MQNV4EBEF8WQ5QEYGZDA", "", 200, ada)
	check("GET /users/153652455014400000", "", 404, notFound)         // the number
	check("GET /users/2BN5D8MQNV4EBEF8WQ5QEYGZD0", "", 404, notFound) // a changed token
	check("POST /users", `{"name":}`, 400, badJSON)
	check("POST /users", `{"name":5}`, 400, badJSON)
	check("POST /users", ``, 400, badJSON)
	check("POST /users", `{"name":"`+strings.Repeat("a", 64<<10)+`"}`, 400, badJSON)

	var id int64
	var kind string
	exampletest.Must(t, pool.QueryRow("SELECT id, typeof(id) FROM users").Scan(&id, &kind))
	if id != 153652455014400000 || kind != "integer" {
		t.Errorf("stored %d as %s", id, kind)
	}
	_, err = pool.Exec("DROP TABLE users")
	exampletest.Must(t, err)
	check("GET /users/2BN5D8MQNV4EBEF8WQ5QEYGZDA", "", 500, `{"error":"internal"}`)
}
