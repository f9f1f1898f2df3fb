// Package pause waits for a duration or a context.
package pause

import (
	"context"
	"time"
)

// For returns nil after d, or the context's error as soon as that ends.
func For(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
