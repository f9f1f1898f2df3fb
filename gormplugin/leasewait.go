package gormplugin

import (
	"context"
	"errors"
	"fmt"

	"gorm.io/gorm"

	"github.com/sqlflake/sqlflake/snowflake"
)

// leasedGenerator is the generator of a lease.
type leasedGenerator struct {
	*snowflake.Generator
	store *leaseStore
}

// Fill adds the reason to snowflake.ErrLeaseStalled, if one is known.
func (g *leasedGenerator) Fill(ctx context.Context, dst []snowflake.ID) error {
	err := g.Generator.Fill(ctx, dst)
	if errors.Is(err, snowflake.ErrLeaseStalled) {
		if failure := g.store.failure.Load(); failure != nil {
			return fmt.Errorf("%w; the extension fails: %v", err, *failure) //nolint:errorlint // its context is not the caller's
		}
	}
	return err
}

// wait returns the callback that fills keys before GORM takes a connection for the transaction, if the horizon of the lease
// has passed, after an outage or the sleep of a laptop: fill then waits for it to rise. If all waiting calls held a
// connection, there might be none left for the extension.
func (h *handle) wait(gen *leasedGenerator) func(db *gorm.DB) {
	return func(db *gorm.DB) {
		if _, inTransaction := db.Statement.ConnPool.(gorm.TxCommitter); !inTransaction && !gen.store.isFresh() {
			h.fill(db)
		}
	}
}
