package main

import (
	"errors"
	"os"
	"strings"
	"testing"

	"entgo.io/ent/dialect"
	entsql "entgo.io/ent/dialect/sql"

	"github.com/sqlflake/sqlflake/examples/recipes/ent/ent"
	"github.com/sqlflake/sqlflake/examples/recipes/ent/schema"
	"github.com/sqlflake/sqlflake/internal/exampletest"
	"github.com/sqlflake/sqlflake/internal/testdb"
	"github.com/sqlflake/sqlflake/snowflake"
)

func TestMain(m *testing.M) { os.Exit(testdb.Main(m)) }

const want = `{"id":"<1>","code":"ada","edges":{"orders":[` +
	`{"id":"<2>","customer_id":"<1>","cents":1250,"edges":{}},` +
	`{"id":"<3>","customer_id":"<1>","cents":80,"edges":{}},` +
	`{"id":"<4>","customer_id":"<1>","cents":399,"edges":{}}]}}
`

func TestEveryRowHasItsOwnKeyInABigintColumn(t *testing.T) {
	for name, target := range map[string]testdb.Target{dialect.SQLite: testdb.SQLite(t),
		dialect.Postgres: testdb.Postgres(t)} {
		db := target.Open(t)
		open := func(hooks ...ent.Hook) *ent.Client {
			client := ent.NewClient(ent.Driver(entsql.OpenDB(name, db)))
			client.Use(hooks...)
			return client
		}
		gen, err := snowflake.New(1)
		exampletest.Must(t, err)
		var out strings.Builder
		exampletest.Must(t, run(t.Context(), open(schema.Keys(gen)), &out))
		exampletest.Check(t, out.String(), want)

		query := `SELECT count(*) FROM information_schema.columns
			WHERE table_schema = current_schema() AND column_name IN ('id', 'customer_id')
			AND data_type = 'bigint' AND is_identity = 'NO' AND column_default IS NULL`
		if name == dialect.SQLite { // no AUTOINCREMENT, and the key is the rowid
			query = `SELECT count(*) FROM orders WHERE rowid = id
				AND NOT EXISTS (SELECT * FROM sqlite_master WHERE sql LIKE '%AUTOINCREMENT%')`
		}

		var n int
		if err := db.QueryRow(query).Scan(&n); err != nil || n != 3 {
			t.Errorf("%d, error %v, want 3", n, err)
		}

		tx, err := open(schema.Keys(gen)).Tx(t.Context())
		exampletest.Must(t, err)
		set := tx.Order.Create().SetID(7).SetCents(1).SaveX(t.Context())
		made := tx.Order.Create().SetCents(1).SaveX(t.Context())
		if err := tx.Commit(); err != nil || set.ID != 7 || snowflake.Default().Validate(made.ID) != nil {
			t.Errorf("in a transaction: keys %d and %d, error %v", set.ID, made.ID, err)
		}

		before := open().Order.Query().CountX(t.Context())
		for name, client := range map[string]*ent.Client{"no hook": open(), "no generator": open(schema.Keys(nil))} {
			good := func(err error) bool { return errors.Is(err, snowflake.ErrNoGenerator) }
			if name == "no hook" {
				good = ent.IsValidationError
			}
			_, bulk := client.Order.CreateBulk(client.Order.Create().SetCents(1)).Save(t.Context())
			if err := client.Order.Create().SetCents(1).Exec(t.Context()); !good(err) || !good(bulk) {
				t.Errorf("%s: errors %v and %v", name, err, bulk)
			}
		}

		if after := open().Order.Query().CountX(t.Context()); after != before {
			t.Errorf("%d rows after the errors, want %d", after, before)
		}
	}
}
