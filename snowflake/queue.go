package snowflake

import (
	"container/list"
	"context"
	"sync"
	"time"
)

const (
	// maxQueue is how much time above the lead waiting calls may have taken, including calls that gave up while others
	// waited behind them. A call that finds more taken waits for room before it takes anything.
	maxQueue = time.Second

	// queuePoll is how often such a call looks whether it was served, which happens about maxQueue before its IDs are due,
	// and whether the state was frozen, as when a lease is closed.
	queuePoll = 20 * time.Millisecond
)

// queue holds the calls that wait for room, in the order in which they came. Any of them serves the first ones when there
// is room; the lock is not held while a call waits or reads the clock.
type queue struct {
	mu      sync.Mutex
	waiting list.List // of *request
}

// request is a call that waits for room.
type request struct {
	reach  reach
	count  uint64
	first  state
	err    error
	served bool // first and err are set
}

// takeInTurn takes count states that may not be due yet, after the calls that wait for room already.
func (c *core) takeInTurn(ctx context.Context, r reach, now nanos, count uint64) (state, error) {
	q := &c.queue
	q.mu.Lock()
	defer q.mu.Unlock() // it is not held while the call sleeps
	if q.waiting.Len() == 0 && c.untilRoom(r.lead, now) <= 0 {
		first, _, err := c.step(r, now, count, true)
		return first, err
	}
	own := &request{reach: r, count: count}
	place := q.waiting.PushBack(own)
	for {
		left := c.serve(now)
		if own.served {
			return own.first, own.err
		}
		q.mu.Unlock()
		err := c.sleep(ctx, r.lead, min(left, queuePoll))
		if err == nil {
			now, err = c.read()
		}
		q.mu.Lock()
		switch {
		case err == nil:
			continue
		case !own.served:
			q.waiting.Remove(place)
		case own.err == nil:
			c.giveBack(own.first, own.first+state(count)-1)
		}
		return 0, err
	}
}

// serve takes the states of the first waiting calls while there is room, and returns how long it takes until there is
// room for the next one.
func (c *core) serve(now nanos) time.Duration {
	for {
		place := c.queue.waiting.Front()
		if place == nil {
			return 0
		}
		first := place.Value.(*request)
		if left := c.untilRoom(first.reach.lead, now); left > 0 {
			return left
		}
		first.first, _, first.err = c.step(first.reach, now, first.count, true)
		first.served = true
		c.queue.waiting.Remove(place)
	}
}

// untilRoom returns how long it takes until less than maxQueue is taken above the lead; not positive if it is so, or if
// the state is frozen.
func (c *core) untilRoom(lead ticks, now nanos) time.Duration {
	room := state(max(1, maxQueue/c.layout.tick)) << c.bits
	last := c.state.Load()
	if last == frozen || last <= room {
		return 0
	}
	return c.untilDue(lead, now, last-room)
}
