package lease_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/sqlflake/sqlflake/snowflake"
	"github.com/sqlflake/sqlflake/snowflake/lease"
	"github.com/sqlflake/sqlflake/snowflake/lease/leasetest"
)

func TestBadSettingsAreRefusedWithTheValueAndTheLimit(t *testing.T) {
	store := leasetest.NewMemory(nil)
	for _, test := range []struct {
		name  string
		store lease.Store
		opt   lease.Option
		is    error
		want  string
	}{
		{"no store", nil, lease.StopOnLoss(), lease.ErrOption, "nil Store"},
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
		{"no hook", store, lease.WithHook(nil), lease.ErrOption, "nil hook"},
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

func TestWriteTableIsForPeople(t *testing.T) {
	const layout = "epoch=2025-01-01T00:00:00Z tick=1ms time:41 worker:10 sequence:12"
	var out strings.Builder
	err := lease.WriteTable(&out, []lease.Entry{
		{
			Claim: lease.Claim{Namespace: "default", Worker: 0, Epoch: 12}, Layout: layout, Horizon: 86_400_123, Held: true,
			Expires: time.Date(2025, 1, 2, 0, 0, 10, 0, time.UTC), Holder: lease.Holder{Host: "web-1", PID: 4711, Version: "v1.4.0"},
		},
		{Claim: lease.Claim{Namespace: "default", Worker: 1, Epoch: 1}, Layout: "something else", Horizon: 5},
	})
	want := `NAMESPACE  WORKER  STATE  EPOCH  HORIZON                   EXPIRES                   HOST   PID   VERSION
default    0       held   12     2025-01-02T00:00:00.123Z  2025-01-02T00:00:10.000Z  web-1  4711  v1.4.0
default    1       free   1      tick 5                    -                         -      0     -
`
	if out.String() != want || err != nil {
		t.Errorf("%v\n%s\nwant\n%s", err, out.String(), want)
	}
}
