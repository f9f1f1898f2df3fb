package redislease

import (
	"fmt"
	"reflect"
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
			return fmt.Errorf("%w: the guard is %v, the lowest is 0", lease.ErrOption, guard)
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
