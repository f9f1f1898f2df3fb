package main

import (
	"context"
	"database/sql"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/uptrace/bun"
	"github.com/uptrace/bun/dialect/sqlitedialect"

	"github.com/sqlflake/sqlflake/internal/testdb"
	"github.com/sqlflake/sqlflake/snowflake"
)

func insert(ctx context.Context, db bun.IDB, model any) error {
	_, err := db.NewInsert().Model(model).Exec(ctx)
	return err
}

func count(t *testing.T, db *bun.DB, model any) int64 {
	t.Helper()
	n, err := db.NewSelect().Model(model).Count(t.Context())
	must(t, err)
	return n
}

func TestKeyColumnsArePlain(t *testing.T) {
	t.Run("sqlite", func(t *testing.T) {
		db := connect(t, testdb.SQLite(t))
		if err := insert(t.Context(), db, &Order{Cents: 1}); err != nil {
			t.Fatal(err)
		}
		var counters, apart int
		must(t, db.QueryRow(`SELECT
			(SELECT count(*) FROM sqlite_master WHERE sql LIKE '%AUTOINCREMENT%' OR name = 'sqlite_sequence'),
			(SELECT count(*) FROM orders WHERE rowid <> id)`).Scan(&counters, &apart))
		if counters != 0 || apart != 0 {
			t.Errorf("%d tables count by themselves, %d keys are not the rowid", counters, apart)
		}
	})
	t.Run("postgres", func(t *testing.T) {
		db := connect(t, testdb.Postgres(t))
		for _, column := range [][2]string{{"customers", "id"}, {"orders", "id"}, {"orders", "customer_id"}} {
			var kind, identity string
			var preset sql.NullString
			must(t, db.QueryRow(`SELECT data_type, is_identity, column_default FROM information_schema.columns
				WHERE table_schema = current_schema() AND table_name = ? AND column_name = ?`, column[0], column[1]).
				Scan(&kind, &identity, &preset))
			if kind != "bigint" || identity != "NO" || preset.Valid {
				t.Errorf("%v is %s, identity %s, default %v", column, kind, identity, preset)
			}
		}
	})
}

func TestOnlyMissingKeysAreMade(t *testing.T) {
	each(t, func(t *testing.T, target testdb.Target) {
		db := connect(t, target)
		values := []Order{{Key: Key{ID: 7}}, {}, {}}
		pointers := []*Order{{}, {Key: Key{ID: 8}}}
		single := Order{}
		for _, model := range []any{&values, &pointers, &single} {
			must(t, insert(t.Context(), db, model))
		}
		given := []snowflake.ID{pointers[1].ID, values[0].ID, values[1].ID, values[2].ID, pointers[0].ID, single.ID}
		if given[0] != 8 || given[1] != 7 {
			t.Errorf("keys that were set have become %v", given[:2])
		}
		var stored []snowflake.ID
		must(t, db.NewSelect().Model((*Order)(nil)).Column("id").Order("id").Scan(t.Context(), &stored))
		slices.Sort(given)
		if !slices.Equal(stored, given) {
			t.Errorf("stored %v, the structs have %v", stored, given)
		}
		for _, id := range stored[2:] {
			if err := snowflake.Default().Validate(id); err != nil {
				t.Error(err)
			}
		}
	})
}

// counter counts the draws of a generator.
type counter struct {
	*snowflake.Generator
	next, fill int
}

func (c *counter) NextContext(ctx context.Context) (snowflake.ID, error) {
	c.next++
	return c.Generator.NextContext(ctx)
}

func (c *counter) Fill(ctx context.Context, dst []snowflake.ID) error {
	c.fill++
	return c.Generator.Fill(ctx, dst)
}

func TestASliceIsOneDraw(t *testing.T) {
	gen, err := snowflake.New(1)
	must(t, err)
	draws := &counter{Generator: gen}
	db := bun.NewDB(testdb.SQLite(t).Open(t), struct {
		*sqlitedialect.Dialect
		*counter
	}{sqlitedialect.New(), draws})
	must(t, createTables(t.Context(), db))
	orders := make([]Order, 100)
	must(t, insert(t.Context(), db, &orders))
	if draws.fill != 1 || draws.next != 0 {
		t.Errorf("a slice took %d batches and %d single keys, want 1 and 0", draws.fill, draws.next)
	}
	if err := insert(t.Context(), db, &Order{}); err != nil {
		t.Fatal(err)
	}
	if draws.fill != 1 || draws.next != 1 {
		t.Errorf("a struct took %d batches and %d single keys, want 0 and 1", draws.fill-1, draws.next)
	}
}

