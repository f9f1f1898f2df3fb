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
	for end := time.Now().Add(purgeTimeout); ; {
		counted, err := b.Usage(ctx) // makes the sessions report their counts, so that VACUUM reports last
		if err != nil {
			return 0, err
		}
		took, err = b.timed(func() error {
			_, err := b.DB().ExecContext(ctx, "VACUUM (INDEX_CLEANUP ON) "+table)
			return err
		})
		if err != nil || counted.Hits < 0 { // the counts of older servers are late
			return took, err
		}
		var dead int
		err = b.DB().QueryRowContext(ctx, "SELECT pg_stat_get_dead_tuples($1::regclass)", table).Scan(&dead)
		if err != nil || dead == 0 {
			return took, err
		}
		if time.Now().After(end) {
			return took, engine.Unsupported("VACUUM could not remove %d of the deleted rows: a transaction on the server still "+
				"sees them", dead)
		}
		if err := pause(ctx, 10*time.Millisecond); err != nil {
			return took, err
		}
	}
}

// waitForPurge waits until InnoDB has removed deleted rows in the background. Its duration cannot be measured: the
// server reports how far it has read its undo log, not which rows its threads have removed.
func (b *Bench) waitForPurge(ctx context.Context, table string) error {
	ctx, cancel := context.WithTimeoutCause(ctx, purgeTimeout, errPurge)
	defer cancel()
	end, _, _, err := b.purge(ctx)
	if err != nil {
		return engine.Unsupported("the user may not read the status of InnoDB (GRANT PROCESS): %w", err)
	}
	for {
		_, done, history, err := b.purge(ctx)
		if err != nil {
			return err
		}
		if done >= end || history == 0 {
			break
		}
		if err := pause(ctx, 10*time.Millisecond); err != nil {
			return err
		}
	}
	for last := int64(-1); ; { // until the threads have processed what was read
		pages, err := b.pagesInUse(ctx, table)
		if err != nil || pages == last {
			return err
		}
		last = pages
		if err := pause(ctx, 100*time.Millisecond); err != nil {
			return err
		}
	}
}

var errPurge = engine.Unsupported("InnoDB has not removed the deleted rows within %v; a transaction on the server may "+
	"still see them",
	purgeTimeout)

// purge returns the number of the next transaction, the transaction up to which InnoDB has purged, and the length of
// its history list.
func (b *Bench) purge(ctx context.Context) (next, done, history int64, err error) {
	var kind, name, text string
	if err := b.DB().QueryRowContext(ctx, "SHOW ENGINE INNODB STATUS").Scan(&kind, &name, &text); err != nil {
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

func pause(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-time.After(d):
		return nil
	}
}
