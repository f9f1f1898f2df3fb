package scenario

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"time"

	"github.com/sqlflake/sqlflake/benchmarks/storage/internal/engine"
)

// purgeTimeout is how long InnoDB may take to remove deleted rows. Other transactions of the server may delay it.
const purgeTimeout = 30 * time.Second

// vacuum runs VACUUM until it has removed all deleted rows, which it cannot while a transaction can still see them, and
// returns the duration of the last one in ms.
func (b *Bench) vacuum(ctx context.Context, table string) (took float64, err error) {
	err = until(ctx, 10*time.Millisecond, func() (bool, error) {
		counted, err := b.Usage(ctx) // makes the sessions report their counts, so that VACUUM reports last
		if err != nil {
			return false, err
		}
		took, err = b.timed(func() error { return b.run(ctx, "VACUUM (INDEX_CLEANUP ON) "+table) })
		if err != nil || counted.Hits < 0 { // the counts of older servers are late
			return true, err
		}
		var dead int
		err = b.get(ctx, "SELECT pg_stat_get_dead_tuples($1::regclass)", []any{table}, &dead)
		return dead == 0, err
	})
	return took, err
}

// waitForPurge waits until InnoDB has removed deleted rows in the background. Its duration cannot be measured: the
// server reports how far it has read its undo log, not which rows its threads have removed.
func (b *Bench) waitForPurge(ctx context.Context, table string) error {
	end, _, _, err := b.purge(ctx)
	if err != nil {
		return engine.Unsupported("the user may not read the status of InnoDB (GRANT PROCESS): %w", err)
	}
	err = until(ctx, 10*time.Millisecond, func() (bool, error) {
		_, done, history, err := b.purge(ctx)
		return done >= end || history == 0, err
	})
	if err != nil {
		return err
	}
	last := int64(-2)
	return until(ctx, 100*time.Millisecond, func() (bool, error) { // the threads process what was read
		before := last
		last, err = b.pagesInUse(ctx, table)
		return last == before, err
	})
}

// until calls f until it returns true, with pauses.
func until(ctx context.Context, every time.Duration, f func() (bool, error)) error {
	ctx, cancel := context.WithTimeoutCause(ctx, purgeTimeout, errPurge)
	defer cancel()
	for {
		if done, err := f(); done || err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(every):
		}
	}
}

var errPurge = engine.Unsupported("the database has not removed the deleted rows within %v; a transaction on the server may "+
	"still see them", purgeTimeout)

// purge returns the number of the next transaction, the transaction up to which InnoDB has purged, and the length of
// its history list.
func (b *Bench) purge(ctx context.Context) (next, done, history int64, err error) {
	var kind, name, text string
	if err := b.get(ctx, "SHOW ENGINE INNODB STATUS", nil, &kind, &name, &text); err != nil {
		return 0, 0, 0, err
	}
	found := purgeStatus.FindStringSubmatch(text)
	if found == nil {
		return 0, 0, 0, errors.New("the status of InnoDB has an unknown form")
	}
	_, err = fmt.Sscan(strings.Join(found[1:], " "), &next, &done, &history)
	return next, done, history, err
}

// purgeStatus matches the lines of the status that purge reads: https://mariadb.com/kb/en/show-engine-innodb-status/.
var purgeStatus = regexp.MustCompile(`Trx id counter (\d+)\s+Purge done for trx's n:o < (\d+)[^\n]*\s+History list length (\d+)`)
