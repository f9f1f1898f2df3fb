package leasetest

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/sqlflake/sqlflake/snowflake/lease"
	"github.com/sqlflake/sqlflake/snowflake/lease/leasestore"
)

var inputTests = []test{
	{promise: "bad requests are ErrOption and change nothing", run: func(f *fixture) {
		for what, spoil := range map[string]func(r *leasestore.Request){
			"an empty namespace":     func(r *leasestore.Request) { r.Namespace = "" },
			"a namespace too long":   func(r *leasestore.Request) { r.Namespace = strings.Repeat("x", 101) },
			"a negative worker":      func(r *leasestore.Request) { r.First = -1 },
			"Last below First":       func(r *leasestore.Request) { r.First, r.Last = 5, 4 },
			"no TTL":                 func(r *leasestore.Request) { r.TTL = 0 },
			"a TTL below 1 ms":       func(r *leasestore.Request) { r.TTL = time.Millisecond - 1 },
			"a negative TTL":         func(r *leasestore.Request) { r.TTL = -time.Hour },
			"a negative reach":       func(r *leasestore.Request) { r.Reach = -1 },
			"an empty token":         func(r *leasestore.Request) { r.Token = "" },
			"a short token":          func(r *leasestore.Request) { r.Token = r.Token[:31] },
			"a token of other signs": func(r *leasestore.Request) { r.Token = r.Token[:31] + "-" },
		} {
			r := f.request(0, 9)
			spoil(&r)
			if _, err := f.store.Acquire(f.Context(), r); !errors.Is(err, lease.ErrOption) {
				f.Errorf("Acquire with %s: error %v, want ErrOption", what, err)
			}
			if entries := f.list(f.namespace); len(entries) > 0 {
				f.Fatalf("Acquire with %s made %+v", what, entries)
			}
		}
		claim := f.take(0, 9).Claim
		before := f.entry(claim.Worker)
		for _, ttl := range []time.Duration{0, time.Millisecond - 1, -time.Hour} {
			if _, err := f.store.Extend(f.Context(), claim, 1000, ttl); !errors.Is(err, lease.ErrOption) {
				f.Errorf("Extend by %v: error %v, want ErrOption", ttl, err)
			}
		}
		for what, next := range map[string]string{
			"an empty next token":         "",
			"a short next token":          NewToken()[1:],
			"a next token of other signs": NewToken()[1:] + "G",
		} {
			bad := claim
			bad.Next = next
			if _, err := f.store.Extend(f.Context(), bad, 1000, long); !errors.Is(err, lease.ErrOption) {
				f.Errorf("Extend with %s: error %v, want ErrOption", what, err)
			}
		}
		f.wantEntry("bad extensions", before)
	}},
	{promise: "values at the limits are accepted", run: func(f *fixture) {
		f.namespace += strings.Repeat("ä", (100-len(f.namespace))/2)
		r := f.request(1<<62, 1<<63-1)
		r.TTL = time.Millisecond
		r.Tick = -1 << 63 // a clock before the epoch
		r.Layout = strings.Repeat("x", 1000)
		if grant := f.acquire(r); grant.Worker != 1<<62 {
			f.Errorf("worker %d, want %d", grant.Worker, int64(1<<62))
		}
		r.First, r.Last, r.Token, r.TTL = 1<<63-1, 1<<63-1, NewToken(), 100*365*24*time.Hour
		f.extend(f.acquire(r).Claim, 1<<63-1, r.TTL)
		r.Token = NewToken()
		if _, err := f.store.Acquire(f.Context(), r); !errors.Is(err, lease.ErrNoWorker) {
			f.Errorf("error %v, want ErrNoWorker", err)
		}
	}},
	{promise: "a cancelled context is returned", run: func(f *fixture) {
		claim := f.take(0, 9).Claim
		ctx, cancel := context.WithCancel(f.Context())
		cancel()
		for what, call := range map[string]func() error{
			"Acquire": func() error { _, err := f.store.Acquire(ctx, f.request(0, 9)); return err },
			"Extend":  func() error { _, err := f.store.Extend(ctx, claim, 1000, long); return err },
			"Release": func() error { return f.store.Release(ctx, claim, 0) },
			"List":    func() error { _, err := f.store.List(ctx, f.namespace); return err },
		} {
			if err := call(); !errors.Is(err, context.Canceled) || errors.Is(err, lease.ErrLost) {
				f.Errorf("%s: error %v, want context.Canceled", what, err)
			}
		}
		f.extend(claim, 1000, long) // nothing was lost by it
	}},
}
