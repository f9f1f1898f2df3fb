package snowflake

import (
	"container/list"
	"context"
	"sync"
)

// queue gives turns to calls in the order in which they enter. No lock is held while a call waits for its turn or has it.
type queue struct {
	mu      sync.Mutex
	busy    bool      // a call has the turn
	waiting list.List // of chan struct{}, one for each waiting call, closed when it gets the turn
}

// idle reports whether no call has the turn, so none waits for it.
func (q *queue) idle() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return !q.busy
}

// enter returns when the call has the turn; it must then call leave. On an error, that of a context that ended, the call
// is out of the queue.
func (q *queue) enter(ctx context.Context) error {
	q.mu.Lock()
	if !q.busy {
		q.busy = true
		q.mu.Unlock()
		return nil
	}
	turn := make(chan struct{})
	place := q.waiting.PushBack(turn)
	q.mu.Unlock()
	select {
	case <-turn:
		return nil
	case <-ctx.Done():
	}
	q.mu.Lock()
	select {
	case <-turn: // at the same time as the context ended
		q.next()
	default:
		q.waiting.Remove(place)
	}
	q.mu.Unlock()
	return waitError(ctx)
}

// leave gives the turn to the next call.
func (q *queue) leave() {
	q.mu.Lock()
	q.next()
	q.mu.Unlock()
}

func (q *queue) next() {
	first := q.waiting.Front()
	if first == nil {
		q.busy = false
		return
	}
	close(q.waiting.Remove(first).(chan struct{}))
}
