package core

import (
	"container/list"
	"context"
	"time"
)

const (
	// maxAhead is how much time above the lead waiting calls may have taken, including calls that gave up while others
	// waited behind them. A call that finds more taken waits in a queue before it takes anything.
	maxAhead = time.Second

	// queuePoll is how often the first call of a queue looks whether there is room, also because IDs were given back,
	// and whether the state was frozen, as when a lease is closed. The others sleep until they are the first.
	queuePoll = 20 * time.Millisecond
)

// queue has the calls of one lead that wait for room, first come, first served. Calls of a longer lead have a queue of
// their own, since they have room earlier. The lock of the worker is not held while a call sleeps.
type queue struct {
	lead    Ticks
	waiting list.List // of *request
	count   uint64    // of all requests
}

// request is a call that waits for room. The call that finds room, mostly the first one, serves those behind it too.
type request struct {
	turn   chan struct{} // has an element when the request has become the first, as all do before they are served; or nil
	count  uint64
	first  state
	err    error
	served bool // first and err are set
	place  *list.Element
}

// takeInTurn takes count states that may not be due yet, after the calls of its lead that already wait for room. since
// is the monotonic time at which the call began to wait.
func (w *worker) takeInTurn(ctx context.Context, l *lead, now nanos, since time.Duration, count uint64) (state, error) {
	first, own, err := w.join(ctx, l, now, count)
	if own == nil {
		return first, err
	}
	if own.turn != nil {
		select {
		case <-own.turn:
		case <-ctx.Done():
			err = contextError(ctx)
		}
	}
	for err == nil {
		if now, err = w.read(); err != nil {
			break
		}
		left, served := w.look(l.ticks, own, now)
		if served {
			return own.first, own.err
		}
		err = w.sleep(ctx, l.ticks, min(left, queuePoll))
	}
	w.withdraw(l.ticks, own)
	w.observe(Wait{Took: w.elapsed() - since, Err: err})
	return 0, w.notDue(ctx, l.ticks, w.state.Load()+state(count), err)
}

// join takes the states if there is room and no call waits. Otherwise it puts a request into the queue and returns it,
// or an error if the call would be served too late: nobody would issue its IDs, and the calls behind it would be late.
func (w *worker) join(ctx context.Context, l *lead, now nanos, count uint64) (first state, own *request, err error) {
	w.queueLock.Lock()
	defer w.queueLock.Unlock()
	q := w.queueOf(l.ticks)
	if q.waiting.Len() == 0 && w.untilRoom(l.ticks, now) <= 0 {
		first, _, err = w.advance(l, now, count, true)
		return first, nil, err
	}
	if last := w.state.Load(); last != frozen {
		last = max(last+1, w.floor(now)) + state(q.count+count) - 1
		if err := w.checkDeadline(ctx, l.ticks, now, last); err != nil {
			return 0, nil, err
		}
	}
	own = &request{count: count}
	if !w.injected() { // such a clock may let time pass in its Sleep only, so each call sleeps by it as the first one does
		own.turn = make(chan struct{}, 1)
	}
	q.add(own)
	return 0, own, nil
}

// queueOf returns the queue of a lead.
func (w *worker) queueOf(lead Ticks) *queue {
	for _, q := range w.queues {
		if q.lead == lead {
			return q
		}
	}
	q := &queue{lead: lead}
	w.queues = append(w.queues, q)
	return q
}

// look serves the queues and reports whether own was served, or else after which time there is room for the first
// request of its queue.
func (w *worker) look(lead Ticks, own *request, now nanos) (left time.Duration, served bool) {
	w.queueLock.Lock()
	defer w.queueLock.Unlock()
	for _, q := range w.queues {
		if until := w.serve(q, now); q.lead == lead {
			left = until
		}
	}
	return left, own.served
}

// withdraw takes back a request, or gives back what it was served. Then the waiting calls are served, before a later
// call finds that it need not wait.
func (w *worker) withdraw(lead Ticks, own *request) {
	now, _ := w.read() // 0 on an error, at which there is no room; the waiting calls get it too
	w.queueLock.Lock()
	defer w.queueLock.Unlock()
	if !own.served {
		w.queueOf(lead).remove(own)
	} else if own.err == nil {
		w.giveBack(own.first, own.first+state(own.count)-1)
	}
	for _, q := range w.queues {
		w.serve(q, now)
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
func (w *worker) serve(q *queue, now nanos) time.Duration {
	for {
		front := q.waiting.Front()
		if front == nil {
			return 0
		}
		if left := w.untilRoom(q.lead, now); left > 0 {
			return left
		}
		first := front.Value.(*request)
		first.first, _, first.err = w.advance(&lead{ticks: q.lead}, now, first.count, true)
		first.served = true
		q.remove(first)
	}
}

// untilRoom returns how long it takes until less than maxAhead is taken above the lead; not positive if it is so, or if
// the state is frozen.
func (w *worker) untilRoom(lead Ticks, now nanos) time.Duration {
	room := state(max(1, maxAhead/w.space.Tick)) << w.bits
	last := w.state.Load()
	if last == frozen || last <= room {
		return 0
	}
	return w.untilDue(lead, now, last-room)
}
