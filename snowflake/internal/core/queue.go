package core

import (
	"container/list"
	"context"
	"errors"
	"fmt"
	"runtime"
	"time"
)

const (
	// maxAhead is how much time above the lead waiting calls may have taken, including calls that gave up while others
	// waited behind them. A call that finds more taken waits in a queue before it takes anything.
	maxAhead = time.Second

	// queuePoll is how often the first call of a queue checks whether there is room, such as after IDs were given back,
	// and whether the state was frozen, as when a lease is closed. The others sleep until they are the first.
	queuePoll = 20 * time.Millisecond

	// sleepGrain is the shortest sleep that Go manages on Linux, whatever shorter time is requested.
	sleepGrain = 1200 * time.Microsecond
)

// queue has the calls of one lead that wait for room, first come, first served. Calls of a longer lead have a queue of
// their own, since they have room earlier. The lock of the worker is not held while a call sleeps.
type queue struct {
	lead    Ticks
	waiting list.List // of *request
	count   uint64    // of all requests
}

// request is a call that waits for room. The call that finds room, mostly the first one, serves the calls behind it.
type request struct {
	turn   chan struct{} // has an element once the request is the first, as each is before it is served; or nil
	count  uint64
	first  state
	err    error
	served bool // first and err are set
	place  *list.Element
}

// take takes count states, at most l.states+1, and returns the first of them when all are due. On an error it has taken
// none, or they are never issued. With errBeyond it returns the state that is beyond the limit.
func (w *worker) take(ctx context.Context, l *lead, now nanos, count uint64) (state, error) {
	first, early, err := w.advance(l, now, count, false)
	if err != nil || !early {
		return first, err
	}
	if w.inOtherBubble() {
		return 0, errForeignClock
	}

	// The clock was read before the state, and perhaps long before if the goroutine was paused.
	start, err := w.read()
	if err != nil {
		return 0, err
	}

	since := w.elapsed()
	if first, err = w.takeInTurn(ctx, l, start, since, count); err != nil {
		return first, err
	}

	last := first + state(count) - 1
	if err := w.wait(ctx, l.ticks, last, since); err != nil {
		w.withdraw(l.ticks, &request{first: first, count: count, served: true})
		return 0, err
	}

	return first, nil
}

// takeInTurn takes count states that may not be due yet, after the calls of its lead that already wait for room. since
// is the monotonic time at which the call began to wait.
func (w *worker) takeInTurn(ctx context.Context, l *lead, now nanos, since time.Duration, count uint64) (state, error) {
	first, own, err := w.join(ctx, l, now, count)
	if own == nil {
		return first, err
	}

	if err = w.awaitRoom(ctx, l.ticks, own); err == nil {
		return own.first, own.err
	}

	w.withdraw(l.ticks, own)
	w.observe(Wait{Took: w.elapsed() - since, Err: err})
	return 0, w.notDue(ctx, l.ticks, w.state.Load()+state(count), err)
}

// awaitRoom returns nil when own has been served: by this call, or by one that stood before it.
func (w *worker) awaitRoom(ctx context.Context, lead Ticks, own *request) error {
	if own.turn != nil {
		select {
		case <-own.turn:
		case <-ctx.Done():
			return contextError(ctx)
		}
	}

	for {
		now, err := w.read()
		if err != nil {
			return err
		}

		left, served := w.serveAll(lead, own, now)
		if served {
			return nil
		}
		if err := w.sleep(ctx, lead, min(left, queuePoll)); err != nil {
			return err
		}
	}
}

