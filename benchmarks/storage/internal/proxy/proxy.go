// Package proxy puts a network between a client and a server: it delays the traffic and counts how often the client
// waits for an answer.
package proxy

import (
	"context"
	"errors"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"time"
)

// Proxy forwards bytes. It is safe for concurrent use.
type Proxy struct {
	delay    time.Duration
	listener net.Listener
	target   func(ctx context.Context) (net.Conn, error)
	trips    atomic.Int64

	ctx    context.Context
	cancel context.CancelFunc
	all    sync.WaitGroup
}

// Listen starts a proxy on a local port. A request takes delay/2 to the server, and its answer as long to the client;
// consecutive chunks are delayed together. target connects to the server. Close ends the proxy; ctx does not.
func Listen(delay time.Duration, target func(ctx context.Context) (net.Conn, error)) (*Proxy, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	p := &Proxy{delay: delay, listener: listener, target: target}
	p.ctx, p.cancel = context.WithCancel(context.Background())
	p.all.Go(p.accept)
	return p, nil
}

// Dial connects to the server through the proxy.
func (p *Proxy) Dial(ctx context.Context) (net.Conn, error) {
	var d net.Dialer
	return d.DialContext(ctx, "tcp", p.listener.Addr().String())
}

// Trips returns the number of round trips on all connections: how often the client sent something after the server had
// its turn. The first bytes of a connection count as one.
func (p *Proxy) Trips() int64 { return p.trips.Load() }

// Close ends all connections and waits until all goroutines have ended.
func (p *Proxy) Close() error {
	p.cancel()
	err := p.listener.Close()
	p.all.Wait()
	return err
}

func (p *Proxy) accept() {
	for {
		client, err := p.listener.Accept()
		if err != nil {
			if errors.Is(err, net.ErrClosed) {
				return
			}
			continue // of one connection; its client sees the error
		}
		p.all.Go(func() { p.serve(client) })
	}
}

func (p *Proxy) serve(client net.Conn) {
	defer client.Close()
	server, err := p.target(p.ctx)
	if err != nil {
		return // the client sees a closed connection
	}
	defer server.Close()
	stop := context.AfterFunc(p.ctx, func() { _ = client.Close(); _ = server.Close() })
	defer stop()
	asked := &atomic.Bool{} // the client was the last to send
	var both sync.WaitGroup
	both.Go(func() {
		p.pass(server, client, func() {
			if !asked.Swap(true) {
				p.trips.Add(1)
			}
		})
	})
	both.Go(func() { p.pass(client, server, func() { asked.Store(false) }) })
	both.Wait()
}

// chunk is the result of one Read and the time at which it is forwarded.
type chunk struct {
	bytes []byte
	due   time.Time
}

// pass forwards what one side sends until it ends, then closes the other side.
func (p *Proxy) pass(to io.WriteCloser, from io.Reader, arrived func()) {
	chunks := make(chan chunk, 1024)
	p.all.Go(func() {
		defer func() { _ = to.Close() }()
		for c := range chunks {
			wait(time.Until(c.due))
			if _, err := to.Write(c.bytes); err != nil {
				for range chunks { // so that the reader does not block forever
				}
				return
			}
		}
	})
	defer close(chunks)
	for {
		buffer := make([]byte, 16<<10)
		n, err := from.Read(buffer)
		if n > 0 {
			arrived()
			chunks <- chunk{buffer[:n], time.Now().Add(p.delay / 2)}
		}
		if err != nil {
			return
		}
	}
}
