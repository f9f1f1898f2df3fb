package main

import (
	"bytes"
	"os"
	"regexp"
	"testing"

	"github.com/uptrace/bun"

	"github.com/sqlflake/sqlflake/internal/testdb"
	"github.com/sqlflake/sqlflake/snowflake"
)

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func TestMain(m *testing.M) { os.Exit(testdb.Main(m)) }

// each runs f on SQLite and on PostgreSQL.
func each(t *testing.T, f func(t *testing.T, target testdb.Target)) {
	t.Helper()
	t.Run("sqlite", func(t *testing.T) { f(t, testdb.SQLite(t)) })
	t.Run("postgres", func(t *testing.T) { f(t, testdb.Postgres(t)) })
}

// connect returns a database with the tables. Its keys are made by worker 1.
func connect(t *testing.T, target testdb.Target) *bun.DB {
	t.Helper()
	gen, err := snowflake.New(1)
	must(t, err)
	return connectWith(t, target, gen)
}

func connectWith(t *testing.T, target testdb.Target, gen *snowflake.Generator) *bun.DB {
	t.Helper()
	db := open(target.Open(t), target.Driver, gen)
	must(t, createTables(t.Context(), db))
	return db
}

const want = `customer Ada, made by worker 1
3 orders, in the order of their keys: true
{
  "id": "<ID>",
  "code": "ada",
  "name": "Ada",
  "orders": [
    {
      "id": "<ID>",
      "customer_id": "<ID>",
      "cents": 80
    },
    {
      "id": "<ID>",
      "customer_id": "<ID>",
      "cents": 399
    }
  ]
}
guests made 2 orders, 2 of them found
in March 2025: 7000 cents, at 2025-03-01 12:00:00
Grace has 0 orders
Ada Lovelace has 2 orders
not an ID: true
no such order: true
no such customer: true
too late: true
`

func TestItPrintsWhatIsStored(t *testing.T) {
	each(t, func(t *testing.T, target testdb.Target) {
		var args []string
		if target.Name == "postgres" {
			args = append(args, target.DSN)
		}
		var out bytes.Buffer
		must(t, run(t.Context(), args, &out))
		if got := regexp.MustCompile(`"[0-9]{18,19}"`).ReplaceAllString(out.String(), `"<ID>"`); got != want {
			t.Errorf("printed\n%s\nwant\n%s", got, want)
		}
	})
}