// join takes the states if there is room and no call waits. Otherwise it puts a request into the queue and returns it,
// or an error if the call would be served too late: its IDs would be lost, and the calls behind it would wait for them.
func (w *worker) join(ctx context.Context, l *lead, now nanos, count uint64) (first state, own *request, err error) {
	w.queueLock.Lock()
	defer w.queueLock.Unlock()

	q := w.queueOf(l.ticks)
	if last := w.state.Load(); last != frozen {
		last = max(last+1, w.floor(now)) + state(q.count+count) - 1
		if err := w.checkDeadline(ctx, l.ticks, now, last); err != nil {
			return 0, nil, err
		}
	}

	if q.waiting.Len() == 0 && w.untilRoom(l.ticks, now) <= 0 {
		first, _, err = w.advance(l, now, count, true)
		return first, nil, err
	}

	own = &request{count: count}
	if !w.injected() { // such a clock may let time pass in its Sleep only, so each call sleeps by it
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

// serveAll serves the queues and reports whether own was served, or else after which time there is room for the first
// request of its queue.
func (w *worker) serveAll(lead Ticks, own *request, now nanos) (left time.Duration, served bool) {
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
	now, _ := w.read() // 0 on an error: then there is no room, and the waiting calls get the error as well

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

// wait returns when the state is due. If it has to wait, it counts a wait that began at since, a monotonic time. A step
// back of the wall clock changes nothing; after a step forward the wait ends within a second.
func (w *worker) wait(ctx context.Context, lead Ticks, s state, since time.Duration) error {
	now, err := w.read()
	if err != nil {
		return err
	}

	left := w.untilDue(lead, now, s)
	if left <= 0 {
		return nil
	}

	for ; left > 0; left = w.untilDue(lead, now, s) {
		// Not longer than a second, to notice that the wall clock is ahead.
		if err = w.sleep(ctx, lead, min(left, time.Duration(resyncEvery))); err == nil {
			now, err = w.read()
		}
		if err != nil {
			w.observe(Wait{Took: w.elapsed() - since, Err: err})
			return w.notDue(ctx, lead, s, err)
		}
	}

	took := w.elapsed() - since
	w.waits.Add(1)
	w.waited.Add(int64(took))
	w.observe(Wait{Took: took})

	return nil
}

// checkDeadline returns an error if the state is due only after the deadline of ctx.
func (w *worker) checkDeadline(ctx context.Context, lead Ticks, now nanos, s state) error {
	deadline, ok := ctx.Deadline()
	if !ok || w.injected() { // the deadline is a time of the system clock
		return nil
	}

	left := w.untilDue(lead, now, s)
	if left <= 0 || time.Until(deadline) >= left {
		return nil
	}
	return w.dueError(left, context.DeadlineExceeded)
}

// notDue adds the time until the state is due to the error of a wait that ctx has ended. A worker whose state is at or
// above frozen issues nothing more.
func (w *worker) notDue(ctx context.Context, lead Ticks, s state, err error) error {
	if !errors.Is(err, ctx.Err()) || s >= frozen {
		return err
	}

	if left := w.untilDue(lead, w.now(), s); left > 0 {
		return w.dueError(left, err)
	}
	return err
}

// sleep waits for about d. A sleep takes sleepGrain or longer, which the lead makes up for. A generator with a short
// lead would lose most of its rate, so it yields its processor instead of sleeping when d is short.
func (w *worker) sleep(ctx context.Context, lead Ticks, d time.Duration) error {
	if ctx.Err() != nil { // for clocks whose Sleep ignores ctx
		return contextError(ctx)
	}

	overshoots := d < sleepGrain && w.span(lead) < 2*sleepGrain
	if w.clock == nil && overshoots {
		runtime.Gosched()
		return nil
	}

	if err := w.anyClock().Sleep(ctx, d); err != nil {
		if ctx.Err() == nil {
			return fmt.Errorf("snowflake: waiting for the clock: %w", err)
		}
		return contextError(ctx)
	}

	return nil
}

// contextError returns the error of a call whose context has ended.
func contextError(ctx context.Context) error {
	err, cause := ctx.Err(), context.Cause(ctx)

	if errors.Is(cause, err) {
		return fmt.Errorf("snowflake: no ID yet: %w", cause)
	}
	return fmt.Errorf("snowflake: no ID yet: %w: %w", err, cause)
}
