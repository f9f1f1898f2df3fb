package sqllease

import (
	"context"
	"database/sql"
	"fmt"
	"math"
	"strconv"
	"time"

	"github.com/sqlflake/sqlflake/internal/order"
	"github.com/sqlflake/sqlflake/snowflake"
	"github.com/sqlflake/sqlflake/snowflake/lease"
	"github.com/sqlflake/sqlflake/snowflake/lease/leasestore"
)

// knownProtocol is the latest version of the protocol that this code knows. The statements repeat the number.
const knownProtocol = 1

// noShare is the last worker of a namespace without a share.
const noShare = math.MaxInt64

// maxCandidates is how many free workers one statement reads. A caller that has lost races chooses at random among
// 2^lost of them: see order.Candidates.Take. 64 are all that six lost races need.
const maxCandidates = 64

// namespace is a row of the namespaces, as a server shows it.
type namespace struct {
	protocol    int64
	layout      string
	generation  int64
	start       int64 // the least tick of an owner
	first, last int64 // the share
	hasLeases   bool  // as the row says
	empty       bool  // there are none
	serverSince int64 // when another server took over, in milliseconds since 1970; 0: never
	reach       int64 // the greatest one ever requested, in milliseconds
	sameServer  bool  // as the one that answered
}

// hasShare reports whether a share was set.
func (n *namespace) hasShare() bool { return n.first != 0 || n.last != noShare }

// floor returns where new owners start, in milliseconds since 1970; 0: at the horizons of the leases.
func (n *namespace) floor() int64 {
	if n.serverSince == 0 {
		return 0
	}
	return n.serverSince + min(n.reach, math.MaxInt64-n.serverSince)
}

// startTime returns when the layout begins, after a move; zero without one.
func (n *namespace) startTime() time.Time {
	layout, err := snowflake.ParseLayout(n.layout)
	if err != nil || n.start == 0 { // a text that is no layout can't move
		return time.Time{}
	}
	return layout.Start(n.start)
}

// check returns an error if no process may take a worker, or set a share.
func (n *namespace) check(name string) error {
	switch {
	case n.protocol > knownProtocol:
		return laterVersion(name, n.protocol)
	case n.hasLeases && n.empty:
		return fmt.Errorf("%w: namespace %q had leases, and has none: restore their table", lease.ErrDamaged, name)
	}
	return nil
}

func laterVersion(namespace string, protocol int64) error {
	return &lease.VersionError{Namespace: namespace, Version: strconv.FormatInt(protocol, 10)}
}

// snapshot is what one statement has read.
type snapshot struct {
	*server
	namespace *namespace  // nil: not in use yet
	leases    []order.Row // the one with the token, if it is held, and some free ones
	now       time.Time   // of the database
	at        time.Time   // local time just before the query
}

// read reads the namespace, the lease of the token, and some free workers.
func (s *Store) read(ctx context.Context, server *server, r leasestore.Request) (snapshot, error) {
	shot := snapshot{server: server, at: time.Now()}
	values := named{
		"namespace": r.Namespace, "token": r.Token, "first_worker": r.First, "last_worker": r.Last, "tick": r.Tick,
		"limit": 1 + maxCandidates,
	}
	err := server.query(ctx, s.on(ctx), server.read, values, func(scan scan) error {
		var n namespace
		var revision, now, hasLeases int64
		var worker, epoch, horizon, expires sql.NullInt64
		var token, reserved sql.NullString
		err := scan(&n.protocol, &n.layout, &n.generation, &n.start, &n.first, &n.last, &hasLeases, &n.empty,
			&n.serverSince, &n.reach, &revision, &n.sameServer, &now,
			&worker, &epoch, &token, &horizon, &expires, &reserved)
		if err != nil {
			return err
		}

		if shot.namespace == nil {
			n.hasLeases = hasLeases != 0
			n.sameServer = n.sameServer && revision >= s.revision(r.Namespace)
			s.sawRevision(r.Namespace, revision)
			shot.namespace, shot.now = &n, time.UnixMilli(now)
			if n.hasShare() {
				s.shares.Store(r.Namespace, [2]int64{n.first, n.last})
			}
		}
		if worker.Valid {
			shot.leases = append(shot.leases, order.Row{
				Worker: worker.Int64, Epoch: epoch.Int64, Horizon: horizon.Int64, Token: token.String,
				Free: reserved.String == "" && expires.Int64 <= now, FreeFrom: time.UnixMilli(expires.Int64),
			})
		}
		return nil
	})
	return shot, err
}

// open reads, after it has added the namespace if it is new, and has recorded the server and the reach of the request.
func (s *Store) open(ctx context.Context, r leasestore.Request) (snapshot, error) {
	server, err := s.currentServer(ctx)
	if err != nil {
		return snapshot{}, err
	}
	shot, err := s.read(ctx, server, r)
	if isAbsent := err == nil && shot.namespace == nil; isAbsent && r.TTL > 0 {
		shot, err = s.add(ctx, server, r)
	}

	if err != nil || !shot.namespace.needsRecord(r) {
		return shot, err
	}
	return s.recordAndRead(ctx, shot, r)
}

// needsRecord reports whether the server or the reach of the request is to be recorded.
func (n *namespace) needsRecord(r leasestore.Request) bool {
	if n == nil || n.layout != r.Layout {
		return false
	}
	return !n.sameServer || n.reach < milliseconds(r.Reach)
}

// recordAndRead records the server and the reach of the request, and reads again.
func (s *Store) recordAndRead(ctx context.Context, shot snapshot, r leasestore.Request) (snapshot, error) {
	server := shot.server
	var err error
	if shot.namespace.sameServer {
		err = s.recordServer(ctx, server, r.Namespace, r.Reach, 0)
	} else {
		server, err = s.recordNewServer(ctx, r.Namespace, r.Reach)
	}
	if err != nil {
		return shot, err
	}

	return s.read(ctx, server, r)
}

// add adds a namespace. Another caller may be faster, with another layout.
func (s *Store) add(ctx context.Context, server *server, r leasestore.Request) (snapshot, error) {
	_, err := server.change(ctx, s.on(ctx), server.addNamespace, named{
		"namespace": r.Namespace, "layout": r.Layout, "reach_ms": milliseconds(r.Reach),
	})
	if err != nil {
		return snapshot{}, err
	}
	shot, err := s.read(ctx, server, r)
	if err != nil || shot.namespace != nil {
		return shot, err
	}

	if _, err := s.list(ctx, r.Namespace); err != nil { // ErrDamaged: it has leases
		return shot, err
	}
	_, err = s.identify(ctx) // the connection may have settings that are refused
	return shot, err
}

// Layout returns the layout of the namespace, or the zero Layout if no process has used it.
func (s *Store) Layout(ctx context.Context, namespace string) (snowflake.Layout, error) {
	return await(ctx, s, "read the layout", func(ctx context.Context) (snowflake.Layout, error) {
		shot, err := s.open(ctx, leasestore.Request{Namespace: namespace})
		if err != nil || shot.namespace == nil {
			return snowflake.Layout{}, s.failed("read the layout", err)
		}
		return snowflake.ParseLayout(shot.namespace.layout)
	})
}
