package leasetest

import (
	"context"
	"runtime"
	"time"

	"github.com/sqlflake/sqlflake/snowflake/lease"
)

type startsAt struct {
	*Memory
	horizon func(lease.Request) int64
}

func (s startsAt) Acquire(ctx context.Context, r lease.Request) (lease.Grant, error) {
	grant, err := s.Memory.Acquire(ctx, r)
	if grant.Epoch > 1 {
		grant.Horizon = s.horizon(r)
	}
	return grant, err
}

type readsBefore struct{ *Memory }

func (s readsBefore) Acquire(ctx context.Context, r lease.Request) (lease.Grant, error) {
	before := map[int64]int64{}
	s.rowsOf(r.Namespace, func(worker int64, r *row) { before[worker] = r.horizon })
	for start := time.Now(); time.Since(start) < time.Millisecond; {
		runtime.Gosched() // as long as a database takes
	}
	grant, err := s.Memory.Acquire(ctx, r)
	if err == nil {
		grant.Horizon = before[grant.Worker]
	}
	return grant, err
}

type keepsEpoch struct{ *Memory }

func (s keepsEpoch) Acquire(ctx context.Context, r lease.Request) (lease.Grant, error) {
	grant, err := s.Memory.Acquire(ctx, r)
	s.rowsOf(r.Namespace, func(worker int64, r *row) {
		if err == nil && worker == grant.Worker {
			r.epoch = 1
		}
	})
	grant.Epoch = 1
	return grant, err
}

type takesHeld struct{ *Memory }

func (s takesHeld) Acquire(ctx context.Context, r lease.Request) (lease.Grant, error) {
	s.rowsOf(r.Namespace, func(_ int64, found *row) {
		if found.token != r.Token {
			found.expires = time.Time{}
		}
	})
	return s.Memory.Acquire(ctx, r)
}

type ignoresToken struct{ *Memory }

func (s ignoresToken) Acquire(ctx context.Context, r lease.Request) (lease.Grant, error) {
	token := r.Token
	if r.Validate() == nil {
		r.Token = NewToken()
	}
	grant, err := s.Memory.Acquire(ctx, r)
	s.rowsOf(r.Namespace, func(worker int64, r *row) {
		if err == nil && worker == grant.Worker {
			r.token = token
		}
	})
	grant.Token = token
	return grant, err
}

type honoursExpired struct{ *Memory }

func (s honoursExpired) Acquire(ctx context.Context, r lease.Request) (lease.Grant, error) {
	s.rowsOf(r.Namespace, func(_ int64, found *row) {
		if found.token == r.Token {
			found.expires = s.now().Add(r.TTL)
		}
	})
	return s.Memory.Acquire(ctx, r)
}

type ignoresLayout struct{ *Memory }

func (s ignoresLayout) Acquire(ctx context.Context, r lease.Request) (lease.Grant, error) {
	if r.Layout != "" {
		r.Layout = "any"
	}
	return s.Memory.Acquire(ctx, r)
}

type ignoresTick struct{ *Memory }

func (s ignoresTick) Acquire(ctx context.Context, r lease.Request) (lease.Grant, error) {
	r.Tick = 1<<63 - 1
	return s.Memory.Acquire(ctx, r)
}

type showsTokens struct{ *Memory }

func (s showsTokens) List(ctx context.Context, namespace string) ([]lease.Entry, error) {
	entries, err := s.Memory.List(ctx, namespace)
	for i, e := range entries {
		entries[i].Token = s.owner(e.Claim).Token
	}
	return entries, err
}
