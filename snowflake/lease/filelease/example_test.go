package filelease_test

import (
	"context"
	"fmt"
	"log"
	"log/slog"
	"os"

	"github.com/sqlflake/sqlflake/snowflake/lease"
	"github.com/sqlflake/sqlflake/snowflake/lease/filelease"
)

// The processes of one host share a folder. Each gets its own worker, and the worker of a killed process is free
// at once.
func ExampleNew() {
	dir, err := os.MkdirTemp("", "leases") // a program keeps its folder, such as /var/lib/orders/leases, which holds the horizons
	if err != nil {
		log.Fatal(err)
	}

	defer func() { _ = os.RemoveAll(dir) }()
	ctx := context.Background()
	for range 2 { // like two processes
		store, err := filelease.New(dir)
		if err != nil {
			log.Print(err)
			return
		}

		l, err := lease.Open(ctx, store, lease.WithLogger(slog.New(slog.DiscardHandler)))
		if err != nil {
			log.Print(err)
			return
		}

		defer func() { _ = l.Close(ctx) }()
		fmt.Println("worker", l.Generator().Layout().Decompose(l.Generator().MustNext()).Worker)
	}
	// Output:
	// worker 0
	// worker 1
}

// A process whose worker number is given to it keeps its horizon in a folder, so that no ID is issued twice if it is
// restarted after its clock was set back.
func ExampleNew_number() {
	dir, err := os.MkdirTemp("", "worker") // a program uses a folder that outlives the process
	if err != nil {
		log.Fatal(err)
	}

	defer func() { _ = os.RemoveAll(dir) }()
	worker := int64(12) // of its configuration
	store, err := filelease.New(dir)
	if err != nil {
		log.Print(err)
		return
	}

	ctx := context.Background()
	l, err := lease.Open(ctx, store, lease.WithWorkers(worker, worker), lease.WithLogger(slog.New(slog.DiscardHandler)))
	if err != nil {
		log.Print(err)
		return
	}

	defer func() { _ = l.Close(ctx) }()
	fmt.Println("worker", l.Generator().Layout().Decompose(l.Generator().MustNext()).Worker)
	// Output:
	// worker 12
}
