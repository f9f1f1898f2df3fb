package redislease

import (
	"fmt"
	"reflect"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9" //nolint:depguard // this module exists to keep go-redis out of the core's

	"github.com/sqlflake/sqlflake/snowflake/lease"
)

// DefaultPrefix is what the keys begin with.
const DefaultPrefix = "snowflake:lease:"

// Store is a [lease.Store] in Redis. Make it with [New]. It is safe for concurrent
// use, and many may use the same keys.
type Store struct {
	client redis.UniversalClient
	prefix string
	guard  time.Duration
	safe   atomic.Bool // no policy evicts the keys, as far as can be known
}

var _ lease.Store = (*Store)(nil)

// Option is a setting of [New].
type Option func(*Store)

// WithPrefix sets what the keys begin with, [DefaultPrefix] if it is not used. Stores
// of another prefix do not see each other's workers. It may be empty.
func WithPrefix(prefix string) Option { return func(s *Store) { s.prefix = prefix } }

// WithGuard is for a Redis that may forget what it has answered. Acquire then
// returns the horizon
//
//	max(horizon of the row, Request.Tick + guard in ticks, rounded up)
//
// so that an owner starts beyond all that an owner before can have been granted,
// even if Redis knows nothing about that one any more. For that the guard has to be
// at least the window of the lease (lease.DefaultWindow), plus the lead of the
// generator (snowflake.DefaultLead), plus what the clocks of two processes may
// differ by, plus two ticks. It relies on owners that commit horizons by their
// clock, a window and a lead ahead, as lease.Lease does.
//
// An owner waits as long as the guard before its first ID; calls whose context
// never ends return snowflake.ErrLeaseStalled until then, unless lease.WithPatience
// is longer.
//
// An Extend after the expiry is lease.ErrLost with a guard, other than [lease.Store]
// says: a takeover that Redis has forgotten came after the expiry, and whoever took
// over still uses the worker. That leaves one gap: a promoted replica whose clock
// is so far behind that the expiry has not come for it.
//
// The guard is 0 if the option is not used. The length of a tick is read from the
// text of the layout, so Acquire returns lease.ErrOption for a layout that
// snowflake.ParseLayout does not know.
func WithGuard(guard time.Duration) Option { return func(s *Store) { s.guard = guard } }

// New returns a store that uses the client, which stays the caller's to close. It
// does not talk to Redis. It returns lease.ErrOption for a nil client and for a
// negative guard.
func New(client redis.UniversalClient, opts ...Option) (*Store, error) {
	if v := reflect.ValueOf(client); !v.IsValid() || v.Kind() == reflect.Pointer && v.IsNil() {
		return nil, fmt.Errorf("%w: the Redis client is nil", lease.ErrOption)
	}
	s := &Store{client: client, prefix: DefaultPrefix}
	for _, opt := range opts {
		opt(s)
	}
	if s.guard < 0 {
		return nil, fmt.Errorf("%w: the guard is %v, the lowest is 0", lease.ErrOption, s.guard)
	}
	return s, nil
}
