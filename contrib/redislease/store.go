// Package redislease keeps leases of worker numbers in Redis or Valkey, with go-redis:
//
//	client := redis.NewClient(&redis.Options{Addr: "localhost:6379"})
//	store, err := redislease.New(client, redislease.WithGuard(11*time.Second)) // for a Redis that may forget
//	l, err := lease.Open(ctx, store)                                           // takes a worker
//	defer l.Close(ctx)                                                         // gives it back
//	id, err := l.Generator().Next()
//
// Each call is one Lua script on one key, so the store works with a single server, Sentinel, Cluster and Ring. It needs
// Redis 5 or newer. An acquisition is two: one reads the namespace, the other takes a worker if its row and the layout
// are as they were read.
//
// A namespace is one hash, whose key is the prefix and the namespace in braces, with a field for each worker that was
// ever taken and one for the layout. Workers expire by Redis's clock (the command TIME) and not by a time to live of
// the key, since a row holds the horizon and must not vanish. An acquisition reads the whole hash.
//
// # A Redis that forgets
//
// That no ID is issued twice requires a store that keeps what it has confirmed. Redis does so with appendonly yes and
// appendfsync always, as long as no replica is promoted. Otherwise it may forget:
//
//   - appendfsync everysec, the default of an append-only file, loses about a second when the machine crashes;
//     snapshots alone lose minutes; without either, every restart loses all
//     (https://redis.io/docs/latest/operate/oss_and_stack/management/persistence/)
//   - replication is asynchronous: a promoted replica lacks the last answers of the primary, in Sentinel and in Cluster
//     (https://redis.io/docs/latest/operate/oss_and_stack/reference/cluster-spec/)
//   - FLUSHALL, and an eviction policy that drops keys without a time to live
//
// The next owner of a worker then starts at a horizon that is too low, or at none, and may issue the IDs of the earlier
// owner again. [WithGuard] prevents that: an owner starts so far ahead of its clock that it is above all that an
// earlier owner can have been granted. An ID is then issued twice only if Redis forgets and, at the same time, a clock
// is wrong by more than the guard allows for. Use a guard, or a Redis that does not forget, or sqllease.
//
// With allkeys-lru and the other eviction policies on all keys Acquire returns an error, if the client may read the
// setting with CONFIG GET or INFO. A store that has seen a safe policy before lends the worker with a warning
// ([leasestore.Grant].Warning). Extensions do not ask. If the client may do neither, set maxmemory-policy to noeviction
// or to one of the volatile policies, which never drop keys without a time to live.
package redislease

import (
	"context"
	_ "embed" // for the script
	"errors"
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/sqlflake/sqlflake/snowflake/lease"
	"github.com/sqlflake/sqlflake/snowflake/lease/leasestore"
)

// Store is a [leasestore.Store] in Redis. It is safe for concurrent use, and several may use the same keys.
type Store struct {
	client redis.UniversalClient
	prefix string
	guard  time.Duration
	safe   atomic.Bool // a call has found that no policy evicts the keys, as far as it can be known
}

var _ leasestore.Store = (*Store)(nil)

// Option is a setting of [New]. A nil Option is an error that matches lease.ErrOption.
type Option func(*Store) error

// WithPrefix sets what the keys begin with, "snowflake:lease:" by default; it may be empty. Stores with different
// prefixes do not see each other's workers.
func WithPrefix(prefix string) Option {
	return func(s *Store) error {
		s.prefix = prefix
		return nil
	}
}

// WithGuard is for a Redis that may forget what it has confirmed. Acquire then returns the horizon
//
//	max(horizon of the row, Request.Tick + guard in ticks, rounded up)
//
// so that an owner starts above all that an earlier owner can have been granted, even if Redis has forgotten that one.
// For this the guard must be at least the window of the lease (lease.DefaultWindow), plus the lead of the generator
// (10 ms by default), plus the greatest difference between the clocks of two processes, plus two ticks. It relies
// on owners that commit horizons by their clock, a window and a lead ahead, as lease.Lease does.
//
// An owner waits for the guard before its first ID; calls whose context has no deadline return
// snowflake.ErrLeaseStalled until then, unless lease.WithPatience is longer.
//
// With a guard, an Extend after the expiry is lease.ErrLost, which differs from [leasestore.Store]: if Redis has
// forgotten a takeover, that came after the expiry, and the new owner still uses the worker. One gap remains: a
// promoted replica whose clock is so far behind that the expiry has not come for it.
//
// The guard is 0 by default and must not be negative. The length of a tick is read from the text of the layout, so
// Acquire returns lease.ErrOption for a layout that snowflake.ParseLayout does not know.
func WithGuard(guard time.Duration) Option {
	return func(s *Store) error {
		if guard < 0 {
			return fmt.Errorf("%w: WithGuard: %v is negative", lease.ErrOption, guard)
		}
		s.guard = guard
		return nil
	}
}

