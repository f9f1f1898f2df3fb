package testdb

import (
	"context"
	"fmt"
	"os"
	"sync"

	"github.com/sqlflake/sqlflake/internal/dbserver"
)

var (
	startedMu sync.Mutex
	started   []*dbserver.Server // the throwaway servers of this process
)

// startServer starts a server for this process and returns its DSN.
func startServer(name, folder string) (dsn string, err error) {
	// Without waiting for the disk: nothing is read after a crash.
	s, err := dbserver.Start(context.Background(), dbserver.Config{Name: name, Folder: folder, NoSync: true})
	if err != nil {
		return "", err
	}

	startedMu.Lock()
	defer startedMu.Unlock()

	started = append(started, s)
	return s.DSN, nil
}

// Stop drops spare databases, ends the throwaway servers that this process has started, and removes their folders.
// [Main] calls it.
func Stop() {
	dropSpare()
	startedMu.Lock()
	defer startedMu.Unlock()

	for _, s := range started {
		if err := s.Stop(); err != nil {
			fmt.Fprintf(os.Stderr, "testdb: stop a throwaway server: %v\n", err)
		}
	}

	started = nil
}
