package etcdlease_test

import (
	"errors"
	"testing"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/sqlflake/sqlflake/snowflake/lease"
	"github.com/sqlflake/sqlflake/snowflake/lease/etcdlease"
)

func TestNewRefusesNil(t *testing.T) {
	if store, err := etcdlease.New(nil); !errors.Is(err, lease.ErrOption) || store != nil {
		t.Errorf("New(nil): %v, %v; want ErrOption", store, err)
	}
	if store, err := etcdlease.New(&clientv3.Client{}, nil); !errors.Is(err, lease.ErrOption) || store != nil {
		t.Errorf("New with a nil option: %v, %v; want ErrOption", store, err)
	}
}

func TestPrefixesThatCouldMixAreRefused(t *testing.T) {
	for _, prefix := range []string{"", "a", "a/b"} {
		store, err := etcdlease.New(&clientv3.Client{}, etcdlease.WithPrefix(prefix))
		if !errors.Is(err, lease.ErrOption) || store != nil {
			t.Errorf("New with the prefix %q: %v, %v; want ErrOption", prefix, store, err)
		}
	}
	if _, err := etcdlease.New(&clientv3.Client{}, etcdlease.WithPrefix("a/")); err != nil {
		t.Errorf("New with the prefix a/: %v", err)
	}
}
