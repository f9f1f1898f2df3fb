package lease_test

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/sqlflake/sqlflake/snowflake"
	"github.com/sqlflake/sqlflake/snowflake/lease"
)

// Programs of one namespace never have the same worker at a time. With a SQL database, sqllease.Open does both steps.
func ExampleOpen() {
	ctx := context.Background()
	store := lease.NewMemory(nil) // a program has a store of sqllease, filelease or redislease
	l, err := lease.Open(ctx, store,
		lease.WithNamespace("billing"),
		lease.WithLayout(snowflake.Clustered()),
		lease.WithWorkers(16, 31),        // programs with numbers of their own have the others
		lease.WithWindow(30*time.Second), // IDs last for half of it when the store is away
		lease.WithLogger(slog.New(slog.DiscardHandler)),
	)
	if err != nil {
		panic(err)
	}

	id, err := l.Generator().Next()
	fmt.Println(l.Generator().Worker(), l.Generator().Layout().Decompose(id).Worker, err)
	if err := l.Close(ctx); err != nil { // gives the worker back
		panic(err)
	}
	// Output: 16 16 <nil>
}
