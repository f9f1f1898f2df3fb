package gormplugin_test

import (
	"context"
	"errors"
	"fmt"

	"gorm.io/gorm"

	"github.com/sqlflake/sqlflake/gormplugin"
	"github.com/sqlflake/sqlflake/snowflake"
	"github.com/sqlflake/sqlflake/snowflake/lease"
	"github.com/sqlflake/sqlflake/snowflake/lease/sqllease"
	"github.com/sqlflake/sqlflake/snowflake/sqldb"
)

// One generator for each resource type, in a region: an ID says where it was made, and what it is the key of.
func Example_resources() {
	type User struct{ ID snowflake.ID }
	type Order struct {
		ID     snowflake.ID `gorm:"primaryKey;snowflake:gen=orders"`
		UserID snowflake.ID
	}
	db, ctx := openExample(nil, &User{}, &Order{}), context.Background()
	users, errUsers := leaseOf(ctx, db, "users", 200)
	orders, errOrders := leaseOf(ctx, db, "orders", 201)
	err := errors.Join(errUsers, errOrders)
	if err == nil {
		err = db.Use(gormplugin.New(users.Generator(), gormplugin.WithNamed("orders", orders.Generator())))
	}
	if err != nil {
		panic(err)
	}

	user, order := User{}, Order{}
	err = db.Create(&user).Error
	if err == nil {
		order.UserID = user.ID
		err = db.Create(&order).Error
	}
	if err != nil {
		panic(err)
	}
	fmt.Println(users.Generator().Layout().Decompose(user.ID).Fields)
	fmt.Println(orders.Generator().Layout().Decompose(order.ID).Fields)

	if err := errors.Join(users.Close(ctx), orders.Close(ctx)); err != nil {
		panic(err)
	}
	// Output:
	// map[region:22 type:200]
	// map[region:22 type:201]
}

// leaseOf leases a worker for a resource type. The type keeps the IDs of two namespaces apart, also of one worker. Each
// region has a number, and a lease table of its own.
func leaseOf(ctx context.Context, db *gorm.DB, namespace string, resource int64) (*lease.Lease, error) {
	pool, err := db.DB()
	if err != nil {
		return nil, err
	}
	store, err := sqllease.New(pool, sqldb.SQLite)
	if err == nil {
		err = store.Migrate(ctx)
	}
	if err != nil {
		return nil, err
	}

	generator := lease.WithGenerator(snowflake.WithLayout(snowflake.MustPreset("resource")),
		snowflake.WithField("region", 22), snowflake.WithField("type", resource))
	return lease.Open(ctx, store, lease.WithNamespace(namespace), generator)
}
