package filelease_test

import (
	"context"
	"fmt"
	"log"
	"log/slog"
	"os"
	"path/filepath"

	"github.com/sqlflake/sqlflake/snowflake/lease"
	"github.com/sqlflake/sqlflake/snowflake/lease/filelease"
)

// The processes of one host share a folder. Each gets its own worker, and the worker of a killed process is free
// at once.
func ExampleNew() {
	dir, err := os.MkdirTemp("", "leases") // for example /var/lib/orders/leases
	if err != nil {
		log.Fatal(err)
	}
	ctx := context.Background()
	quiet := lease.WithLogger(slog.New(slog.DiscardHandler))
	var leases []*lease.Lease
	for range 2 { // like two processes
		store, err := filelease.New(dir)
		if err != nil {
			log.Fatal(err)
		}
		l, err := lease.Open(ctx, store, quiet)
		if err != nil {
			log.Fatal(err)
		}
		leases = append(leases, l)
		id := l.Generator().MustNext()
		fmt.Println("worker", l.Generator().Layout().Decompose(id).Worker)
	}
	for _, l := range leases {
		if err := l.Close(ctx); err != nil {
			log.Fatal(err)
		}
	}
	if err := os.RemoveAll(dir); err != nil { // a program keeps the folder, which holds the horizons
		log.Fatal(err)
	}
	// Output:
	// worker 0
	// worker 1
}

// A process whose worker number is given to it keeps its horizon in a file, so that no ID is issued twice if it is
// restarted after its clock was set back.
func ExampleNewStateFile() {
	dir, err := os.MkdirTemp("", "worker") // a program uses a folder that outlives the process
	if err != nil {
		log.Fatal(err)
	}
	worker, err := lease.WorkerFromOrdinal("web-12") // or os.Hostname(), or lease.WorkerFromEnv("WORKER")
	if err != nil {
		log.Fatal(err)
	}
	store, err := filelease.NewStateFile(filepath.Join(dir, "worker.json"))
	if err != nil {
		log.Fatal(err)
	}
	ctx := context.Background()
	l, err := lease.Open(ctx, store, lease.WithWorkers(worker, worker), lease.WithLogger(slog.New(slog.DiscardHandler)))
	if err != nil {
		log.Fatal(err)
	}
	id := l.Generator().MustNext()
	fmt.Println("worker", l.Generator().Layout().Decompose(id).Worker)

	if err := l.Close(ctx); err != nil {
		log.Fatal(err)
	}
	if err := os.RemoveAll(dir); err != nil { // a program keeps the file, which holds the horizon
		log.Fatal(err)
	}
	// Output:
	// worker 12
}
