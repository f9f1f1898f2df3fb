//go:build unix

package processtest

import (
	"context"
	"database/sql"
	"errors"
	"path/filepath"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sqlflake/sqlflake/internal/dbserver"
	"github.com/sqlflake/sqlflake/internal/skip"
	"github.com/sqlflake/sqlflake/snowflake"
	"github.com/sqlflake/sqlflake/snowflake/lease"
	"github.com/sqlflake/sqlflake/snowflake/lease/leasestore"
	"github.com/sqlflake/sqlflake/snowflake/lease/leasetest"
	"github.com/sqlflake/sqlflake/snowflake/lease/sqllease"
	"github.com/sqlflake/sqlflake/snowflake/sqldb"
)

// galera is a cluster of two nodes of MariaDB.
type galera struct {
	nodes [2]*dbserver.Server
	dbs   [2]*sql.DB
}

func startGalera(t *testing.T) *galera {
	t.Helper()
	var provider string
	for _, pattern := range []string{"/usr/lib/galera/libgalera_smm.so", "/usr/lib64/galera*/libgalera_smm.so"} {
		if found, _ := filepath.Glob(pattern); len(found) > 0 {
			provider = found[0]
		}
	}

	if provider == "" {
		skip.Missing(t, "SNOWFLAKE_TEST_MYSQL", "Galera is not installed: apt-get install galera-4 rsync")
	}

	c := &galera{}
	first := ""
	for i := range c.nodes {
		at, transfer := "127.0.0.1:"+strconv.Itoa(FreePort(t)), "127.0.0.1:"+strconv.Itoa(FreePort(t))
		s, err := dbserver.Start(t.Context(), dbserver.Config{Name: "mariadb", NoSync: true, Args: []string{
			"--server-id=" + strconv.Itoa(i+1), "--binlog-format=ROW", "--innodb-autoinc-lock-mode=2",
			"--wsrep-on=ON", "--wsrep-provider=" + provider, "--wsrep-cluster-name=test", "--wsrep-cluster-address=gcomm://" + first,
			"--wsrep-node-address=127.0.0.1", "--wsrep-sst-method=rsync", "--wsrep-sst-receive-address=" + transfer,
			"--wsrep-provider-options=gmcast.listen_addr=tcp://" + at + ";ist.recv_addr=127.0.0.1:" + strconv.Itoa(FreePort(t)) +
				";gcache.size=16M;evs.keepalive_period=PT0.3S;evs.suspect_timeout=PT2S;evs.inactive_timeout=PT4S;evs.install_timeout=PT4S",
		}})
		if errors.Is(err, dbserver.ErrNotInstalled) {
			skip.Missing(t, "SNOWFLAKE_TEST_MYSQL", "%v", err)
		}

		must(t, err)
		t.Cleanup(func() { _ = s.Stop() })
		c.nodes[i], first = s, at
		c.dbs[i] = c.open(t, i, "")
		c.await(t, i, "wsrep_cluster_size", strconv.Itoa(i+1))
	}

	return c
}

func (c *galera) open(t *testing.T, node int, more string) *sql.DB {
	t.Helper()
	return openDB(t, "mariadb", dsnOf("mariadb", c.nodes[node])+more)
}

func (c *galera) status(t *testing.T, node int, name string) (value string) {
	t.Helper()
	_ = c.dbs[node].QueryRowContext(t.Context(), "SHOW STATUS LIKE '"+name+"'").Scan(&name, &value) // the node may be starting
	return value
}

// await waits until the node serves, with this value of the status.
func (c *galera) await(t *testing.T, node int, name, want string) {
	t.Helper()
	Eventually(t, "node "+strconv.Itoa(node)+" with "+name+" = "+want, func() bool {
		return c.status(t, node, "wsrep_ready") == "ON" && c.status(t, node, name) == want
	})
}

// bootstrap does what an operator does who knows that the other node is down.
func (c *galera) bootstrap(t *testing.T, node int) {
	t.Helper()
	Eventually(t, "a node without a quorum", func() bool { return c.status(t, node, "wsrep_cluster_status") == "non-Primary" })
	run(t, c.dbs[node], "SET GLOBAL wsrep_provider_options = 'pc.bootstrap=YES'")
	c.await(t, node, "wsrep_cluster_status", "Primary")
}

// inTurn gives each statement to the other node.
type inTurn struct {
	dbs  [2]*sql.DB
	next *atomic.Int64
}

func (d inTurn) ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error) {
	return d.dbs[d.next.Add(1)%2].ExecContext(ctx, query, args...)
}

func (d inTurn) QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error) {
	return d.dbs[d.next.Add(1)%2].QueryContext(ctx, query, args...)
}

