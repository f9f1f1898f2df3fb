package main

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"gorm.io/gorm"

	"github.com/sqlflake/sqlflake/gormplugin"
	"github.com/sqlflake/sqlflake/snowflake"
	"github.com/sqlflake/sqlflake/sqltypes/settled"
)

const (
	writers = 6
	pause   = 10 * time.Millisecond // of a reader
	page    = 100                   // rows
)

// OutboxEvent is what a transaction leaves for the readers.
type OutboxEvent struct {
	ID  snowflake.ID
	Run snowflake.ID `gorm:"not null"` // the program that wrote it
}

// trial is one run of the program.
type trial struct {
	db       *gorm.DB
	run      snowflake.ID  // below all keys that it writes
	duration time.Duration // of writing
	late     time.Duration // the longest that a transaction waits before it commits
	margin   time.Duration
}

// result counts rows.
type result struct {
	written, newest, bounded int
	slowest                  settled.Bound
}

// do writes, reads at the same time in both ways, and returns when the bound has passed the last row.
func (t trial) do(ctx context.Context) (result, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var res result
	var written atomic.Int64
	var writing, reading sync.WaitGroup
	done := make(chan struct{}) // nothing is written any more

	end := time.Now().Add(t.duration)
	for range writers {
		writing.Go(func() {
			for time.Now().Before(end) && ctx.Err() == nil {
				n, err := t.write(ctx)
				if err != nil {
					cancel(err)
				}
				written.Add(int64(n))
			}
		})
	}
	reading.Go(func() {
		last := t.run
		for more := true; more && ctx.Err() == nil; more = !isClosed(done) {
			n, err := t.read(ctx, &last, math.MaxInt64)
			if err != nil {
				cancel(err)
			}
			res.newest += n
		}
	})
	reading.Go(func() {
		last := t.run
		for end := snowflake.ID(0); ctx.Err() == nil; {
			var err error
			if end == 0 && isClosed(done) {
				end, err = t.newest(ctx)
			}
			bound, errBound := gormplugin.Settled(ctx, t.db, &OutboxEvent{}, settled.WithMargin(t.margin)) // first
			if isLocked(errBound) {
				continue
			}
			n, errRead := t.read(ctx, &last, bound.Below) // then
			if err := errors.Join(err, errBound, errRead); err != nil {
				cancel(err)
			}
			res.bounded += n
			if bound.Lag > res.slowest.Lag {
				res.slowest = bound
			}
			if end > 0 && bound.Below > end {
				return
			}
		}
	})
	writing.Wait()
	close(done)
	reading.Wait()
	res.written = int(written.Load())
	return res, context.Cause(ctx)
}

// write inserts some rows in a transaction, and returns how many it has committed. One in eight commits late.
func (t trial) write(ctx context.Context) (int, error) {
	n := 1 + rand.N(8)
	err := t.db.WithContext(ctx).Transaction(func(tx *gorm.DB) error {
		for i := range n {
			if err := tx.Create(&OutboxEvent{Run: t.run}).Error; err != nil {
				return err
			}
			if i == 0 && rand.N(8) == 0 {
				time.Sleep(rand.N(t.late))
			}
		}
		return nil
	})
	if isLocked(err) {
		return 0, nil // rolled back
	}
	if err != nil {
		return 0, err
	}
	return n, nil
}

// read counts the rows after the last one and below a bound, and moves the last one.
func (t trial) read(ctx context.Context, last *snowflake.ID, below snowflake.ID) (n int, err error) {
	for {
		var events []OutboxEvent
		next := gormplugin.Page{After: *last, Limit: page}
		err := t.db.WithContext(ctx).Where("run = ? AND id < ?", t.run, below).Clauses(next).Find(&events).Error
		if err != nil {
			return n, err
		}
		n += len(events)
		if len(events) > 0 {
			*last = events[len(events)-1].ID
		}
		if len(events) < page {
			time.Sleep(pause)
			return n, nil
		}
	}
}

// newest returns the greatest key of the run.
func (t trial) newest(ctx context.Context) (snowflake.ID, error) {
	var last OutboxEvent
	err := t.db.WithContext(ctx).Where("run = ?", t.run).Clauses(gormplugin.Page{Limit: 1, Desc: true}).Find(&last).Error
	return max(last.ID, t.run), err
}

// isLocked reports whether SQLite's busy timeout has passed.
func isLocked(err error) bool {
	return err != nil && strings.Contains(err.Error(), "database is locked")
}

func isClosed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}
