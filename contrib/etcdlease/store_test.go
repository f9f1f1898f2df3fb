package etcdlease_test

import (
	"errors"
	"testing"

	"github.com/sqlflake/sqlflake/contrib/etcdlease"
	"github.com/sqlflake/sqlflake/snowflake/lease"
)

func TestNewRefusesNil(t *testing.T) {
	if store, err := etcdlease.New(nil); !errors.Is(err, lease.ErrOption) || store != nil {
		t.Errorf("New(nil): %v, %v; want ErrOption", store, err)
	}
}
