package leasetest

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/sqlflake/sqlflake/snowflake/lease"
)

var inputTests = []test{
	{promise: "bad requests are ErrOption and change nothing", run: func(f *fixture) {
		// Request.Validate finds them, and ValidateExtension: one of each method shows that it is called.
		r := f.request(0, 9)
		r.Token = r.Token[1:]
		if _, err := f.store.Acquire(f.Context(), r); !errors.Is(err, lease.ErrOption) {
			f.Errorf("Acquire with a short token: error %v, want ErrOption", err)
		}
		f.wantRows("Acquire with a short token", nil)

		claim := f.take(0, 9).Claim
		before := f.list(f.namespace)
		if _, err := f.store.Extend(f.Context(), claim, 1000, 0); !errors.Is(err, lease.ErrOption) {
			f.Errorf("Extend without a TTL: error %v, want ErrOption", err)
		}
		claim.Next = claim.Next[1:]
		if _, err := f.store.Extend(f.Context(), claim, 1000, long); !errors.Is(err, lease.ErrOption) {
			f.Errorf("Extend with a short token: error %v, want ErrOption", err)
		}
		f.wantRows("bad extensions", before)
	}},
	{promise: "values at the limits are accepted", run: func(f *fixture) {
		f.namespace += strings.Repeat("ä", (100-len(f.namespace))/2)
		r := f.request(1<<62, 1<<63-1)
		r.TTL = time.Millisecond
		r.Tick = -1 << 63 // a clock before the epoch
		r.Layout = strings.Repeat("x", 1000)
		f.acquire(r)
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
