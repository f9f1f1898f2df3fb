package sqllease

import (
	"context"
	"fmt"
	"time"

	"github.com/sqlflake/sqlflake/snowflake"
	"github.com/sqlflake/sqlflake/snowflake/lease"
	"github.com/sqlflake/sqlflake/snowflake/lease/leasestore"
)

// SetShare sets, once and for good, which workers the leases of a namespace may have: first to last, both inclusive. It
// is for databases that all take writes and whose rows come together, as of several regions: with shares that have no
// worker in common, and one layout, their IDs never collide. It creates the namespace with the layout if it does not
// exist. With the share that the namespace has, it changes nothing and returns nil, so each process may call it before
// it opens a lease; do so, since a replica that is promoted may not know a share that was set just before. A store that
// has seen the share, in SetShare or Acquire, sets it again there before it lends a worker, with the errors of
// SetShare. So stop all processes before you take a share away by SQL.
//
// From then on Acquire takes workers of the share only: a greater range of workers is narrowed to it, and a range
// without any of it is [lease.ErrOption], as is another share. A worker outside of the share that was ever taken or
// reserved is also [lease.ErrOption], and the error names it. If it was taken at the same moment, the share may be
// stored already, and its lease ends with the next extension: until this worker is free and nothing has its IDs, do not
// merge. Other errors are lease.ErrLayout for a namespace with another layout, and the database's; then call it again.
func (s *Store) SetShare(ctx context.Context, namespace string, layout snowflake.Layout, first, last int64) error {
	r := leasestore.Request{
		Namespace: namespace, Layout: layout.String(), First: first, Last: last, Token: noToken, TTL: time.Second,
	}
	if err := r.Validate(); err != nil {
		return err
	}
	if last > layout.MaxWorker() || r.Layout == "" {
		return fmt.Errorf("%w: the share %d to %d, the layout %q has the workers 0 to %d",
			lease.ErrOption, first, last, r.Layout, layout.MaxWorker())
	}

	_, err := await(ctx, s, "set the share", func(ctx context.Context) (struct{}, error) {
		return struct{}{}, s.setShare(ctx, r)
	})

	return err
}

// noToken is one that no lease has.
const noToken = "00000000000000000000000000000000"

func (s *Store) setShare(ctx context.Context, r leasestore.Request) error {
	for range acquireAttempts {
		shot, err := s.open(ctx, r)
		if err != nil {
			return s.failed("set the share", err)
		}
		n := shot.namespace
		if n == nil {
			continue
		}

		// After the read: if that has found the share, leases outside of it have a row by now.
		entries, err := s.list(ctx, r.Namespace)
		if err != nil {
			return err
		}
		if err := n.checkShare(r, entries); err != nil || n.hasShare() {
			return err
		}
		_, err = shot.change(ctx, s.on(ctx), shot.setShare, named{
			"namespace": r.Namespace, "generation": n.generation, "first_worker": r.First, "last_worker": r.Last,
		})
		if err != nil {
			return s.failed("set the share", err)
		}
	}
	return s.lostRaces("set the share", r.Namespace)
}

// checkShare returns why the namespace can't have the share of the request.
func (n *namespace) checkShare(r leasestore.Request, entries []leasestore.Entry) error {
	if err := n.check(r.Namespace); err != nil {
		return err
	}
	if isAnother := n.first != r.First || n.last != r.Last; n.hasShare() && isAnother {
		return fmt.Errorf("%w: namespace %q has the share %d to %d, not %d to %d", lease.ErrOption, r.Namespace,
			n.first, n.last, r.First, r.Last)
	}

	for _, e := range entries {
		if e.Worker < r.First || r.Last < e.Worker {
			return fmt.Errorf("%w: worker %d of namespace %q, outside of the share %d to %d, was taken by %q, pid %d",
				lease.ErrOption, e.Worker, r.Namespace, r.First, r.Last, e.Holder.Host, e.Holder.PID)
		}
	}

	return n.checkLayout(r)
}

// repeatShare sets the share that this process has seen, if a server that has taken over has forgotten it, and reports
// whether the namespace is to be read again.
func (s *Store) repeatShare(ctx context.Context, r leasestore.Request, n *namespace) (reread bool, err error) {
	share, ok := s.shares.Load(r.Namespace)
	if !ok || n.hasShare() {
		return false, nil
	}
	r.First, r.Last = share.([2]int64)[0], share.([2]int64)[1]
	return true, s.setShare(ctx, r)
}