func newGaleraStore(t *testing.T, db sqldb.DB, table string) *sqllease.Store {
	t.Helper()
	s, err := sqllease.New(db, sqldb.MySQL, sqllease.WithTables(table))
	must(t, err)
	must(t, s.Migrate(t.Context()))
	return s
}

func galeraRequest(worker int64) leasestore.Request {
	return leasestore.Request{Namespace: "n", First: worker, Last: worker, Token: leasetest.NewToken(), TTL: time.Millisecond, Reach: time.Hour}
}

// It takes a minute, and needs Galera, so it runs only with SNOWFLAKE_TEST_LONG=1.
func TestGaleraNodes(t *testing.T) {
	if Scale(0, 1) == 0 {
		t.Skip("only with SNOWFLAKE_TEST_LONG=1")
	}
	c := startGalera(t)
	t.Run("the contract, with statements on both nodes", c.keepsTheContract)
	t.Run("a node that has not applied an extension does not grant the worker", c.certifies)
	t.Run("another node is no failover", c.isOneServer)
	t.Run("a node that has not applied a share or a move lends nothing that counts", c.lags)
	t.Run("the nodes part", c.parts)
}

func (c *galera) keepsTheContract(t *testing.T) {
	db := inTurn{next: new(atomic.Int64)}
	for i := range db.dbs {
		db.dbs[i] = c.open(t, i, "?wsrep_sync_wait=7")
	}
	s := newGaleraStore(t, db, "contract")
	leasetest.Run(t, func(*testing.T) leasestore.Store { return s }, leasetest.Settings{
		Require: func(_ testing.TB, _ leasestore.Store, namespace string) {
			run(t, c.dbs[0], "UPDATE contractnamespaces SET protocol = 3 WHERE namespace = '"+namespace+"'")
		},
	})
}

func (c *galera) isOneServer(t *testing.T) {
	stores := [2]*sqllease.Store{newGaleraStore(t, c.dbs[0], "ids"), newGaleraStore(t, c.dbs[1], "ids")}
	for i := range int64(6) {
		Eventually(t, "a grant, not a deadlock with what the other node has not sent yet", func() bool {
			grant, err := stores[i%2].Acquire(t.Context(), galeraRequest(i))
			if !grant.Floor.IsZero() {
				t.Errorf("floor %v", grant.Floor)
			}
			return err == nil
		})
	}
}

// The owner extends on a node while another process acquires the expired worker on the other node. The look of the
// latter may be from before the extension. An extension that was confirmed is never above the horizon of the grant.
func (c *galera) certifies(t *testing.T) {
	const rounds = 300
	stores := [2]*sqllease.Store{newGaleraStore(t, c.dbs[0], "stale"), newGaleraStore(t, c.dbs[1], "stale")}
	both := 0
	for i := range rounds {
		owner, next := stores[i%2], stores[1-i%2]
		grant, err := owner.Acquire(t.Context(), galeraRequest(0))
		if err != nil {
			continue // a deadlock with what the other node has not sent yet
		}

		var wg sync.WaitGroup
		var confirmed int64 // the highest one
		wg.Go(func() {
			claim := grant.Claim
			claim.Next = claim.Token
			for h := grant.Horizon + 1; h < grant.Horizon+10; h++ {
				if _, err := owner.Extend(t.Context(), claim, h, time.Millisecond); err == nil {
					confirmed = h
				} else if errors.Is(err, lease.ErrLost) {
					return
				}
			}
		})

		var taken leasestore.Grant
		var takeErr error
		wg.Go(func() {
			for range 20 {
				if taken, takeErr = next.Acquire(t.Context(), galeraRequest(0)); takeErr == nil {
					return
				}
			}
		})

		wg.Wait()
		if takeErr != nil {
			continue
		}

		if confirmed > 0 {
			both++
		}

		if taken.Epoch <= grant.Epoch || taken.Horizon < confirmed {
			t.Fatalf("round %d: the owner of epoch %d has got horizon %d; the next grant has epoch %d, horizon %d",
				i, grant.Epoch, confirmed, taken.Epoch, taken.Horizon)
		}
	}

	if both == 0 {
		t.Error("there was no round with an extension and a takeover")
	}
}

