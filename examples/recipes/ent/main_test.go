package main

import (
	"bytes"
	"errors"
	"os"
	"regexp"
	"testing"

	"entgo.io/ent/dialect"

	"github.com/sqlflake/sqlflake/examples/recipes/ent/ent"
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

func generator(t *testing.T) *snowflake.Generator {
	t.Helper()
	gen, err := snowflake.New(1)
	must(t, err)
	return gen
}

// connect returns a client after creating the tables.
func connect(t *testing.T, target testdb.Target, hooks ...ent.Hook) *ent.Client {
	t.Helper()
	name := dialect.SQLite
	if target.Name == "postgres" {
		name = dialect.Postgres
	}
	client := open(target.Open(t), name, hooks...)
	must(t, client.Schema.Create(t.Context()))
	return client
}

const want = `customer Ada, made by worker 1
3 orders, in the order of their keys: true
{
  "id": "<ID>",
  "code": "ada",
  "name": "Ada",
  "edges": {
    "orders": [
      {
        "id": "<ID>",
        "customer_id": "<ID>",
        "cents": 80,
        "edges": {}
      },
      {
        "id": "<ID>",
        "customer_id": "<ID>",
        "cents": 399,
        "edges": {}
      }
    ]
  }
}
guests made 2 orders, 2 of them found
in March 2025: 7000 cents, at 2025-03-01 12:00:00
Ada Lovelace has kept the key: true
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

func TestKeyColumnsArePlain(t *testing.T) {
	t.Run("sqlite", func(t *testing.T) {
		target := testdb.SQLite(t)
		client, db := connect(t, target, keys(generator(t))), target.Open(t)
		client.Order.Create().SetCents(1).ExecX(t.Context())
		var counters, apart int
		must(t, db.QueryRow(`SELECT
			(SELECT count(*) FROM sqlite_master WHERE sql LIKE '%AUTOINCREMENT%' OR name = 'sqlite_sequence'),
			(SELECT count(*) FROM orders WHERE rowid <> id)`).Scan(&counters, &apart))
		if counters != 0 || apart != 0 {
			t.Errorf("%d tables count by themselves, %d keys are not the rowid", counters, apart)
		}
	})
	t.Run("postgres", func(t *testing.T) {
		target := testdb.Postgres(t)
		connect(t, target)
		db := target.Open(t)
		for _, column := range [][2]string{{"customers", "id"}, {"orders", "id"}, {"orders", "customer_id"}} {
			var kind, identity string
			var preset *string
			must(t, db.QueryRow(`SELECT data_type, is_identity, column_default FROM information_schema.columns
				WHERE table_schema = current_schema() AND table_name = $1 AND column_name = $2`, column[0], column[1]).
				Scan(&kind, &identity, &preset))
			if kind != "bigint" || identity != "NO" || preset != nil {
				t.Errorf("%v is %s, identity %s, default %v", column, kind, identity, preset)
			}
		}
	})
}

func TestErrorsOfTheGeneratorAreReturned(t *testing.T) {
	each(t, func(t *testing.T, target testdb.Target) {
		client := connect(t, target, keys(nil))
		if err := client.Order.Create().SetCents(1).Exec(t.Context()); !errors.Is(err, snowflake.ErrNoGenerator) {
			t.Errorf("Create: error %v, want ErrNoGenerator", err)
		}
		_, err := client.Order.CreateBulk(client.Order.Create().SetCents(1)).Save(t.Context())
		if !errors.Is(err, snowflake.ErrNoGenerator) {
			t.Errorf("CreateBulk: error %v, want ErrNoGenerator", err)
		}
		if n := client.Order.Query().CountX(t.Context()); n != 0 {
			t.Errorf("%d orders were stored", n)
		}
	})
}

func TestAClientWithoutTheHookStoresNothing(t *testing.T) {
	each(t, func(t *testing.T, target testdb.Target) {
		client := connect(t, target)
		if err := client.Order.Create().SetCents(1).Exec(t.Context()); !ent.IsValidationError(err) {
			t.Errorf("Create: error %v, want a validation error", err)
		}
		_, err := client.Order.CreateBulk(client.Order.Create().SetCents(1)).Save(t.Context())
		if !ent.IsValidationError(err) {
			t.Errorf("CreateBulk: error %v, want a validation error", err)
		}
		if n := client.Order.Query().CountX(t.Context()); n != 0 {
			t.Errorf("%d orders were stored", n)
		}
	})
}

func TestTransactionsGetKeysToo(t *testing.T) {
	each(t, func(t *testing.T, target testdb.Target) {
		client := connect(t, target, keys(generator(t)))
		tx, err := client.Tx(t.Context())
		must(t, err)
		stored, err := tx.Order.Create().SetCents(1).Save(t.Context())
		must(t, err)
		must(t, tx.Commit())
		if id := client.Order.Query().OnlyIDX(t.Context()); id != stored.ID || snowflake.Default().Validate(id) != nil {
			t.Errorf("stored %v, returned %v", id, stored.ID)
		}
	})
}
