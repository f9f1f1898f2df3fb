package lease_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/sqlflake/sqlflake/snowflake"
	"github.com/sqlflake/sqlflake/snowflake/lease"
	"github.com/sqlflake/sqlflake/snowflake/lease/leasestore"
)

func TestBadSettingsAreRefusedWithTheValueAndTheLimit(t *testing.T) {
	store := lease.NewMemory(nil)
	for _, test := range []struct {
		name  string
		store leasestore.Store
		opt   lease.Option
		is    error
		want  string
	}{
		{"no store", nil, lease.WithStopOnLoss(), lease.ErrOption, "nil Store"},
		{"no option", store, nil, lease.ErrOption, "nil Option"},
		{"no namespace", store, lease.WithNamespace(""), lease.ErrOption, "has 0 bytes, want 1 to 100"},
		{"long namespace", store, lease.WithNamespace(strings.Repeat("n", 101)), lease.ErrOption, "has 101 bytes, want 1 to 100"},
		{"short window", store, lease.WithWindow(time.Millisecond), lease.ErrOption, "window 1ms out of range [10ms, 10m0s]"},
		{"long window", store, lease.WithWindow(time.Hour), lease.ErrOption, "window 1h0m0s out of range [10ms, 10m0s]"},
		{"no skew", store, lease.WithMaxSkew(0), lease.ErrOption, "skew 0s out of range (0, 8760h0m0s]"},
		{"negative patience", store, lease.WithPatience(-1), lease.ErrOption, "patience -1ns is negative"},
		{"no logger", store, lease.WithLogger(nil), lease.ErrOption, "nil Logger"},
		{"workers above the layout's", store, lease.WithWorkers(0, 4), lease.ErrOption, "workers 0 to 4, the layout has 0 to 3"},
		{"workers below 0", store, lease.WithWorkers(-1, 2), lease.ErrOption, "workers -1 to 2, the layout has 0 to 3"},
		{"no workers", store, lease.WithWorkers(3, 2), lease.ErrOption, "workers 3 to 2, the layout has 0 to 3"},
		{"a bad option of the generator", store, lease.WithGenerator(snowflake.WithLead(-1)), snowflake.ErrOption, "lead -1ns"},
		{"no observer", store, lease.WithObserver(nil), lease.ErrOption, "nil observer"},
		{"no option of the generator", store, lease.WithGenerator(nil), lease.ErrOption, "nil Option"},
		{"no clock", store, lease.WithClock(nil), lease.ErrOption, "nil Clock"},
	} {
		t.Run(test.name, func(t *testing.T) {
			l, err := lease.Open(t.Context(), test.store, options(t, test.opt)...)
			if l != nil || !errors.Is(err, test.is) || !strings.Contains(err.Error(), test.want) {
				t.Errorf("Open: %v, want %v with %q", err, test.is, test.want)
			}
		})
	}
	if entries, err := store.List(t.Context(), ""); len(entries) != 0 || err != nil {
		t.Errorf("a lease that was refused left %v, %v", entries, err)
	}
}