func TestErrorsOfTheGeneratorAreReturned(t *testing.T) {
	each(t, func(t *testing.T, target testdb.Target) {
		db := connectWith(t, target, nil)
		for _, model := range []any{&Customer{Code: "ada"}, &[]Customer{{Code: "ada"}}, &Order{}, &[]Order{{}, {}}} {
			if err := insert(t.Context(), db, model); !errors.Is(err, snowflake.ErrNoGenerator) {
				t.Errorf("%T: error %v, want ErrNoGenerator", model, err)
			}
		}
		if n := count(t, db, (*Order)(nil)) + count(t, db, (*Customer)(nil)); n != 0 {
			t.Errorf("%d rows were stored", n)
		}
	})
}

func TestADialectWithoutAGeneratorIsAnError(t *testing.T) {
	db := bun.NewDB(testdb.SQLite(t).Open(t), sqlitedialect.New())
	must(t, createTables(t.Context(), db))
	for _, model := range []any{&Order{}, &[]Order{{}}} {
		if err := insert(t.Context(), db, model); err == nil || !strings.Contains(err.Error(), "without a generator") {
			t.Errorf("%T: error %v", model, err)
		}
	}
	if n := count(t, db, (*Order)(nil)); n != 0 {
		t.Errorf("%d rows were stored", n)
	}
}

// Hidden has a hook that hides the one of its Key.
type Hidden struct{ Key }

func (*Hidden) BeforeAppendModel(context.Context, bun.Query) error { return nil }

func TestZeroKeysAreRefused(t *testing.T) {
	each(t, func(t *testing.T, target testdb.Target) {
		db, ctx := connect(t, target), t.Context()
		if _, err := db.NewCreateTable().Model((*Hidden)(nil)).Exec(ctx); err != nil {
			t.Fatal(err)
		}
		if err := insert(ctx, db, &Hidden{}); err == nil || !strings.Contains(strings.ToLower(err.Error()), "check") {
			t.Errorf("a model with a hook of its own: error %v", err)
		}
		if target.Name == "postgres" { // SQLite has no INSERT within WITH
			within := db.NewInsert().Model(&Order{Cents: 1})
			_, err := db.NewSelect().With("made", within).ColumnExpr("1").Exec(ctx)
			if err == nil || !strings.Contains(err.Error(), "check") {
				t.Errorf("an insert within WITH: error %v", err)
			}
		}
		if n := count(t, db, (*Hidden)(nil)) + count(t, db, (*Order)(nil)); n != 0 {
			t.Errorf("%d rows were stored", n)
		}
	})
}

func TestMapsBringTheirKeys(t *testing.T) {
	each(t, func(t *testing.T, target testdb.Target) {
		db, ctx := connect(t, target), t.Context()
		gen, err := generator(db)
		must(t, err)
		id, err := gen.NextContext(ctx)
		must(t, err)
		row := map[string]any{"id": id, "cents": 1}
		if _, err := db.NewInsert().Model(&row).Table("orders").Exec(ctx); err != nil {
			t.Fatal(err)
		}
		var stored snowflake.ID
		if err := db.NewSelect().Table("orders").Column("id").Scan(ctx, &stored); err != nil || stored != id {
			t.Errorf("stored %v, error %v, want %v", stored, err, id)
		}
		delete(row, "id")
		_, err = db.NewInsert().Model(&row).Table("orders").Exec(ctx)
		if target.Name == "postgres" {
			if err == nil {
				t.Error("PostgreSQL stored a row without a key")
			}
			return
		}
		must(t, err)
		if err := db.NewSelect().Table("orders").ColumnExpr("max(id)").Scan(ctx, &stored); err != nil || stored != id+1 {
			t.Errorf("SQLite stored %v, error %v, want %v as the comment of main says", stored, err, id+1)
		}
	})
}
