// Package attempt lets a connection that a call of a store has begun to make outlive the call, for the next one.
package attempt

import (
	"context"
	"io"
	"time"
)

// connectTime bounds one try to connect. A server may never answer, as one that went away during the handshake.
const connectTime = 5 * time.Second

// Calls are the calls of one lease, which come one after another.
type Calls struct {
	Life    context.Context // ends with the lease
	opening *opening        // what no call has taken yet
}

// call is what the context of a call knows.
type call struct {
	calls  *Calls
	parent context.Context
	length time.Duration
}

type key struct{}

// Begin returns the context of a call that may last for d.
func (c *Calls) Begin(parent context.Context, d time.Duration) (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.WithValue(parent, key{}, &call{c, parent, d}), d)
}

// Connect returns the connection that open makes, for a call with the context of Begin, and a context in which the call
// has its whole time after that. If ctx ends before, open goes on, and the next call gets what it returns. A connection
// that no call takes is closed when the lease ends.
//
// Without such a context, and if idle says that there is a connection already, it returns ctx alone.
func Connect(
	ctx context.Context, idle bool, open func(ctx context.Context) (io.Closer, error),
) (io.Closer, context.Context, context.CancelFunc, error) {
	this, ok := ctx.Value(key{}).(*call)
	if !ok || this.calls.Life.Err() != nil {
		return nil, ctx, func() {}, nil
	}

	calls := this.calls
	if idle {
		calls.drop()
		return nil, ctx, func() {}, nil
	}
	if calls.opening == nil {
		calls.opening = start(calls.Life, open)
	}

	select {
	case made := <-calls.opening.made:
		calls.drop()
		ctx, cancel := context.WithTimeout(this.parent, this.length)
		return made.conn, ctx, cancel, made.err
	case <-ctx.Done():
		return nil, ctx, func() {}, ctx.Err()
	}
}

// drop gives up what is being opened, unless a call has taken it.
func (c *Calls) drop() {
	if c.opening != nil {
		c.opening.stop()
		c.opening = nil
	}
}

// opening is a connection that is being made in the background, and then waits for the call that takes it.
type opening struct {
	made chan made
	stop context.CancelFunc
}

type made struct {
	conn io.Closer
	err  error
}

func start(life context.Context, open func(ctx context.Context) (io.Closer, error)) *opening {
	ctx, stop := context.WithCancel(life)
	o := &opening{make(chan made), stop}
	go o.run(ctx, open)
	return o
}

func (o *opening) run(ctx context.Context, open func(ctx context.Context) (io.Closer, error)) {
	for {
		limited, cancel := context.WithTimeout(ctx, connectTime)
		conn, err := open(limited)
		tooLong := limited.Err() != nil
		cancel()
		if err != nil && tooLong && ctx.Err() == nil {
			continue
		}

		select {
		case o.made <- made{conn, err}:
		case <-ctx.Done():
			if err == nil {
				_ = conn.Close() // back to its pool
			}
		}
		return
	}
}
