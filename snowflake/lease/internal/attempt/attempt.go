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

// Connect waits for a connection, for a call with the context of Begin. It returns a context with the connection, in which
// the call has its whole time from now on, and what ends both. If ctx ends before, open goes on, and the next call gets
// what it returns. A connection that no call takes is closed when the lease ends.
//
// It returns ctx itself if that is not of Begin, and if there is an idle connection already.
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
	if calls.opening == nil {
		calls.opening = start(calls.Life, open)
	}

	select {
	case made := <-calls.opening.made:
		calls.drop()
		if made.err != nil {
			return nil, nil, made.err
		}
		ctx, cancel := context.WithTimeout(context.WithValue(this.parent, connKey{}, made.conn), this.length)
		return ctx, func() { cancel(); _ = made.conn.Close() }, nil
	case <-ctx.Done():
		return nil, nil, ctx.Err()
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

func start(life context.Context, open Open) *opening {
	ctx, stop := context.WithCancel(life)
	o := &opening{make(chan made), stop}
	go o.run(ctx, open)
	return o
}

func (o *opening) run(ctx context.Context, open Open) {
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
