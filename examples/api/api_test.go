package main

import (
	"flag"
	"fmt"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"gorm.io/driver/sqlite"
	"gorm.io/gorm"

	"github.com/sqlflake/sqlflake/gormplugin"
	"github.com/sqlflake/sqlflake/gormplugin/gormtest"
	"github.com/sqlflake/sqlflake/snowflake"
)

var update = flag.Bool("update", false, "write the golden file")

// TestTheAPIAnswersWithTheGoldenFile has the same IDs in each run, so its answers are those of a file.
func TestTheAPIAnswersWithTheGoldenFile(t *testing.T) {
	gen := gormtest.New(snowflake.Default(), time.Date(2026, 1, 2, 15, 4, 5, 0, time.UTC), time.Millisecond)
	file := filepath.Join(t.TempDir(), "test.db")
	config := &gorm.Config{NowFunc: gen.Now, TranslateError: true}
	db, err := gorm.Open(sqlite.Open(file+"?_foreign_keys=on"), config, gormplugin.New(gen))
	if err == nil {
		err = db.AutoMigrate(&User{}, &Order{})
	}
	if err != nil {
		t.Fatal(err)
	}

	var got strings.Builder
	api := newAPI(db)
	for _, request := range []string{
		`POST /users {"name":"Ada"}`,
		`POST /users {"id":"1","name":"Grace"}`, // the client's ID is not used
		`POST /orders {"user_id":"132861478830080000","cents":399}`,
		`POST /orders {"user_id":132861478830080000,"cents":80}`,
		`GET /users/132861478830080000`,
		`GET /users/132861478834274304`,
		`GET /users/1`,
		`GET /users/01`,
		`POST /orders {"user_id":"1"}`,
		`POST /orders {"user_id":1e3}`,
		`POST /users {`,
	} {
		method, rest, _ := strings.Cut(request, " ")
		path, body, _ := strings.Cut(rest, " ")
		w := httptest.NewRecorder()
		api.ServeHTTP(w, httptest.NewRequest(method, path, strings.NewReader(body)))
		fmt.Fprintf(&got, "%s\n%d %s\n", request, w.Code, w.Body)
	}

	gen.FailAfter(0, snowflake.ErrLeaseStalled)
	w := httptest.NewRecorder()
	api.ServeHTTP(w, httptest.NewRequest("POST", "/users", strings.NewReader(`{"name":"Eve"}`)))
	fmt.Fprintf(&got, "a stalled lease\n%d Retry-After: %s\n%s\n", w.Code, w.Header().Get("Retry-After"), w.Body)

	const golden = "testdata/answers.golden"
	if *update {
		if err := os.WriteFile(golden, []byte(got.String()), 0o600); err != nil {
			t.Fatal(err)
		}
	}

	want, err := os.ReadFile(golden)
	if err != nil || got.String() != string(want) {
		t.Errorf("error %v, got\n%s\nwant\n%s", err, got.String(), want)
	}
}
