// Package proxy puts a network between a client and a server: it delays the traffic and counts how often the client
// waits for an answer.
package proxy

import (
	"io"
	"net"
	"sync/atomic"
	"time"
)

// Network forwards bytes. A request takes Delay/2 to the server, and its answer as long to the client; consecutive
// chunks are delayed together. It is safe for concurrent use.
type Network struct {
	Delay time.Duration
	trips atomic.Int64
}

// Trips returns the number of round trips on all connections: how often the client sent something after the server had
// its turn. The first bytes of a connection count as one.
func (n *Network) Trips() int64 { return n.trips.Load() }

// Connect returns a connection through the network to a server. When either side closes, the other is closed too.
func (n *Network) Connect(server net.Conn) net.Conn {
	client, inner := net.Pipe()
	asked := &atomic.Bool{} // the client was the last to send
	go n.pass(server, inner, func() {
		if !asked.Swap(true) {
			n.trips.Add(1)
		}
	})
	go n.pass(inner, server, func() { asked.Store(false) })

	return client
}

// chunk is the result of one Read, and when to forward it.
type chunk struct {
	bytes []byte
	due   time.Time
}

// pass forwards what one side sends until it ends, then closes the other side.
func (n *Network) pass(to io.WriteCloser, from io.Reader, arrived func()) {
	chunks := make(chan chunk, 1024)
	go func() {
		defer func() { _ = to.Close() }()

		for c := range chunks {
			wait(time.Until(c.due))
			if _, err := to.Write(c.bytes); err != nil {
				for range chunks { // so that the reader does not block forever
				}
				return
			}
		}
	}()
	defer close(chunks)

	for {
		buffer := make([]byte, 16<<10)
		size, err := from.Read(buffer)
		if size > 0 {
			arrived()
			chunks <- chunk{buffer[:size], time.Now().Add(n.Delay / 2)}
		}

		if err != nil {
			return
		}
	}
}
