package main

import (
	"context"

	"github.com/uptrace/bun"

	"github.com/sqlflake/sqlflake/snowflake"
)

// Customer is known by a code.
type Customer struct {
	Key
	Code   string  `bun:",unique,notnull" json:"code"`
	Name   string  `bun:",notnull" json:"name"`
	Orders []Order `bun:"rel:has-many,join:id=customer_id" json:"orders,omitempty"`
}

// Order belongs to a customer, or is a guest's: then its customer_id is NULL. Instead of the pointer it could use
// sqltypes.Null with the tag type:bigint; without the tag bun makes JSONB columns for structs.
type Order struct {
	Key
	CustomerID *snowflake.ID `json:"customer_id"`
	Customer   *Customer     `bun:"rel:belongs-to,join:customer_id=id" json:"-"`
	Cents      int64         `bun:",notnull" json:"cents"`
}

var _ bun.BeforeInsertHook = (*Order)(nil)

// BeforeInsert is not needed for the keys. It avoids a draw per row where thousands are inserted together.
func (*Order) BeforeInsert(ctx context.Context, query *bun.InsertQuery) error {
	return fillKeys(ctx, query, func(o *Order) *snowflake.ID { return &o.ID })
}
