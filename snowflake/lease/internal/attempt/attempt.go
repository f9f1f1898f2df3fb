// Package attempt lets a connection that a call of a store has begun to make outlive the call, for the next one.
package attempt

import (
	"context"
	"io"
	"time"
)

// connectTime bounds one try to connect: a server that goes away during the handshake never answers.
const connectTime = 5 * time.Second

// Calls are the calls of one lease, which come one after another.
type Calls struct {
	Life context.Context // ends with the lease

	opened chan opened        // brings the connection that is being made, or waits for a call; nil: there is none
	stop   context.CancelFunc // gives that up
}

type opened struct {
	conn io.Closer
	err  error
}

// call is what the context of a call knows.
type call struct {
	calls  *Calls
	parent context.Context
	length time.Duration
}

type callKey struct{}

// Begin returns the context of a call that may last for d.
func (c *Calls) Begin(parent context.Context, d time.Duration) (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.WithValue(parent, callKey{}, &call{c, parent, d}), d)
}

// Open is how to get a connection.
type Open func(ctx context.Context) (io.Closer, error)

type connKey struct{}

// Conn returns the connection that Connect has put into the context, or nil.
func Conn(ctx context.Context) any { return ctx.Value(connKey{}) }

// Connect waits for a connection. ctx comes from Begin. Connect returns a context that has the connection, and in which
// the call has its full time from now on, and a function that ends both. If ctx ends first, open continues, and the
// next call gets its result. A connection that no call takes is closed.
//
// Connect returns ctx itself, without a connection, if ctx is not from Begin, if the lease has ended, or if the store
// has an idle connection.
func Connect(ctx context.Context, idle bool, open Open) (context.Context, func(), error) {
	this, ok := ctx.Value(callKey{}).(*call)
	if !ok || this.calls.Life.Err() != nil {
		return ctx, func() {}, nil
	}

	calls := this.calls
	if idle {
		calls.drop()
		return ctx, func() {}, nil
	}
	if calls.opened == nil {
		var life context.Context
		life, calls.stop = context.WithCancel(calls.Life)
		calls.opened = make(chan opened)
		go keepOpening(life, open, calls.opened)
	}

	select {
	case o := <-calls.opened:
		calls.drop()
		if o.err != nil {
			return nil, nil, o.err
		}
		ctx, cancel := context.WithTimeout(context.WithValue(this.parent, connKey{}, o.conn), this.length)
		return ctx, func() { cancel(); _ = o.conn.Close() }, nil
	case <-ctx.Done():
		return nil, nil, ctx.Err()
	}
}

// drop gives up what no call has taken.
func (c *Calls) drop() {
	if c.opened != nil {
		c.stop()
		c.opened = nil
	}
}

// keepOpening makes a connection for the call that receives it, or closes it when ctx ends.
func keepOpening(ctx context.Context, open Open, to chan<- opened) {
	for {
		limited, cancel := context.WithTimeout(ctx, connectTime)
		conn, err := open(limited)
		tookTooLong := limited.Err() != nil && ctx.Err() == nil
		cancel()
		if err != nil && tookTooLong {
			continue
		}

		select {
		case to <- opened{conn, err}:
		case <-ctx.Done():
			if err == nil {
				_ = conn.Close() // back to its pool
			}
		}
		return
	}
}
