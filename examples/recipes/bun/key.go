package main

import (
	"context"
	"fmt"

	"github.com/uptrace/bun"
	"github.com/uptrace/bun/dialect/pgdialect"
	"github.com/uptrace/bun/dialect/sqlitedialect"

	"github.com/sqlflake/sqlflake/snowflake"
)

// Key is embedded in every model. An insert fills it unless it is set.
type Key struct {
	ID snowflake.ID `bun:",pk" json:"id"`
}

var ( // bun finds hooks by name and parameters, and ignores one that does not match
	_ bun.BeforeAppendModelHook = (*Key)(nil)
	_ bun.BeforeCreateTableHook = (*Key)(nil)
)

// BeforeAppendModel is called by bun for every row of a statement. Exec returns the generator's error. A model with its
// own BeforeAppendModel must call this one.
func (k *Key) BeforeAppendModel(ctx context.Context, query bun.Query) error {
	insert, ok := query.(*bun.InsertQuery)
	if !ok || !k.ID.IsZero() {
		return nil
	}
	gen, err := generator(insert.DB())
	if err != nil {
		return err
	}
	k.ID, err = gen.NextContext(ctx)
	return err
}

// BeforeCreateTable is called by bun for every table. It adds a constraint that rejects the key 0 of inserts that do
// not call BeforeAppendModel: those within WITH, and those of a model with its own BeforeAppendModel.
func (*Key) BeforeCreateTable(_ context.Context, query *bun.CreateTableQuery) error {
	query.ColumnExpr("CHECK (id > 0)")
	return nil
}

// fillKeys is for the BeforeInsert of a model T of which many rows are inserted together. It draws their keys in one
// step, or none after an error.
func fillKeys[T any](ctx context.Context, query *bun.InsertQuery, id func(*T) *snowflake.ID) error {
	rows, ok := query.GetModel().Value().(*[]T)
	if !ok {
		return nil // for a single row or a slice of pointers BeforeAppendModel does it
	}
	var missing []*snowflake.ID
	for i := range *rows {
		if id := id(&(*rows)[i]); id.IsZero() {
			missing = append(missing, id)
		}
	}
	if len(missing) == 0 {
		return nil
	}
	gen, err := generator(query.DB())
	if err != nil {
		return err
	}
	ids := make([]snowflake.ID, len(missing))
	if err := gen.Fill(ctx, ids); err != nil {
		return err
	}
	for i, id := range ids {
		*missing[i] = id
	}
	return nil
}

// The hooks of a model get the database from the query, and the database has the dialect that it was opened with. The
// generator is stored there: no global variable is needed, no context has to carry it, and two databases can have two
// generators.
type (
	sqliteKeys struct {
		*sqlitedialect.Dialect
		*snowflake.Generator
	}
	postgresKeys struct {
		*pgdialect.Dialect
		*snowflake.Generator
	}
)

type source interface {
	NextContext(ctx context.Context) (snowflake.ID, error)
	Fill(ctx context.Context, dst []snowflake.ID) error
}

func generator(db *bun.DB) (source, error) {
	gen, ok := db.Dialect().(source)
	if !ok {
		return nil, fmt.Errorf("the %v database was opened without a generator", db.Dialect().Name())
	}
	return gen, nil
}
