package redislease

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/redis/go-redis/v9"

	"github.com/sqlflake/sqlflake/snowflake/lease"
)

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
