package redislease_test

import (
	"context"
	"os"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/sqlflake/sqlflake/internal/testdb"
	"github.com/sqlflake/sqlflake/snowflake/lease"
	"github.com/sqlflake/sqlflake/snowflake/lease/internal/processtest"
	"github.com/sqlflake/sqlflake/snowflake/lease/redislease"
)

// silent keeps what go-redis logs about connections off the standard error, which is for notes in issuers.
type silent struct{}

func (silent) Printf(context.Context, string, ...any) {}

func TestMain(m *testing.M) {
	redis.SetLogger(silent{})
	processtest.Main(func(place string) (lease.Store, error) {
		addr, prefix, _ := strings.Cut(place, " ")
		return redislease.New(redis.NewClient(&redis.Options{Addr: addr}), redislease.WithPrefix(prefix))
	})
	os.Exit(testdb.Main(m))
}

// newPlace returns a place of the test's own for issuers, and its store.
func newPlace(t *testing.T) (place string, store *redislease.Store) {
	t.Helper()
	addr, prefix := testdb.Redis(t)
	return addr + " " + prefix, openAt(t, addr, prefix)
}

func openAt(t *testing.T, addr, prefix string) *redislease.Store {
	t.Helper()
	client := redis.NewClient(&redis.Options{Addr: addr})
	t.Cleanup(func() { _ = client.Close() })
	return open(t, client, redislease.WithPrefix(prefix))
}

func TestKilledProcessesNeverRepeatAnID(t *testing.T) {
	t.Parallel()
	place, store := newPlace(t)
	processtest.KilledProcesses(t, place, store)
}

func TestProcessesThatStartAtOnceHaveDifferentWorkers(t *testing.T) {
	place, store := newPlace(t)
	processtest.ProcessesStartedTogether(t, place, func() lease.Store { return store })
}
