package leasetest

import (
	"context"
	"runtime"
	"time"

	"github.com/sqlflake/sqlflake/snowflake/lease"
)

type startsAt struct {
	*memory
	horizon func(lease.Request) int64
}

func (s startsAt) Acquire(ctx context.Context, r lease.Request) (lease.Grant, error) {
	grant, err := s.memory.Acquire(ctx, r)
	if grant.Epoch > 1 {
		grant.Horizon = s.horizon(r)
	}
	return grant, err
}

type readsBefore struct{ *memory }

func (s readsBefore) Acquire(ctx context.Context, r lease.Request) (lease.Grant, error) {
	before := map[int64]int64{}
	s.rowsOf(r.Namespace, func(worker int64, r *row) { before[worker] = r.horizon })
	for start := time.Now(); time.Since(start) < time.Millisecond; {
		runtime.Gosched() // as long as a database takes
	}
	grant, err := s.memory.Acquire(ctx, r)
	if err == nil {
		grant.Horizon = before[grant.Worker]
	}
	return grant, err
}

type keepsEpoch struct{ *memory }

func (s keepsEpoch) Acquire(ctx context.Context, r lease.Request) (lease.Grant, error) {
	grant, err := s.memory.Acquire(ctx, r)
	s.rowsOf(r.Namespace, func(worker int64, r *row) {
		if err == nil && worker == grant.Worker {
			r.epoch = 1
		}
	})
	grant.Epoch = 1
	return grant, err
}

type takesHeld struct{ *memory }

func (s takesHeld) Acquire(ctx context.Context, r lease.Request) (lease.Grant, error) {
	s.rowsOf(r.Namespace, func(_ int64, found *row) {
		if found.token != r.Token {
			found.expires = time.Time{}
		}
	})
	return s.memory.Acquire(ctx, r)
}

type ignoresToken struct{ *memory }

func (s ignoresToken) Acquire(ctx context.Context, r lease.Request) (lease.Grant, error) {
	token := r.Token
	if r.Validate() == nil {
		r.Token = NewToken()
	}
	grant, err := s.memory.Acquire(ctx, r)
	s.rowsOf(r.Namespace, func(worker int64, r *row) {
		if err == nil && worker == grant.Worker {
			r.token = token
		}
	})
	grant.Token = token
	return grant, err
}

type honoursExpired struct{ *memory }

func (s honoursExpired) Acquire(ctx context.Context, r lease.Request) (lease.Grant, error) {
	s.rowsOf(r.Namespace, func(_ int64, found *row) {
		if found.token == r.Token {
			found.expires = s.now().Add(r.TTL)
		}
	})
	return s.memory.Acquire(ctx, r)
}

type ignoresLayout struct{ *memory }

func (s ignoresLayout) Acquire(ctx context.Context, r lease.Request) (lease.Grant, error) {
	if r.Layout != "" {
		r.Layout = "any"
	}
	return s.memory.Acquire(ctx, r)
}

type ignoresTick struct{ *memory }

func (s ignoresTick) Acquire(ctx context.Context, r lease.Request) (lease.Grant, error) {
	r.Tick = 1<<63 - 1
	return s.memory.Acquire(ctx, r)
}

type showsTokens struct{ *memory }

func (s showsTokens) List(ctx context.Context, namespace string) ([]lease.Entry, error) {
	entries, err := s.memory.List(ctx, namespace)
	for i, e := range entries {
		entries[i].Token = s.owner(e.Claim).Token
	}
	return entries, err
}
