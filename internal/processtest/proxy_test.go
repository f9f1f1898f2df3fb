package processtest

import (
	"bytes"
	"cmp"
	"database/sql"
	"log/slog"
	"math/rand/v2"
	"net"
	"net/url"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"

	"github.com/sqlflake/sqlflake/snowflake/lease"
	"github.com/sqlflake/sqlflake/snowflake/lease/sqllease"
)

// proxy is between issuers and their database, and harms connections.
type proxy struct {
	network, address string // of the database
	listener         net.Listener
	committed        func(reply []byte) bool

	harm   atomic.Bool  // now and then
	gone   atomic.Bool  // refuses everything
	late   atomic.Int64 // a time.Duration, after which a connection reaches the database
	turn   atomic.Int64
	faults faultCounts

	mu    sync.Mutex
	links map[*link]bool
	ended bool
	wait  sync.WaitGroup
}

// faultCounts counts each kind of harm.
type faultCounts struct {
	cut       atomic.Int64 // both directions closed, in the middle of a call
	unheard   atomic.Int64 // closed after the database has committed, before the reply
	half      atomic.Int64 // the database sees the end, the client does not
	swallowed atomic.Int64 // nothing comes through any more, and nothing is closed
	delayed   atomic.Int64
	refused   atomic.Int64 // while the database is down
}

// link is a client's connection and its connection to the database.
type link struct{ client, server net.Conn }

func (l *link) close() {
	_ = l.client.Close() // the other side may have been faster
	_ = l.server.Close()
}

// through returns a proxy to the place's database, and the place as clients reach it through the proxy.
func through(t *testing.T, p place) (*proxy, place) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	x := &proxy{listener: listener, links: map[*link]bool{}}
	if p.Kind == "mariadb" {
		config, err := mysql.ParseDSN(p.DSN)
		must(t, err)
		x.network, x.address, x.committed = config.Net, config.Addr, mysqlCommitted
		config.Net, config.Addr = "tcp", listener.Addr().String()
		p.DSN = config.FormatDSN()
	} else {
		u, err := url.Parse(p.DSN)
		must(t, err)
		x.committed = postgresCommitted
		x.network, x.address = "tcp", net.JoinHostPort(u.Hostname(), cmp.Or(u.Port(), "5432"))
		query := u.Query()
		if folder := query.Get("host"); u.Hostname() == "" && folder != "" {
			x.network, x.address = "unix", filepath.Join(folder, ".s.PGSQL."+cmp.Or(query.Get("port"), "5432"))
		}

		query.Del("host")
		query.Del("port")
		u.Host, u.RawQuery = listener.Addr().String(), query.Encode()
		p.DSN = u.String()
	}

	x.wait.Go(x.accept)
	t.Cleanup(func() {
		_ = listener.Close() // ends accept
		x.mu.Lock()
		x.ended = true
		x.mu.Unlock()
		x.closeAll()
		x.wait.Wait()
	})

	return x, p
}

func (x *proxy) accept() {
	for {
		client, err := x.listener.Accept()
		if err != nil {
			return
		}
		if x.gone.Load() {
			x.faults.refused.Add(1)
			_ = client.Close() // that is the harm
			continue
		}
		x.wait.Go(func() { x.connect(client) })
	}
}

// connect leads a client to the database.
func (x *proxy) connect(client net.Conn) {
	time.Sleep(time.Duration(x.late.Load()))
	server, err := net.Dial(x.network, x.address)
	if err != nil {
		_ = client.Close() // the client sees it
		return
	}

	l := &link{client, server}
	x.mu.Lock()
	if x.ended || x.gone.Load() { // since accept has looked
		l.close()
	}
	x.links[l] = true
	x.mu.Unlock()

	x.wait.Go(func() { x.requests(l) })
	x.wait.Go(func() { x.replies(l) })
}

// closeAll cuts all connections and returns how many there were.
func (x *proxy) closeAll() int {
	x.mu.Lock()
	defer x.mu.Unlock()
	n := len(x.links)
	for l := range x.links {
		l.close()
	}
	clear(x.links)
	return n
}

func (x *proxy) drop(l *link) {
	l.close()
	x.mu.Lock()
	delete(x.links, l)
	x.mu.Unlock()
}

// requests forwards from the client.
func (x *proxy) requests(l *link) {
	defer x.drop(l)
	buffer := make([]byte, 1<<16)
	swallow := false
	for {
		n, err := l.client.Read(buffer)
		if err != nil {
			return
		}

		if x.harm.Load() && !swallow && rand.N(12) == 0 {
			switch x.turn.Add(1) % 4 { // so that each kind comes soon
			case 0:
				x.faults.cut.Add(1)
				return

			case 1:
				x.faults.swallowed.Add(1)
				swallow = true

			case 2:
				if half, ok := l.server.(interface{ CloseWrite() error }); ok && half.CloseWrite() == nil {
					x.faults.half.Add(1)
					swallow = true
				}

			case 3:
				x.faults.delayed.Add(1)
				time.Sleep(rand.N(150 * time.Millisecond))
			}
		}

		if swallow {
			continue
		}

		if _, err := l.server.Write(buffer[:n]); err != nil {
			return
		}
	}
}

