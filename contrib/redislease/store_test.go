package redislease_test

import (
	"context"
	"errors"
	"net"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/sqlflake/sqlflake/contrib/redislease"
	"github.com/sqlflake/sqlflake/snowflake/lease"
	"github.com/sqlflake/sqlflake/snowflake/lease/leasestore"
	"github.com/sqlflake/sqlflake/snowflake/lease/leasetest"
)

func TestStoreKeepsTheContract(t *testing.T) {
	client, prefix := connect(t)
	leasetest.Run(t, func(t *testing.T) leasestore.Store {
		t.Helper()
		return open(t, client, redislease.WithPrefix(prefix))
	}, settings(client, prefix))
}

func settings(client redis.UniversalClient, prefix string) leasetest.Settings {
	return leasetest.Settings{Require: func(tb testing.TB, _ leasestore.Store, namespace string) {
		tb.Helper()
		if err := client.HSet(tb.Context(), prefix+"{"+namespace+"}", "protocol", 2).Err(); err != nil {
			tb.Fatal(err)
		}
	}}
}

func TestNewRefusesWhatCannotBe(t *testing.T) {
	var none *redis.Client
	client := redis.NewClient(&redis.Options{Addr: "127.0.0.1:1"})
	defer func() { _ = client.Close() }()
	for name, bad := range map[string]struct {
		client redis.UniversalClient
		option redislease.Option
	}{
		"nil":              {nil, redislease.WithPrefix("")},
		"a nil pointer":    {none, redislease.WithPrefix("")},
		"a nil option":     {client, nil},
		"a negative guard": {client, redislease.WithGuard(-1)},
	} {
		if store, err := redislease.New(bad.client, bad.option); !errors.Is(err, lease.ErrOption) || store != nil {
			t.Errorf("New with %s: %v, %v; want ErrOption", name, store, err)
		}
	}
}

func TestAServerThatSaysNothingDoesNotOutlastTheContext(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	// The client's own timeout is an hour.
	client := redis.NewClient(&redis.Options{Addr: listener.Addr().String(), ReadTimeout: time.Hour, MaxRetries: -1})
	defer func() { _ = client.Close() }()
	store := open(t, client)
	for name, call := range map[string]func(ctx context.Context) error{
		"a setting": func(ctx context.Context) error { _, err := store.Acquire(ctx, request("orders", 0, 0, 0)); return err },
		"a script":  func(ctx context.Context) error { return store.Release(ctx, leasestore.Claim{Namespace: "orders"}, 0) },
	} {
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
		if err := call(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%s: error %v, want context.DeadlineExceeded", name, err)
		}
		cancel()
	}
}

func TestListFindsExactlyTheNamespacesOfThePrefix(t *testing.T) {
	client, base := connect(t)
	prefix := base + `a[b]*?\{c}`
	for _, other := range []string{base + `ab**\{c}`, base, prefix + "x"} {
		acquire(t, open(t, client, redislease.WithPrefix(other)), request("other", 0, 0, 0))
	}
	if err := client.Set(t.Context(), prefix+"unrelated", "x", 0).Err(); err != nil {
		t.Fatal(err)
	}
	store := open(t, client, redislease.WithPrefix(prefix))
	want := []string{"*", "a b", "{x}", "}", "ä\n"}
	for _, namespace := range want {
		acquire(t, store, request(namespace, 0, 0, 0))
	}
	entries, err := store.List(t.Context(), "")
	var got []string
	for _, e := range entries {
		got = append(got, e.Namespace)
	}
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("namespaces %q, %v, want %q", got, err, want)
	}
}

func TestWhatIsNoRowIsAnErrorAndStaysAsItIs(t *testing.T) {
	store, client, prefix := newStore(t)
	claim := acquire(t, store, request("orders", 0, 9, 0)).Claim
	key := prefix + "{orders}"
	row := client.HGet(t.Context(), key, strings.Repeat("0", 19)).Val()
	for _, bad := range []string{"", "x", row[1:], row[:len(row)-1], row[:92], strings.Replace(row, " ", "", 1)} {
		if err := client.HSet(t.Context(), key, strings.Repeat("0", 18)+"1", bad).Err(); err != nil {
			t.Fatal(err)
		}
		if _, err := store.List(t.Context(), "orders"); err == nil {
			t.Errorf("List with the row %q: no error", bad)
		}
		if bad == row[:len(row)-1] { // only the holder is broken, which is for people
			continue
		}
		if grant, err := store.Acquire(t.Context(), request("orders", 0, 9, 0)); err == nil || errors.Is(err, lease.ErrNoWorker) {
			t.Errorf("Acquire with the row %q: %+v, %v; want an error", bad, grant, err)
		}
		if got := client.HGet(t.Context(), key, strings.Repeat("0", 18)+"1").Val(); got != bad {
			t.Errorf("the row %q is now %q", bad, got)
		}
	}
	extend(t, store, claim, 1) // the other workers continue

	if err := client.HSet(t.Context(), key, "protocol", 3).Err(); err != nil { // of a version whose rows may be others
		t.Fatal(err)
	}
	later := (*lease.VersionError)(nil)
	if _, err := store.Acquire(t.Context(), request("orders", 0, 9, 0)); !errors.As(err, &later) {
		t.Errorf("Acquire: error %v, want a *VersionError", err)
	}
	client.HDel(t.Context(), key, strings.Repeat("0", 18)+"1")
	if entries, err := store.List(t.Context(), "orders"); err != nil || len(entries) != 1 {
		t.Errorf("List of what requires a later version: %+v, %v", entries, err)
	}
}
