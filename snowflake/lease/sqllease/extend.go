package sqllease

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/sqlflake/sqlflake/snowflake/lease"
	"github.com/sqlflake/sqlflake/snowflake/lease/leasestore"
)

// extendAttempts bounds how often Extend records another server. One is a failover; more is a pool over several
// primaries.
const extendAttempts = 10

// Extend implements [leasestore.Store]; the time is the database's. It also returns [lease.ErrOption] for a server of
// the MySQL protocol that ignores LAST_INSERT_ID(x), which the store needs.
func (s *Store) Extend(ctx context.Context, c leasestore.Claim, horizon int64, ttl time.Duration) (time.Time, error) {
	if err := leasestore.ValidateExtension(c, ttl); err != nil {
		return time.Time{}, err
	}
	return await(ctx, s, "extend", func(ctx context.Context) (time.Time, error) {
		return s.extend(ctx, c, horizon, ttl)
	})
}

func (s *Store) extend(ctx context.Context, c leasestore.Claim, horizon int64, ttl time.Duration) (time.Time, error) {
	server, err := s.currentServer(ctx)
	if err != nil {
		return time.Time{}, s.failed("extend", err)
	}

	text := server.extend
	values := named{
		"namespace": c.Namespace, "worker": c.Worker, "epoch": c.Epoch, "token": c.Token, "next": c.Next,
		"horizon": horizon, "ttl_ms": milliseconds(ttl), "reach_ms": milliseconds(c.Reach),
		"revision": s.revision(c.Namespace),
	}

	for range extendAttempts {
		now, found, err := server.update(ctx, s.on(ctx), text, values)
		switch {
		case err != nil:
			return time.Time{}, s.failed("extend", err)
		case found && now <= 0:
			return time.Time{}, fmt.Errorf("%w: the server ignores LAST_INSERT_ID(x) in an UPDATE of table %s",
				lease.ErrOption, s.tables.leases)
		case found:
			return time.UnixMilli(now), nil
		}

		if server, text, err = s.nextExtension(ctx, c, values); err != nil {
			return time.Time{}, err
		}
	}

	return time.Time{}, fmt.Errorf("lease: extend in table %s: the connections lead to different servers: "+
		"each of %d attempts found another one", s.tables.leases, extendAttempts)
}

// nextExtension records the server that has refused an extension, updates the values, and returns the statement of the
// next attempt, or the error that ends the extension.
func (s *Store) nextExtension(ctx context.Context, c leasestore.Claim, values named) (*server, string, error) {
	server, why, err := s.whyRefused(ctx, c, values)
	if err != nil {
		return nil, "", err
	}

	values["revision"] = s.revision(c.Namespace)
	if !why.sameServer || why.confirmed {
		return server, server.extend, nil
	}

	if !c.Unexpired() { // by now, as this server has answered only now
		return nil, "", lostClaim(c)
	}
	values["server"], values["server_since_ms"] = why.server, why.serverSince
	return server, server.extendUnexpired, nil
}

// refusal is what an extension depends on.
type refusal struct {
	owned       bool
	protocol    int64
	admitted    bool   // the namespace has the generation of the lease, and the worker in its share
	server      string // that the namespace knows
	serverSince int64  // when that one took over
	limit       int64  // of the reach, in milliseconds
	reachDelay  int64  // milliseconds until the limit rises
	sameServer  bool   // as the one that answered
	confirmed   bool   // the lease certainly is the owner's
}

// whyRefused records the server, and returns what the next attempt depends on, or the error that ends the extension.
func (s *Store) whyRefused(ctx context.Context, c leasestore.Claim, values named) (*server, refusal, error) {
	var why refusal
	server, err := s.recordNewServer(ctx, c.Namespace, c.Reach)
	if err == nil {
		err = server.query(ctx, s.on(ctx), server.whyRefused, values, func(scan scan) error {
			var revision int64
			err := scan(&why.protocol, &why.server, &why.serverSince, &revision, &why.limit, &why.reachDelay,
				&why.admitted, &why.sameServer, &why.confirmed)
			why.owned, why.sameServer = true, why.sameServer && revision >= s.revision(c.Namespace)
			s.sawRevision(c.Namespace, revision)
			return err
		})
	}
	if err != nil {
		return nil, why, s.failed("extend", err)
	}

	switch {
	case !why.owned:
		return nil, why, lostClaim(c)
	case why.protocol > knownProtocol:
		return nil, why, laterVersion(c.Namespace, why.protocol)
	case !why.admitted:
		return nil, why, lostClaim(c)
	case why.sameServer && why.limit < milliseconds(c.Reach):
		return nil, why, &lease.ReachError{
			Namespace: c.Namespace, Reach: c.Reach, Limit: duration(why.limit), Wait: duration(why.reachDelay),
		}
	}
	return server, why, nil
}

// Release implements [leasestore.Store]. The lease keeps its token, so that a release whose reply was lost can be
// repeated.
func (s *Store) Release(ctx context.Context, c leasestore.Claim, horizon int64) error {
	return s.end(ctx, "release", lostClaim(c), textsOf[s.dialect].release, named{
		"namespace": c.Namespace, "worker": c.Worker, "epoch": c.Epoch, "token": c.Token,
		"next": cmp.Or(c.Next, c.Token), "horizon": max(0, horizon),
	})
}

// end runs a statement that ends a lease, and returns the error lost if there is none that it can end.
func (s *Store) end(ctx context.Context, what string, lost error, text string, values named) error {
	ended, err := await(ctx, s, what, func(ctx context.Context) (int64, error) {
		server, err := s.currentServer(ctx)
		if err != nil {
			return 0, s.failed(what, err)
		}

		ended, err := server.change(ctx, s.on(ctx), text, values)
		return ended, s.failed(what, err)
	})

	if err == nil && ended == 0 {
		return lost
	}
	return err
}

func lostClaim(c leasestore.Claim) error {
	return fmt.Errorf("%w: worker %d in namespace %q, epoch %d", lease.ErrLost, c.Worker, c.Namespace, c.Epoch)
}
