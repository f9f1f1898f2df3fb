package redislease_test

import (
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/sqlflake/sqlflake/internal/testdb"
	"github.com/sqlflake/sqlflake/snowflake/lease"
	"github.com/sqlflake/sqlflake/snowflake/lease/leasetest"
	"github.com/sqlflake/sqlflake/snowflake/lease/redislease"
)

func TestStoreKeepsTheContract(t *testing.T) {
	leasetest.Run(t, func(t *testing.T) lease.Store {
		t.Helper()
		client, prefix := connect(t)
		return open(t, client, redislease.WithPrefix(prefix))
	}, leasetest.Settings{})
}

func connect(t *testing.T) (client *redis.Client, prefix string) {
	t.Helper()
	addr, prefix := testdb.Redis(t)
	client = redis.NewClient(&redis.Options{Addr: addr})
	t.Cleanup(func() { _ = client.Close() })
	return client, prefix
}

func open(t *testing.T, client redis.UniversalClient, opts ...redislease.Option) *redislease.Store {
	t.Helper()
	store, err := redislease.New(client, opts...)
	if err != nil {
		t.Fatal(err)
	}
	return store
}