// replies forwards from the database.
func (x *proxy) replies(l *link) {
	defer x.drop(l)
	buffer := make([]byte, 1<<16)
	for {
		n, err := l.server.Read(buffer)
		if err != nil {
			return
		}

		if x.harm.Load() && x.committed(buffer[:n]) && rand.N(6) == 0 {
			x.faults.unheard.Add(1)
			return
		}

		if _, err := l.client.Write(buffer[:n]); err != nil {
			return
		}
	}
}

// postgresCommitted reports whether the reply says that PostgreSQL has changed a row: CommandComplete, followed by
// ReadyForQuery outside a transaction, so after the commit:
// https://www.postgresql.org/docs/current/protocol-message-formats.html
func postgresCommitted(reply []byte) bool {
	changed := bytes.Contains(reply, []byte("UPDATE 1\x00")) || bytes.Contains(reply, []byte("INSERT 0 1\x00"))
	return changed && bytes.HasSuffix(reply, []byte("Z\x00\x00\x00\x05I"))
}

// mysqlCommitted reports whether the reply says that MySQL or MariaDB has changed rows: an OK packet, the first reply
// to a command, whose number of affected rows is not 0. The reply to the preparation of a statement is similar but
// longer, and has the lowest byte of the statement's id in the place of that number:
// https://dev.mysql.com/doc/dev/mysql-server/latest/page_protocol_basic_ok_packet.html
func mysqlCommitted(reply []byte) bool {
	const header, prepared = 4, 12 // bytes; the latter of COM_STMT_PREPARE's first packet
	if len(reply) < header+2 {
		return false
	}
	length := int(reply[0]) | int(reply[1])<<8 | int(reply[2])<<16
	return reply[3] == 1 && reply[4] == 0 && reply[5] != 0 && length != prepared && len(reply) == header+length
}

const cutWindow = 300 * time.Millisecond

func TestHarmedConnectionsCostNoError(t *testing.T) {
	t.Parallel()
	eachServer(t, func(t *testing.T, p place) {
		x, far := through(t, p)
		x.harm.Store(true) // also while they start: they may have to take a worker twice
		o := Order{Place: far.String(), First: 0, Last: 3, Window: cutWindow}
		processes := []*Process{MustStart(t, o), MustStart(t, o)}
		f := &x.faults
		enough := int64(Scale(1, 8))
		Eventually(t, "all kinds of harm", func() bool {
			return f.cut.Load() >= enough && f.unheard.Load() >= 2*enough && f.half.Load() >= enough &&
				f.swallowed.Load() >= enough && f.delayed.Load() >= enough
		}, processes...)

		x.gone.Store(true)
		links := x.closeAll()
		Eventually(t, "attempts while the database is gone", func() bool { return f.refused.Load() > 1 }, processes...)
		time.Sleep(2 * cutWindow) // beyond the horizon, and the expiry
		x.gone.Store(false)
		x.harm.Store(false)
		for _, q := range processes { // no call of theirs has failed
			count, extended := q.Count(), len(q.Noted(lease.Extended))
			Eventually(t, "more IDs and extensions", func() bool {
				return q.HasEnded() || q.Count() > count+100 && len(q.Noted(lease.Extended)) > extended+1
			}, q)
			if err := q.Finish(); err != nil {
				t.Error(err)
			}
		}

		TakeCensus(processes).Check(t, p.store(t))
		t.Logf("cut %d, cut before the reply about a change %d, half closed %d, swallowed %d, delayed %d, closed %d and refused %d while gone",
			f.cut.Load(), f.unheard.Load(), f.half.Load(), f.swallowed.Load(), f.delayed.Load(), links, f.refused.Load())
	})
}

// Connecting takes longer than a call of the store may take, as on a server that is far away or busy.
func TestALeaseGetsAConnectionHoweverLongConnectingTakes(t *testing.T) {
	t.Parallel()
	eachServer(t, func(t *testing.T, p place) {
		p.store(t) // makes the table
		for _, window := range []time.Duration{300 * time.Millisecond, time.Second} {
			t.Run(window.String(), func(t *testing.T) {
				t.Parallel()
				x, far := through(t, p)
				x.late.Store(int64(2500 * time.Millisecond))
				db, err := sql.Open(p.Driver, far.DSN)
				must(t, err)
				store, err := sqllease.New(db, far.dialect())
				must(t, err)

				l, err := lease.Open(t.Context(), store, lease.WithWindow(window), lease.WithMaxSkew(time.Minute),
					lease.WithLogger(slog.New(slog.DiscardHandler)))
				must(t, err)

				x.closeAll()
				cut := time.Now()
				Eventually(t, "an extension", func() bool { return l.Status().Extended.After(cut) })
				if stats := db.Stats(); stats.OpenConnections > 1 {
					t.Errorf("%d connections, want 1: the first attempt's", stats.OpenConnections)
				}
				if err := l.Close(t.Context()); err != nil {
					t.Error(err)
				}
				if err := db.Close(); err != nil {
					t.Error(err)
				}
			})
		}
	})
}
