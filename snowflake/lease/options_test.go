package lease_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/sqlflake/sqlflake/snowflake"
	"github.com/sqlflake/sqlflake/snowflake/lease"
	"github.com/sqlflake/sqlflake/snowflake/lease/leasestore"
	"github.com/sqlflake/sqlflake/snowflake/lease/leasetest"
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

func TestBadRequestsAndExtensionsAreErrOption(t *testing.T) {
	for what, spoil := range map[string]func(r *leasestore.Request){
		"nothing":                func(*leasestore.Request) {},
		"an empty namespace":     func(r *leasestore.Request) { r.Namespace = "" },
		"a namespace too long":   func(r *leasestore.Request) { r.Namespace = strings.Repeat("x", 101) },
		"a zero byte":            func(r *leasestore.Request) { r.Namespace = "a\x00" },
		"another encoding":       func(r *leasestore.Request) { r.Namespace = "\xff" },
		"a layout too long":      func(r *leasestore.Request) { r.Layout = strings.Repeat("x", 1001) },
		"a negative worker":      func(r *leasestore.Request) { r.First = -1 },
		"Last below First":       func(r *leasestore.Request) { r.First, r.Last = 5, 4 },
		"no TTL":                 func(r *leasestore.Request) { r.TTL = 0 },
		"a TTL below 1 ms":       func(r *leasestore.Request) { r.TTL = time.Millisecond - 1 },
		"a negative TTL":         func(r *leasestore.Request) { r.TTL = -time.Hour },
		"a negative reach":       func(r *leasestore.Request) { r.Reach = -1 },
		"an empty token":         func(r *leasestore.Request) { r.Token = "" },
		"a short token":          func(r *leasestore.Request) { r.Token = r.Token[1:] },
		"a token of other signs": func(r *leasestore.Request) { r.Token = r.Token[1:] + "G" },
	} {
		r := leasestore.Request{Namespace: "n", Last: 9, Token: leasetest.NewToken(), TTL: time.Second}
		spoil(&r)
		if err := r.Validate(); errors.Is(err, leasestore.ErrOption) != (what != "nothing") {
			t.Errorf("a request with %s: %v", what, err)
		}

		claim := leasestore.Claim{Next: r.Token}
		isBad := strings.Contains(what, "token") || strings.Contains(what, "TTL")
		if err := leasestore.ValidateExtension(claim, r.TTL); errors.Is(err, leasestore.ErrOption) != isBad {
			t.Errorf("an extension with %s: %v", what, err)
		}
	}
}
