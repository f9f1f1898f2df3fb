package lease_test

import (
	"context"
	"errors"
	"time"

	"github.com/sqlflake/sqlflake/snowflake/lease"
)

// simPort is the store as a process reaches it, through a network.
type simPort struct{ p *simProcess }

var (
	errSimDropped = errors.New("the request was lost")
	errSimReply   = errors.New("the reply was lost")
	errSimDead    = errors.New("the process is dead")
)

// simFault is what happens to a call.
type simFault int

const (
	simNoFault simFault = iota
	simDropRequest
	simLoseReply
	simLateRequest
)

// call makes a call of the store. A late request is executed after the caller has given up.
func (s simPort) call(name string, do func() error) error {
	p, w := s.p, s.p.w
	w.interleave(10)
	if p.dead {
		return errSimDead
	}
	fault := p.nextFault()
	if w.now.Before(w.down) || p.cutOff {
		fault = simDropRequest
	}
	if p.cutOff && w.choices.oneIn(2) {
		fault = simLateRequest
	}
	request := func() error {
		caller := w.caller
		w.caller = p
		err := do()
		w.caller = caller
		w.audit(p)
		return err
	}
	switch fault {
	case simDropRequest:
		w.tally["dropped"]++
		w.note(p, "%s: the request is lost", name)
		return errSimDropped
	case simLateRequest:
		w.note(p, "%s: the request is late", name)
		w.late = append(w.late, func() {
			w.tally["late"]++
			w.note(p, "%s arrives late: %v", name, request())
		})
		return errSimDropped
	}
	err := request()
	w.note(p, "%s: %v", name, err)
	w.interleave(10)
	switch {
	case p.dead:
		return errSimDead
	case fault == simLoseReply:
		w.tally["lost "+name+" replies"]++
		w.note(p, "%s: the reply is lost", name)
		return errSimReply
	}
	return err
}

func (s simPort) Acquire(ctx context.Context, r lease.Request) (grant lease.Grant, err error) {
	ctx = context.WithoutCancel(ctx) // its deadline is in real time
	err = s.call("acquire", func() error {
		grant, err = s.p.w.store.Acquire(ctx, r)
		if err == nil {
			s.p.w.granted(s.p, grant.Claim)
		}
		return err
	})
	if err != nil {
		return lease.Grant{}, err
	}
	s.p.expires = s.p.host.wall.Add(r.TTL)
	s.p.w.startsAbove(s.p, grant)
	grant.Now = s.reported(grant.Now)
	return grant, nil
}

func (s simPort) Extend(ctx context.Context, c lease.Claim, h int64, ttl time.Duration) (now time.Time, err error) {
	ctx = context.WithoutCancel(ctx)
	wall, elapsed := c.Left()
	err = s.call("extend", func() error {
		s.p.w.note(s.p, "extends worker %d, epoch %d to %d", c.Worker, c.Epoch, h)
		if s.p.w.kind.late {
			c = c.Lasting(wall, elapsed)
		}
		now, err = s.p.w.store.Extend(ctx, c, h, ttl)
		return err
	})
	if err != nil {
		return time.Time{}, err
	}
	s.p.expires = s.p.host.wall.Add(ttl)
	return s.reported(now), nil
}

func (s simPort) Release(ctx context.Context, c lease.Claim, h int64) error {
	ctx = context.WithoutCancel(ctx)
	return s.call("release", func() error {
		s.p.w.note(s.p, "releases worker %d, epoch %d down to %d", c.Worker, c.Epoch, h)
		return s.p.w.store.Release(ctx, c, h)
	})
}

func (s simPort) List(ctx context.Context, namespace string) ([]lease.Entry, error) {
	return s.p.w.store.List(ctx, namespace)
}

func (s simPort) reported(now time.Time) time.Time {
	if s.p.w.plan.blind {
		return time.Time{}
	}
	return now
}
