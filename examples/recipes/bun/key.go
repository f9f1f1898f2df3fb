package main

import (
	"context"
	"fmt"

	"github.com/uptrace/bun"

	"github.com/sqlflake/sqlflake/snowflake"
)

// Key is embedded in every model. An insert fills it unless it is set.
type Key struct {
	ID snowflake.ID `bun:",pk" json:"id"`
}

var ( // bun ignores hooks whose parameters do not match
	_ bun.BeforeAppendModelHook = (*Key)(nil)
	_ bun.BeforeCreateTableHook = (*Key)(nil)
)

// BeforeAppendModel fills the key. Bun calls it for every row of a statement, and Exec returns its error. A model with
// its own BeforeAppendModel must call this one.
func (k *Key) BeforeAppendModel(ctx context.Context, query bun.Query) (err error) {
	insert, ok := query.(*bun.InsertQuery)
	if !ok || !k.ID.IsZero() {
		return nil
	}

	gen, ok := insert.DB().Dialect().(interface {
		NextContext(ctx context.Context) (snowflake.ID, error)
	})
	if !ok {
		return fmt.Errorf("the %v database was opened without a generator", insert.DB().Dialect().Name())
	}

	k.ID, err = gen.NextContext(ctx)
	return err
}

// BeforeCreateTable adds a constraint that rejects the key 0 of inserts that do not call BeforeAppendModel: inserts
// within WITH, and inserts of a model that has its own BeforeAppendModel.
func (*Key) BeforeCreateTable(_ context.Context, query *bun.CreateTableQuery) error {
	query.ColumnExpr("CHECK (id > 0)")
	return nil
}
