package scenario

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"time"

	"github.com/sqlflake/sqlflake/benchmarks/storage/internal/engine"
)

// purgeTimeout is how long InnoDB may take to remove deleted rows. Other transactions of the server may delay it.
const purgeTimeout = 30 * time.Second

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
	for i, dst := range []*int64{&next, &done, &history} {
		found := purgeStatus[i].FindStringSubmatch(text)
		if found == nil {
			return 0, 0, 0, errors.New("the status of InnoDB has an unknown form")
		}
		if *dst, err = strconv.ParseInt(found[1], 10, 64); err != nil {
			return 0, 0, 0, fmt.Errorf("the status of InnoDB: %w", err)
		}
	}
	return next, done, history, nil
}

// purgeStatus matches the lines of the status that purge reads: https://mariadb.com/kb/en/show-engine-innodb-status/.
var purgeStatus = [3]*regexp.Regexp{
	regexp.MustCompile(`Trx id counter (\d+)`),
	regexp.MustCompile(`Purge done for trx's n:o < (\d+)`),
	regexp.MustCompile(`History list length (\d+)`),
}

func pause(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-time.After(d):
		return nil
	}
}

// pagesInUse counts the non-empty pages of the rows and the primary key; -1 if unknown. PostgreSQL's files do not
// shrink, so there it counts the pages of the key's index, without free pages.
func (b *Bench) pagesInUse(ctx context.Context, table string) (int64, error) {
	trees, err := b.Trees(ctx, table)
	if err != nil {
		return 0, err
	}
	switch b.Name() {
	case "postgres":
		return b.indexPages(ctx, trees)
	case "mariadb":
		return b.treePages(ctx, trees, "SELECT @@innodb_page_size")
	default:
		return b.treePages(ctx, trees, "PRAGMA page_size")
	}
}

func (b *Bench) treePages(ctx context.Context, trees []engine.Tree, pageSize string) (int64, error) {
	var size, total int64
	if err := b.DB().QueryRowContext(ctx, pageSize).Scan(&size); err != nil {
		return 0, err
	}
	for _, t := range trees {
		if t.Role != engine.Secondary {
			total += t.Bytes
		}
	}
	return total / size, nil
}

func (b *Bench) indexPages(ctx context.Context, trees []engine.Tree) (int64, error) {
	var schema string
	err := b.DB().QueryRowContext(ctx, `SELECT quote_ident(n.nspname) FROM pg_extension x
		JOIN pg_namespace n ON n.oid = x.extnamespace WHERE x.extname = 'pgstattuple'`).Scan(&schema)
	if errors.Is(err, sql.ErrNoRows) {
		return -1, nil // the engine has a note about it
	}
	if err != nil {
		return 0, err
	}
	var total int64
	for _, t := range trees {
		if t.Role != engine.Primary {
			continue
		}
		var pages int64
		err := b.DB().QueryRowContext(ctx, `SELECT internal_pages + leaf_pages FROM `+schema+`.pgstatindex($1)`,
			t.Name).Scan(&pages)
		if err != nil {
			return 0, err
		}
		total += pages
	}
	return total, nil
}
