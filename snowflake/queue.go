package snowflake

import (
	"container/list"
	"context"
	"time"
)

const (
	// maxQueue is how much time above the lead waiting calls may have taken, including calls that gave up while others
	// waited behind them. A call that finds more taken waits for room before it takes anything.
	maxQueue = time.Second

	// queuePoll is how often such a call looks whether it was served, which happens about maxQueue before its IDs are
	// due, and whether the state was frozen, as when a lease is closed.
	queuePoll = 20 * time.Millisecond
)

// request is a call that waits for room. The core's queue has them in the order in which they came. Any of them serves
// the first ones when there is room; the lock is not held while a call sleeps or reads the clock.
type request struct {
	reach  reach
	count  uint64
	first  state
	err    error
	served bool // first and err are set
	place  *list.Element
}

// takeInTurn takes count states that may not be due yet, after the calls that wait for room already.
func (c *core) takeInTurn(ctx context.Context, r reach, now nanos, count uint64) (state, error) {
	first, own, err := c.join(r, now, count)
	if own == nil {
		return first, err
	}
	for {
		left, served := c.look(own, now)
		if served {
			return own.first, own.err
		}
		err := c.sleep(ctx, r.lead, min(left, queuePoll))
		if err == nil {
			now, err = c.read()
		}
		if err != nil {
			c.withdraw(own)
			return 0, err
		}
	}
}

// join takes the states if there is room and no call waits, or else puts the request into the queue and returns it.
func (c *core) join(r reach, now nanos, count uint64) (first state, own *request, err error) {
	c.queueLock.Lock()
	defer c.queueLock.Unlock()
	if c.queue.Len() == 0 && c.untilRoom(r.lead, now) <= 0 {
		first, _, err = c.step(r, now, count, true)
		return first, nil, err
	}
	own = &request{reach: r, count: count}
	own.place = c.queue.PushBack(own)
	return 0, own, nil
}

// look serves the queue and reports whether own was served, or else after which time there is room for the first
// request.
func (c *core) look(own *request, now nanos) (left time.Duration, served bool) {
	c.queueLock.Lock()
	defer c.queueLock.Unlock()
	left = c.serve(now)
	return left, own.served
}

// withdraw takes back a request, or what it was served.
func (c *core) withdraw(own *request) {
	c.queueLock.Lock()
	defer c.queueLock.Unlock()
	if !own.served {
		c.queue.Remove(own.place)
	} else if own.err == nil {
		c.giveBack(own.first, own.first+state(own.count)-1)
	}
}

// serve takes the states of the first waiting calls while there is room, and returns how long it takes until there is
// room for the next one.
func (c *core) serve(now nanos) time.Duration {
	for {
		front := c.queue.Front()
		if front == nil {
			return 0
		}
		first := front.Value.(*request)
		if left := c.untilRoom(first.reach.lead, now); left > 0 {
			return left
		}
		first.first, _, first.err = c.step(first.reach, now, first.count, true)
		first.served = true
		c.queue.Remove(front)
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
