package main

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"gorm.io/driver/postgres"
	"gorm.io/driver/sqlite"
	"gorm.io/gorm"

	"github.com/sqlflake/sqlflake/internal/exampletest"
	"github.com/sqlflake/sqlflake/internal/testdb"
)

func TestMain(m *testing.M) { os.Exit(testdb.Main(m)) }

const want = `Ada   is <1>: TIME worker=W sequence=0
Grace is <2>: TIME worker=W sequence=1
In JSON keys are strings, because JavaScript would round the numbers:
{
  "id": "<1>",
  "created_at": "TIME",
  "updated_at": "TIME",
  "name": "Ada",
  "orders": [
    {
      "id": "<3>",
      "created_at": "TIME",
      "updated_at": "TIME",
      "user_id": "<1>",
      "cents": 80
    },
    {
      "id": "<4>",
      "created_at": "TIME",
      "updated_at": "TIME",
      "user_id": "<1>",
      "cents": 399
    }
  ]
}
`

// The second run meets the tables and the rows of the first one.
func TestKeysAreFilledAndReadBack(t *testing.T) {
	times := regexp.MustCompile(`\d{4}-\d\d-\d\dT[\d:.]+(Z|[+-]\d\d:\d\d)`)
	worker := regexp.MustCompile(`worker=\d+`)
	test := func(name string, dialector gorm.Dialector) {
		t.Run(name, func(t *testing.T) {
			for range 2 {
				var out strings.Builder
				run(t.Context(), dialector, &out)
				text := worker.ReplaceAllString(times.ReplaceAllString(out.String(), "TIME"), "worker=W")
				exampletest.Check(t, text, want)
			}
		})
	}

	test("sqlite", sqlite.New(sqlite.Config{Conn: testdb.SQLite(t).Open(t)}))
	test("postgres", postgres.New(postgres.Config{Conn: testdb.Postgres(t).Open(t)}))
}