// A share or a move is stored on one node, and a worker that it forbids is added on the other one, which has not
// applied it yet: the lock of the namespace's row holds on one node only. The worker then gets no horizon, and no
// reservation.
func (c *galera) lags(t *testing.T) {
	layout, next := snowflake.Default(), snowflake.MustPreset("wide")
	for what, store := range map[string]func(s *sqllease.Store) error{
		"share": func(s *sqllease.Store) error { return s.SetShare(t.Context(), "n", layout, 0, 7) },
		"move":  func(s *sqllease.Store) error { _, err := s.Move(t.Context(), "n", next); return err },
	} {
		here, there := newGaleraStore(t, c.dbs[0], what), newGaleraStore(t, c.dbs[1], what)
		run(t, c.dbs[0], "CREATE TABLE "+what+"barrier (id INT PRIMARY KEY)")

		request := func(worker int64) leasestore.Request {
			r := galeraRequest(worker)
			r.Layout = layout.String()
			return r
		}
		first, err := here.Acquire(t.Context(), request(0))
		if err == nil {
			first.Next = first.Token
			_, err = here.Extend(t.Context(), first.Claim, 5, time.Millisecond)
		}
		must(t, err)
		time.Sleep(10 * time.Millisecond) // the lease has expired
		c.await(t, 1, "wsrep_local_recv_queue", "0")

		catchUp := c.delay(t, 1, what+"barrier")
		must(t, store(here))

		lent, kept := make(chan leasestore.Grant, 1), make(chan error, 1)
		go func() {
			grant, err := there.Acquire(t.Context(), request(9))
			if err != nil {
				t.Logf("%s: Acquire on the node that lags: %v", what, err)
			}
			lent <- grant
		}()
		go func() {
			r := request(10)
			r.TTL, r.Holder = 200*365*24*time.Hour, leasestore.ReservedHolder("orders")
			_, err := there.Acquire(t.Context(), r)
			kept <- err
		}()
		time.Sleep(300 * time.Millisecond) // most likely both wait for the node by now
		catchUp()

		if err := <-kept; err == nil {
			t.Errorf("%s: a worker was reserved", what)
		} else {
			t.Logf("%s: Reserve on the node that lags: %v", what, err)
		}
		if grant := <-lent; grant.Token != "" {
			for node, s := range []*sqllease.Store{here, there} {
				grant.Next = grant.Token
				if _, err := s.Extend(t.Context(), grant.Claim, 100, time.Second); !errors.Is(err, lease.ErrLost) {
					t.Errorf("%s: an extension on node %d: %v, want ErrLost", what, node, err)
				}
			}
		}
	}
}

// delay keeps a node from applying what the other one commits until the function that it returns is called: a
// transaction of the other node waits for a lock of the table.
func (c *galera) delay(t *testing.T, node int, table string) (catchUp func()) {
	t.Helper()
	conn, err := c.dbs[node].Conn(t.Context())
	must(t, err)
	_, err = conn.ExecContext(t.Context(), "LOCK TABLES "+table+" WRITE")
	must(t, err)
	run(t, c.dbs[1-node], "INSERT INTO "+table+" VALUES (1)")
	return func() {
		if _, err := conn.ExecContext(t.Context(), "UNLOCK TABLES"); err != nil {
			t.Error(err)
		}
		_ = conn.Close()
	}
}

// The nodes lose each other, neither has a quorum. Owners issue IDs up to their horizons and wait. When the operator
// lets one node continue alone, its owners continue, and new ones take over the workers of the other node, which comes
// back later.
func (c *galera) parts(t *testing.T) {
	orders := [2]Order{}
	for i := range orders {
		p := place{Kind: "mariadb", Driver: "mysql", DSN: dsnOf("mariadb", c.nodes[i])}
		orders[i] = Order{Place: p.String(), Last: 3, Window: 4 * time.Second, Pace: time.Millisecond}
	}

	var all []*Process
	begin := func(node int) *Process {
		x := issuing(t, orders[node])
		all = append(all, x)
		return x
	}

	stalled := func(x *Process) {
		t.Helper()
		Eventually(t, "the end of IDs", func() bool {
			count := x.Count()
			time.Sleep(200 * time.Millisecond)
			return x.Count() == count && len(x.Noted(lease.Failed)) > 0
		}, x)
	}

	here, there := begin(0), begin(1)
	for _, x := range []*Process{here, there} {
		Eventually(t, "an extension", func() bool { return len(x.Noted(lease.Extended)) > 0 }, x)
	}

	run(t, c.dbs[0], "SET GLOBAL wsrep_provider_options = 'gmcast.isolate=1'")
	stalled(here)
	stalled(there)
	c.bootstrap(t, 1)
	there.awaitMore(t, 100)
	for range 3 { // then all four workers are held on this node
		begin(1).awaitMore(t, 100)
	}

	run(t, c.dbs[0], "SET GLOBAL wsrep_provider_options = 'gmcast.isolate=0'")
	for i := range c.dbs {
		c.await(t, i, "wsrep_cluster_size", "2")
	}

	Eventually(t, "the loss of the worker that was taken over", func() bool { return len(here.Noted(lease.Lost)) > 0 }, here)
	must(t, all[2].Kill())
	here.awaitMore(t, 100) // with the worker of the killed process
	wantNoneTwice(t, all...)
}
