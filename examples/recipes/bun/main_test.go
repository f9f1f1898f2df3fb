package main

import (
	"context"
	"errors"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/uptrace/bun"
	"github.com/uptrace/bun/dialect/pgdialect"
	"github.com/uptrace/bun/dialect/sqlitedialect"
	"github.com/uptrace/bun/schema"

	"github.com/sqlflake/sqlflake/internal/exampletest"
	"github.com/sqlflake/sqlflake/internal/testdb"
	"github.com/sqlflake/sqlflake/snowflake"
)

func TestMain(m *testing.M) { os.Exit(testdb.Main(m)) }

const want = `{"id":"<1>","code":"ada","orders":[` +
	`{"id":"<2>","customer_id":"<1>","cents":80},{"id":"<3>","customer_id":"<1>","cents":399}]}
`

// Hidden has a hook that hides that of its Key.
type Hidden struct{ Key }

func (*Hidden) BeforeAppendModel(context.Context, bun.Query) error { return nil }

func TestEveryRowHasItsOwnKeyInABigintColumn(t *testing.T) {
	for dialect, open := range map[schema.Dialect]func(testing.TB) testdb.Target{
		sqlitedialect.New(): testdb.SQLite, pgdialect.New(): testdb.Postgres,
	} {
		gen, err := snowflake.New(1)
		exampletest.Must(t, err)
		db := bun.NewDB(open(t).Open(t), keyed{dialect, gen})
		var out strings.Builder
		exampletest.Must(t, run(t.Context(), db, &out))
		exampletest.Check(t, out.String(), want)

		query := `SELECT count(*) FROM information_schema.columns
			WHERE table_schema = current_schema() AND column_name IN ('id', 'customer_id')
			AND data_type = 'bigint' AND is_identity = 'NO' AND column_default IS NULL`
		if db.Dialect().Name().String() == "sqlite" { // no AUTOINCREMENT, and the key is the rowid
			query = `SELECT count(*) FROM orders WHERE rowid = id
				AND NOT EXISTS (SELECT * FROM sqlite_master WHERE sql LIKE '%AUTOINCREMENT%')`
		}

		var n int
		if err := db.QueryRow(query).Scan(&n); err != nil || n != 3 {
			t.Errorf("%d, error %v, want 3", n, err)
		}

		insert := func(db *bun.DB, model any) error {
			_, err := db.NewInsert().Model(model).Exec(t.Context())
			return err
		}
		rows := []*Order{{Key: Key{ID: 7}}, {}}

		if err := insert(db, &rows); err != nil || rows[0].ID != 7 || snowflake.Default().Validate(rows[1].ID) != nil {
			t.Errorf("keys %d and %d, error %v", rows[0].ID, rows[1].ID, err)
		}

		stored := func() (ids []snowflake.ID) {
			exampletest.Must(t, db.NewSelect().Model((*Order)(nil)).Column("id").Order("id").Scan(t.Context(), &ids))
			return ids
		}
		before := stored()

		if !slices.Contains(before, rows[1].ID) || before[0] != 7 {
			t.Errorf("stored %v", before)
		}
		if err := insert(bun.NewDB(db.DB, keyed{dialect, nil}), &Order{}); !errors.Is(err, snowflake.ErrNoGenerator) {
			t.Errorf("the generator's error was not returned: %v", err)
		}

		err = insert(bun.NewDB(db.DB, dialect), &Order{})
		if err == nil || !strings.Contains(err.Error(), "without a generator") {
			t.Errorf("a dialect without a generator: error %v", err)
		}

		_, err = db.NewCreateTable().Model((*Hidden)(nil)).Exec(t.Context())
		exampletest.Must(t, err)
		if err := insert(db, &Hidden{}); err == nil || !strings.Contains(strings.ToLower(err.Error()), "check") {
			t.Errorf("a model that hides the hook: error %v", err)
		}
		if after := stored(); !slices.Equal(before, after) {
			t.Errorf("rows after errors: %v, want %v", after, before)
		}
	}
}
