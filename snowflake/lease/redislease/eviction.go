package redislease

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/redis/go-redis/v9" //nolint:depguard // this module exists to keep go-redis out of the core's

	"github.com/sqlflake/sqlflake/snowflake/lease"
)

const policySetting = "maxmemory-policy"

// checkEviction returns lease.ErrOption if Redis may drop keys without a time to live, and with them the horizons, when
// its memory is full. It asks until it has found once that Redis does not.
func (s *Store) checkEviction(ctx context.Context) error {
	if s.safe.Load() {
		return nil
	}
	err := s.eachNode(ctx, func(ctx context.Context, node redis.Cmdable) error {
		settings, err := node.ConfigGet(ctx, policySetting).Result()
		var refused redis.Error
		if errors.As(err, &refused) {
			return nil // managed servers, and users with few rights, can't read it
		}
		if err != nil {
			return fmt.Errorf("redislease: read %s: %w", policySetting, err)
		}
		return checkPolicy(settings[policySetting])
	})
	if err == nil {
		s.safe.Store(true)
	}
	return err
}

// checkPolicy checks a value of maxmemory-policy: https://redis.io/docs/latest/develop/reference/eviction/
func checkPolicy(policy string) error {
	if strings.HasPrefix(policy, "allkeys-") {
		return fmt.Errorf("%w: Redis has the %s %s and may drop the horizons; "+
			"set noeviction or one of the volatile policies", lease.ErrOption, policySetting, policy)
	}
	return nil
}
