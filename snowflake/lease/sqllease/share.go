package sqllease

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/sqlflake/sqlflake/snowflake"
	"github.com/sqlflake/sqlflake/snowflake/lease"
)

// SetShare tells a namespace, once and for good, which workers its leases may have: first to last, both inclusive. It is for
// databases that all take writes and whose rows come together, as of several regions: with shares that have no worker
// in common, and one layout, their IDs never meet. It creates the namespace with the layout if it does not exist. With
// the share that the namespace has, it changes nothing and returns nil, so each process may call it before it opens a
// lease; do so, since a replica that is promoted may not know a share that was set just before. A store that has seen the
// share, in SetShare or Acquire, sets it again there before it lends a worker, with the errors of SetShare. So
// stop all processes before you take a share away by SQL.
//
// From then on Acquire takes workers of the share only: a greater range of workers is narrowed to it, and a range without
// any of it is [lease.ErrOption], as is another share. A worker
// outside of the share that was ever taken or reserved is [lease.ErrOption], too, and the error names it. If it was taken at
// the same moment, the share may be stored already: until this worker is free and nothing has its IDs, do not merge.
// Programs with a version of this module that knows nothing of shares are refused with a [lease.VersionError]. Other errors
// are lease.ErrLayout for a namespace with another layout, and those of the database; then call it again.
func (s *Store) SetShare(ctx context.Context, namespace string, layout snowflake.Layout, first, last int64) error {
	r := lease.Request{Namespace: namespace, Layout: layout.String(), First: first, Last: last, Token: noToken, TTL: time.Second}
	if err := r.Validate(); err != nil {
		return err
	}
	if last > layout.MaxWorker() || r.Layout == "" {
		return fmt.Errorf("%w: the share %d to %d, the layout %q has the workers 0 to %d", lease.ErrOption, first, last, r.Layout, layout.MaxWorker())
	}
	_, err := await(ctx, s, "set the share", func(ctx context.Context) (struct{}, error) { return struct{}{}, s.setShare(ctx, r) })
	return err
}

// noToken is one that no lease has.
const noToken = "00000000000000000000000000000000"

func (s *Store) setShare(ctx context.Context, r lease.Request) error {
	wanted := [2]int64{r.First, r.Last}
	for range acquireAttempts {
		q, v, err := s.enter(ctx, r)
		if err != nil {
			return s.failed("set the share", err)
		}
		n := v.namespace
		if n == nil {
			continue
		}
		// After the look: if that has found the share, leases that do not know it have a row by now.
		entries, err := s.workers(ctx, r.Namespace, n)
		if errors.Is(err, errAgain) {
			continue
		} else if err != nil {
			return err
		}
		outside := slices.IndexFunc(entries, func(e lease.Entry) bool { return !settings{Workers: &wanted}.has(e.Worker) })
		switch {
		case n.protocol > knownProtocol:
			return laterVersion(r.Namespace, n.protocol)
		case n.Workers != nil && *n.Workers != wanted:
			return fmt.Errorf("%w: namespace %q has the share %d to %d, not %d to %d", lease.ErrOption, r.Namespace,
				n.Workers[0], n.Workers[1], r.First, r.Last)
		case outside >= 0:
			e := entries[outside]
			return fmt.Errorf("%w: worker %d of namespace %q, outside of the share %d to %d, was taken by %q, pid %d", lease.ErrOption,
				e.Worker, r.Namespace, r.First, r.Last, e.Holder.Host, e.Holder.PID)
		case n.Workers != nil:
			return nil
		case n.layout != r.Layout:
			return n.admit(r)
		}
		told := n.settings
		told.Workers = &wanted
		if err := s.tell(ctx, q, r, v, told); err != nil {
			return err
		}
	}
	return s.tooFast("set the share", r.Namespace)
}

// narrow leaves of the range of a request what is in the share.
func (s settings) narrow(r lease.Request) (lease.Request, error) {
	first, last := s.share()
	if last < r.First || r.Last < first {
		return r, fmt.Errorf("%w: workers %d to %d: namespace %q has the share %d to %d", lease.ErrOption, r.First, r.Last,
			r.Namespace, first, last)
	}
	r.First, r.Last = max(r.First, first), min(r.Last, last)
	return r, nil
}

// errAgain says that another caller was faster: look again.
var errAgain = errors.New("look again")

const (
	reserved  = 50 * 365 * 24 * time.Hour // so far away is an expiry that nobody waits for
	tellLimit = time.Minute               // after the look
)

// admit returns nil if workers are lent to the request, and otherwise why it is refused.
func (n *namespace) admit(r lease.Request) error {
	if n.layout != r.Layout {
		return fmt.Errorf("%w: namespace %q has %q, not %q", lease.ErrLayout, r.Namespace, n.layout, r.Layout)
	}
	return nil
}

// tell stores the settings. At first it keeps programs out that know protocol 1. The time that settings may have was read
// before, so the statement does nothing if it comes late.
func (s *Store) tell(ctx context.Context, q *queries, r lease.Request, v view, told settings) error {
	n, query := v.namespace, q.tell
	if n.protocol < knownProtocol { // not later, when it would raise rows that SetShare could not find
		query = q.tellFirst
	}
	_, err := s.change(ctx, "tell", query, told.String(), r.Namespace, v.now.Add(tellLimit).UnixMilli(), n.changed, n.reach, n.text, n.layout)
	return err
}

func (s *Store) tooFast(what, namespace string) error {
	return fmt.Errorf("lease: %s in table %s: others were faster %d times in namespace %q", what, s.table, acquireAttempts, namespace)
}
