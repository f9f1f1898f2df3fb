package testdb

import (
	"context"
	"fmt"
	"os"
	"sync"

	"github.com/sqlflake/sqlflake/internal/dbserver"
)

var (
	clusterMu sync.Mutex
	cluster   *dbserver.Server // that this process has started; nil if there is none
)

// startCluster starts a PostgreSQL server for this process and returns its DSN. [server.find] calls it at most once.
func startCluster() (dsn string, err error) {
	clusterMu.Lock()
	defer clusterMu.Unlock()
	// Without waiting for the disk: nothing is read after a crash.
	cluster, err = dbserver.Start(context.Background(), dbserver.Config{Name: postgresName, NoSync: true})
	if err != nil {
		return "", err
	}
	return cluster.DSN, nil
}

// Stop ends the throwaway cluster, if this process has started one, and removes its directory. [Main] calls it.
func Stop() {
	clusterMu.Lock()
	defer clusterMu.Unlock()
	if cluster == nil {
		return
	}
	if err := cluster.Stop(); err != nil {
		fmt.Fprintf(os.Stderr, "testdb: stop the throwaway PostgreSQL: %v\n", err)
	}
	cluster = nil
}
