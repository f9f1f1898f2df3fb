//go:build unix && !race

package enginetest

import (
	"math/rand/v2"
	"net"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sqlflake/sqlflake/snowflake/lease"
	"github.com/sqlflake/sqlflake/snowflake/lease/internal/processtest"
)

// cutter is between clients and a server, and cuts connections.
type cutter struct {
	harm atomic.Bool
	cuts atomic.Int64
}

// between returns the address of a cutter in front of the address.
func (x *cutter) between(t *testing.T, addr string) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() }) // ends the goroutine
	go func() {
		for {
			client, err := listener.Accept()
			if err != nil {
				return
			}
			server, err := net.Dial("tcp", addr)
			if err != nil {
				_ = client.Close() // the client sees it
				continue
			}
			go x.forward(client, server)
			go x.forward(server, client)
		}
	}()
	return listener.Addr().String()
}

// forward cuts both directions at random: a request that never arrived looks to the client like a reply that was lost.
func (x *cutter) forward(to, from net.Conn) {
	defer to.Close()
	defer from.Close()
	buffer := make([]byte, 1<<16)
	for {
		n, err := from.Read(buffer)
		if err != nil {
			return
		}
		if x.harm.Load() {
			switch rand.N(40) {
			case 0:
				x.cuts.Add(1)
				return
			case 1:
				time.Sleep(rand.N(150 * time.Millisecond))
			case 2:
				n = rand.N(n) // a part arrives
				_, _ = to.Write(buffer[:n])
				x.cuts.Add(1)
				return
			}
		}
		if _, err := to.Write(buffer[:n]); err != nil {
			return
		}
	}
}

func cutConnections(t *testing.T, e engine) {
	p := e.newPlace(t)
	x := &cutter{}
	far := p
	far.Addrs = nil
	for _, addr := range p.Addrs {
		far.Addrs = append(far.Addrs, x.between(t, addr))
	}
	o := processtest.Order{Place: far.String(), First: 0, Last: 3, Window: 500 * time.Millisecond}
	x.harm.Store(true) // also while they start
	processes := []*processtest.Process{processtest.MustStart(t, o), processtest.MustStart(t, o)}
	enough := int64(processtest.Scale(20, 100))
	processtest.Eventually(t, "cuts", func() bool { return x.cuts.Load() >= enough }, processes...)
	x.harm.Store(false)
	for _, q := range processes {
		count, extended := q.Count(), len(q.Noted(lease.Extended))
		processtest.Eventually(t, "more IDs and extensions", func() bool {
			return q.HasEnded() || q.Count() > count+100 && len(q.Noted(lease.Extended)) > extended+1
		}, q)
		if err := q.Finish(); err != nil {
			t.Error(err)
		}
	}
	processtest.TakeCensus(processes).Check(t, p.store(t))
	t.Logf("%d cuts", x.cuts.Load())
}
