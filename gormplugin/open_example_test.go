package gormplugin_test

import (
	"context"
	"fmt"

	"gorm.io/driver/sqlite"
	"gorm.io/gorm"

	"github.com/sqlflake/sqlflake/gormplugin"
	"github.com/sqlflake/sqlflake/snowflake"
	"github.com/sqlflake/sqlflake/snowflake/lease"
)

// Any number of copies of this program may run at the same time.
func ExampleOpen() {
	ctx := context.Background()
	db, err := gorm.Open(sqlite.Open(":memory:"), &gorm.Config{}) // or a file, PostgreSQL, MySQL, MariaDB
	if err != nil {
		panic(err)
	}
	plugin, err := gormplugin.Open(ctx, db) // leases a worker in this database
	if err != nil {
		panic(err)
	}
	defer func() { _ = plugin.Close(ctx) }() // gives it back

	type User struct {
		gormplugin.Model
		Name string
	}
	if err := db.AutoMigrate(&User{}); err != nil {
		panic(err)
	}
	users := []User{{Name: "Ada"}, {Name: "Grace"}}
	if err := db.Create(&users).Error; err != nil {
		panic(err)
	}
	fmt.Println("in order:", 0 < users[0].ID && users[0].ID < users[1].ID)
	// Output:
	// in order: true
}

// Several processes write to tables of InnoDB (MySQL, MariaDB): with this layout their keys fill its pages.
func ExampleWithLayout() {
	db, err := gorm.Open(sqlite.Open(":memory:"), &gorm.Config{}) // or mysql.Open
	if err != nil {
		panic(err)
	}
	ctx := context.Background()
	plugin, err := gormplugin.Open(ctx, db, gormplugin.WithLayout(snowflake.Clustered()))
	if err != nil {
		panic(err)
	}
	fmt.Println(plugin.Lease().Generator().Layout())
	if err := plugin.Close(ctx); err != nil {
		panic(err)
	}
	// Output: epoch=2025-01-01T00:00:00Z tick=1ms time:19 worker:10 time:22 sequence:12
}

// The lease can have a namespace for a group of programs.
func ExampleWithLease() {
	db, err := gorm.Open(sqlite.Open(":memory:"), &gorm.Config{})
	if err != nil {
		panic(err)
	}
	ctx := context.Background()
	plugin, err := gormplugin.Open(ctx, db, gormplugin.WithLease(
		lease.WithNamespace("billing"),
		lease.WithWorkers(16, 31), // the others are given to programs by hand
	))
	if err != nil {
		panic(err)
	}
	status := plugin.Lease().Status()
	fmt.Println(status.Namespace, status.Worker)
	if err := plugin.Close(ctx); err != nil {
		panic(err)
	}
	// Output: billing 16
}
