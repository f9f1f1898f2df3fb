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

	// queuePoll is how often the first of these calls looks whether there is room, also because IDs were given back, and
	// whether the state was frozen, as when a lease is closed. The others sleep until they are the first.
	queuePoll = 20 * time.Millisecond
)

// queue has the calls of one lead that wait for room, in the order in which they came. Calls of a longer lead have a
// queue of their own, since they have room earlier. The lock of the core is not held while a call sleeps.
type queue struct {
	lead    ticks
	waiting list.List // of *request
	count   uint64    // that the requests want in all
}

// request is a call that waits for room. The call that finds room, mostly the first one, serves those behind it too.
type request struct {
	turn   chan struct{} // has an element when the request has become the first, as all do before they are served; nil: not needed
	count  uint64
	first  state
	err    error
	served bool // first and err are set
	place  *list.Element
}

// takeInTurn takes count states that may not be due yet, after the calls of its lead that wait for room already. The call
// waits since the elapsed time since.
func (c *core) takeInTurn(ctx context.Context, r reach, now nanos, since time.Duration, count uint64) (state, error) {
	first, own, err := c.join(ctx, r, now, count)
	if own == nil {
		return first, err
	}
	if own.turn != nil {
		select {
		case <-own.turn:
		case <-ctx.Done():
			err = waitError(ctx)
		}
	}
	for err == nil {
		if now, err = c.read(); err != nil {
			break
		}
		left, served := c.look(r, own, now)
		if served {
			return own.first, own.err
		}
		err = c.sleep(ctx, r.lead, min(left, queuePoll))
	}
	c.withdraw(r, own)
	c.observers.observe(OpWait, c.elapsed()-since, err)
	return 0, c.notDue(ctx, r.lead, c.state.Load()+state(count), err)
}

// join takes the states if there is room and no call waits. Otherwise it puts a request into the queue and returns it.
// A call that would be served too late gets an error: if it waited, nobody would issue its IDs, and the calls behind it
// would be late too.
func (c *core) join(ctx context.Context, r reach, now nanos, count uint64) (first state, own *request, err error) {
	c.queueLock.Lock()
	defer c.queueLock.Unlock()
	q := c.queueOf(r.lead)
	if q.waiting.Len() == 0 && c.untilRoom(r.lead, now) <= 0 {
		first, _, err = c.reserve(r, now, count, true)
		return first, nil, err
	}
	if last := c.state.Load(); last != frozen {
		last = max(last+1, c.floor(now)) + state(q.count+count) - 1
		if err := c.checkDeadline(ctx, r.lead, now, last); err != nil {
			return 0, nil, err
		}
	}
	own = &request{count: count}
	if !c.injected() { // such a clock may let time pass in its Sleep only, so each call sleeps by it as the first one does
		own.turn = make(chan struct{}, 1)
	}
	q.add(own)
	return 0, own, nil
}

// queueOf returns the queue of a lead.
func (c *core) queueOf(lead ticks) *queue {
	for _, q := range c.queues {
		if q.lead == lead {
			return q
		}
	}
	q := &queue{lead: lead}
	c.queues = append(c.queues, q)
	return q
}

// look serves the queues and reports whether own was served, or else after which time there is room for the first
// request of its queue.
func (c *core) look(r reach, own *request, now nanos) (left time.Duration, served bool) {
	c.queueLock.Lock()
	defer c.queueLock.Unlock()
	for _, q := range c.queues {
		if until := c.serve(q, now); q.lead == r.lead {
			left = until
		}
	}
	return left, own.served
}

// withdraw takes back a request, or gives back what it was served. Then the waiting calls are served, before a later call
// finds that it need not wait.
func (c *core) withdraw(r reach, own *request) {
	now, _ := c.read() // 0 on an error, at which there is no room; the waiting calls get it too
	c.queueLock.Lock()
	defer c.queueLock.Unlock()
	if !own.served {
		c.queueOf(r.lead).remove(own)
	} else if own.err == nil {
		c.giveBack(own.first, own.first+state(own.count)-1)
	}
	for _, q := range c.queues {
		c.serve(q, now)
	}
}

func (q *queue) add(r *request) {
	r.place = q.waiting.PushBack(r)
	q.count += r.count
	q.wakeFirst()
}

func (q *queue) remove(r *request) {
	q.waiting.Remove(r.place)
	q.count -= r.count
	q.wakeFirst()
}

// wakeFirst wakes the first request, which may be awake already.
func (q *queue) wakeFirst() {
	if front := q.waiting.Front(); front != nil {
		select {
		case front.Value.(*request).turn <- struct{}{}:
		default:
		}
	}
}

// serve takes the states of the first requests while there is room, and returns how long it takes until there is room
// for the next one.
func (c *core) serve(q *queue, now nanos) time.Duration {
	for {
		front := q.waiting.Front()
		if front == nil {
			return 0
		}
		if left := c.untilRoom(q.lead, now); left > 0 {
			return left
		}
		first := front.Value.(*request)
		first.first, _, first.err = c.reserve(reach{lead: q.lead}, now, first.count, true)
		first.served = true
		q.remove(first)
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
