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

var ( // bun calls hooks by their names and parameters, and says nothing about one that does not fit
	_ bun.BeforeAppendModelHook = (*Key)(nil)
	_ bun.BeforeCreateTableHook = (*Key)(nil)
)

// BeforeAppendModel is called by bun for every row of a statement. An error of the generator is what Exec returns. A model
// with a BeforeAppendModel of its own has to call this one.
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

// BeforeCreateTable is called by bun for every table. It makes the database refuse the 0 of an insert that calls no
// BeforeAppendModel: one within WITH, or that of a model which hides it behind its own.
func (*Key) BeforeCreateTable(_ context.Context, query *bun.CreateTableQuery) error {
	query.ColumnExpr("CHECK (id > 0)")
	return nil
}

// fillKeys is for the BeforeInsert of a model T of which many rows are stored at once. It draws their keys in one step,
// and none if there are not enough.
func fillKeys[T any](ctx context.Context, query *bun.InsertQuery, id func(*T) *snowflake.ID) error {
	rows, ok := query.GetModel().Value().(*[]T)
	if !ok {
		return nil // a single row, or a slice of pointers: BeforeAppendModel takes care of these
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

// The hooks of a model get the database with the query, and the database has the dialect that it was opened with. So the
// generator goes there: it is no global variable, no context has to carry it, and two databases may have two generators.
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