// New returns a store that uses the client, which the caller closes. It does not talk to Redis. It returns
// lease.ErrOption for a nil client and for a bad option.
func New(client redis.UniversalClient, opts ...Option) (*Store, error) {
	v := reflect.ValueOf(client)
	if isNilPointer := v.Kind() == reflect.Pointer && v.IsNil(); isNilPointer || !v.IsValid() {
		return nil, fmt.Errorf("%w: the Redis client is nil", lease.ErrOption)
	}

	s := &Store{client: client, prefix: "snowflake:lease:"}
	for _, opt := range opts {
		if opt == nil {
			return nil, fmt.Errorf("%w: nil Option", lease.ErrOption)
		}
		if err := opt(s); err != nil {
			return nil, err
		}
	}

	return s, nil
}

//go:embed lease.lua
var leaseLua string

var script = redis.NewScript(leaseLua)

// key returns the key of a namespace's hash.
func (s *Store) key(namespace string) string { return s.prefix + "{" + namespace + "}" }

// answer is the reply of a function of the script.
type answer struct {
	word  string
	now   time.Time // of Redis
	value any       // what the function returns besides
}

// call runs a function of the script, by its hash or, if Redis does not have it yet, by its text.
func (s *Store) call(ctx context.Context, function, namespace string, args ...any) (answer, error) {
	args = append([]any{function}, args...)
	var reply []any
	err := await(ctx, func() (err error) {
		reply, err = script.Run(ctx, s.client, []string{s.key(namespace)}, args...).Slice()
		return err
	})
	if err != nil {
		return answer{}, fmt.Errorf("redislease: key %q: %w", s.key(namespace), err)
	}
	if len(reply) != 3 {
		return answer{}, s.unexpected(namespace, reply)
	}

	microseconds, err := s.number(namespace, reply[1])
	a := answer{fmt.Sprint(reply[0]), time.UnixMicro(microseconds), reply[2]}
	if a.word == "protocol" {
		return answer{}, &lease.VersionError{Namespace: namespace, Version: fmt.Sprint(a.value)}
	}
	return a, err
}

// claim calls a function whose arguments begin with a claim, and returns lease.ErrLost if the row has another epoch or
// token.
func (s *Store) claim(ctx context.Context, function string, c leasestore.Claim, args ...any) (answer, error) {
	args = append([]any{digits(c.Worker), digits(c.Epoch), c.Token, c.Next}, args...)
	a, err := s.call(ctx, function, c.Namespace, args...)
	if err == nil && a.word == "lost" {
		return answer{}, fmt.Errorf("%w: worker %d of namespace %q is not held with epoch %d any more",
			lease.ErrLost, c.Worker, c.Namespace, c.Epoch)
	}
	return a, err
}

func (s *Store) unexpected(namespace string, reply any) error {
	return fmt.Errorf("redislease: key %q: unexpected reply %v", s.key(namespace), reply)
}

func (s *Store) corrupt(namespace string, field any) error {
	return fmt.Errorf("redislease: key %q: the field %q is not a row of a lease", s.key(namespace), field)
}

// await returns when the call or the context ends. While a client of go-redis reads from a server that does not answer,
// it uses its own timeouts, unless ContextTimeoutEnabled is set. A later reply counts as lost: what the call has
// written may be read only if await returns its error.
func await(ctx context.Context, call func() error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	done := make(chan error, 1)
	go func() { done <- call() }()
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// digits returns a number as the scripts compare it: as text, since numbers of Lua are not exact above 2^53.
func digits(n int64) string { return fmt.Sprintf("%019d", n) }

// milliseconds returns a duration for the scripts, rounded up.
func milliseconds(d time.Duration) string {
	return strconv.FormatInt(int64((d-1)/time.Millisecond)+1, 10)
}

// number reads an integer of a reply.
func (s *Store) number(namespace string, text any) (int64, error) {
	n, err := strconv.ParseInt(fmt.Sprint(text), 10, 64)
	if err != nil {
		return 0, s.unexpected(namespace, text)
	}
	return n, nil
}

const policySetting = "maxmemory-policy"

// checkEviction returns lease.ErrOption if Redis may drop keys without a time to live, and with them the horizons, when
// its memory is full. It asks each time, since the policy may change. Once it has found that Redis does not, the same
// error is a warning: a process that runs is better off with a worker than without one.
func (s *Store) checkEviction(ctx context.Context) (warning, err error) {
	err = s.eachNode(ctx, func(ctx context.Context, node redis.Cmdable) error {
		settings, err := node.ConfigGet(ctx, policySetting).Result()
		var refused redis.Error
		policy := settings[policySetting]
		if errors.As(err, &refused) { // managed servers, and users with few rights, may have INFO only, or neither
			var info string
			info, err = node.Info(ctx, "memory").Result()
			_, policy, _ = strings.Cut(info, "maxmemory_policy:")
			policy, _, _ = strings.Cut(policy, "\r")
			if errors.As(err, &refused) {
				return nil
			}
		}
		if err != nil {
			return fmt.Errorf("redislease: read %s: %w", policySetting, err)
		}
		if strings.HasPrefix(policy, "allkeys-") { // https://redis.io/docs/latest/develop/reference/eviction/
			return fmt.Errorf("%w: Redis has the %s %s and may drop the horizons; "+
				"set noeviction or one of the volatile policies", lease.ErrOption, policySetting, policy)
		}
		return nil
	})

	switch {
	case err == nil:
		s.safe.Store(true)
	case s.safe.Load() && errors.Is(err, lease.ErrOption):
		return err, nil
	}

	return nil, err
}
