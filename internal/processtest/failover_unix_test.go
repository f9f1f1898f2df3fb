//go:build unix

package processtest

import (
	"cmp"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/sqlflake/sqlflake/internal/dbserver"
	"github.com/sqlflake/sqlflake/internal/skip"
	"github.com/sqlflake/sqlflake/snowflake"
	"github.com/sqlflake/sqlflake/snowflake/lease"
	"github.com/sqlflake/sqlflake/snowflake/lease/leasestore"
)

// replicated is a primary and its replica. Processes connect to the one that link leads to.
type replicated struct {
	kind             string
	primary, replica *dbserver.Server
	link             string
}

// place is that of the primary, and after the failover that of the replica.
func (c *replicated) place() place {
	dsn := strings.Replace(dsnOf(c.kind, c.replica), c.replica.Folder, c.link, 1)
	return place{Kind: c.kind, Driver: failoverDrivers[c.kind], DSN: dsn}
}

var failoverDrivers = map[string]string{"postgres": "pgx", "mariadb": "mysql"}

func dsnOf(kind string, s *dbserver.Server) string {
	if kind == "mariadb" {
		return s.DSN + "mysql"
	}
	return strings.ReplaceAll(s.DSN, "%2F", "/")
}

func (c *replicated) at(t *testing.T, s *dbserver.Server) *sql.DB {
	t.Helper()
	return openDB(t, c.kind, dsnOf(c.kind, s))
}

func openDB(t *testing.T, kind, dsn string) *sql.DB {
	t.Helper()
	db, err := sql.Open(failoverDrivers[kind], dsn)
	must(t, err)
	t.Cleanup(func() { _ = db.Close() })
	return db
}

func run(t *testing.T, db *sql.DB, statements ...string) {
	t.Helper()
	for _, s := range statements {
		if _, err := db.ExecContext(t.Context(), s); err != nil {
			t.Fatalf("%s: %v", s, err)
		}
	}
}

// startReplicated starts a primary, and a replica that follows it.
func startReplicated(t *testing.T, kind string) *replicated {
	t.Helper()
	variable := map[string]string{"postgres": "SNOWFLAKE_TEST_POSTGRES", "mariadb": "SNOWFLAKE_TEST_MYSQL"}[kind]
	skip.Off(t, variable)
	c := &replicated{kind: kind, link: filepath.Join(shortDir(t), "db")}
	server := func(config dbserver.Config) *dbserver.Server {
		config.Name, config.NoSync = kind, true
		s, err := dbserver.Start(t.Context(), config)
		if errors.Is(err, dbserver.ErrNotInstalled) {
			skip.Missing(t, variable, "%v", err)
		}
		must(t, err)
		t.Cleanup(func() { _ = s.Stop() })
		return s
	}

	if kind == "postgres" {
		c.primary = server(dbserver.Config{})
		c.replica = server(dbserver.Config{Of: c.primary.DSN})
	} else {
		port := strconv.Itoa(FreePort(t))
		c.primary = server(dbserver.Config{Args: []string{
			"--server-id=1", "--log-bin", "--skip-networking=0", "--bind-address=127.0.0.1", "--port=" + port,
		}})
		c.replica = server(dbserver.Config{Args: []string{"--server-id=2", "--log-bin"}})
		run(t, c.at(t, c.primary), "CREATE USER replica@'%'", "GRANT REPLICATION SLAVE ON *.* TO replica@'%'")
		run(t, c.at(t, c.replica),
			"CHANGE MASTER TO MASTER_HOST='127.0.0.1', MASTER_PORT="+port+", MASTER_USER='replica', MASTER_USE_GTID=slave_pos",
			"START SLAVE")
	}

	c.lead(t, c.primary)
	return c
}

// shortDir is short enough for the path of a socket.
func shortDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "sf") //nolint:usetesting // t.TempDir is too long
	must(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return dir
}

// lead makes new connections go to the server.
func (c *replicated) lead(t *testing.T, to *dbserver.Server) {
	t.Helper()
	_ = os.Remove(c.link) // the first time there is none
	must(t, os.Symlink(to.Folder, c.link))
}

// lag cuts the replica off from the primary.
func (c *replicated) lag(t *testing.T) {
	t.Helper()
	db := c.at(t, c.replica)
	if c.kind == "mariadb" {
		run(t, db, "STOP SLAVE IO_THREAD")
		return
	}
	run(t, db, "ALTER SYSTEM SET primary_conninfo = ''", "SELECT pg_reload_conf()")
	Eventually(t, "a replica without a connection", func() bool {
		var receivers int
		err := db.QueryRowContext(t.Context(), "SELECT count(*) FROM pg_stat_wal_receiver").Scan(&receivers)
		return err == nil && receivers == 0
	})
}

// fail ends the primary and promotes the replica. That the clock of the replica is behind is the same as that all times
// which the primary has written are ahead.
func (c *replicated) fail(t *testing.T, behind time.Duration) {
	t.Helper()
	must(t, c.primary.Stop())
	db := c.at(t, c.replica)
	if c.kind == "mariadb" { // what a process changed before the rest of the log is applied would be overwritten
		Eventually(t, "the replica has applied what it has received", func() bool {
			var waiting int
			err := db.QueryRowContext(t.Context(), "SELECT count(*) FROM information_schema.PROCESSLIST "+
				"WHERE STATE LIKE 'Slave has read all relay log%'").Scan(&waiting)
			return err == nil && waiting == 1
		})
		run(t, db, "STOP SLAVE", "RESET SLAVE ALL")
	} else {
		run(t, db, "SELECT pg_promote()")
	}

	run(t, db, fmt.Sprintf("UPDATE snowflake_leases SET expires_ms = expires_ms + %d", behind.Milliseconds()))
	c.lead(t, c.replica)
}

// The owners that have acquired after the replica got the last commit are unknown to it. They issue IDs up to their
// horizons, some of which are further ahead than any that the replica knows of, while new owners on the replica get the
// same workers. One of them has taken over the worker of a process that is stopped, and continues after the promotion.
func TestFailoverToALaggingReplicaRepeatsNoID(t *testing.T) {
	const skew = lease.DefaultMaxSkew * 9 / 10
	for kind := range failoverDrivers {
		for name, behind := range map[string]time.Duration{"a clock behind": skew, "a clock ahead": -skew, "without a floor": 0} {
			t.Run(kind+", "+name, func(t *testing.T) {
				if behind < 0 && Scale(0, 1) == 0 {
					t.Skip("only with SNOWFLAKE_TEST_LONG=1")
				}
				t.Parallel()
				failover(t, kind, behind, behind == 0)
			})
		}
	}
}

func failover(t *testing.T, kind string, behind time.Duration, without bool) {
	const old, forgotten, after = 2, 3, 4
	c := startReplicated(t, kind)
	p := c.place()
	p.NoFloor = without
	window := 2 * time.Second
	if without {
		window = lease.MaxWindow // nobody waits for the end of it, and old owners must outlive the failover
	}

	// New owners wait for the sum of the two.
	o := Order{Place: p.String(), Last: 15, Window: window, MaxSkew: time.Second, Pace: time.Millisecond}
	var all []*Process
	begin := func(n int) {
		t.Helper()
		for range n {
			all = append(all, MustStart(t, o))
		}
		for _, x := range all {
			must(t, x.AwaitID())
		}
	}

	begin(old)
	c.awaitRows(t, "the replica has the leases", c.replica, func(rows []leasestore.Entry) bool { return len(rows) == old })
	c.lag(t)

	stopped := all[0]
	if !without {
		stopped.Signal(t, syscall.SIGSTOP)
		c.awaitRows(t, "its worker is free", c.primary, func(rows []leasestore.Entry) bool {
			return slices.ContainsFunc(rows, func(e leasestore.Entry) bool { return !e.Held })
		})
		o.Window *= 4
	}
	begin(forgotten)

	c.fail(t, behind)
	o.Window = window
	stopped.Signal(t, syscall.SIGCONT)
	promoted := time.Now()
	begin(after)
	t.Logf("new owners had IDs %v after the failover", time.Since(promoted))
	for _, x := range all {
		x.awaitMore(t, 1000)
	}

	if repeated := endAll(t, all...); (repeated > 0) != without {
		t.Errorf("%d IDs came twice", repeated)
	}
}

// repeated returns how many IDs came more than once.
func (c *Census) repeated() (n int64) {
	slices.SortFunc(c.spans, func(a, b span) int { return cmp.Compare(a.first, b.first) })
	end := snowflake.ID(-1) // the highest ID until here
	for _, s := range c.spans {
		n += int64(max(0, min(end, s.last)-s.first+1))
		end = max(end, s.last)
	}
	return n
}

// issuing starts a process and waits for its first ID.
func issuing(t *testing.T, o Order) *Process {
	t.Helper()
	p := MustStart(t, o)
	must(t, p.AwaitID())
	return p
}

// awaitMore waits for so many more IDs.
func (p *Process) awaitMore(t *testing.T, n int) {
	t.Helper()
	count := p.Count()
	Eventually(t, "more IDs", func() bool { return p.Count() > count+n || p.HasEnded() }, p)
}

// awaitRows waits until a server has leases that are as wanted.
func (c *replicated) awaitRows(t *testing.T, what string, on *dbserver.Server, wanted func([]leasestore.Entry) bool) {
	t.Helper()
	store, closeStore, err := place{Kind: c.kind, Driver: failoverDrivers[c.kind], DSN: dsnOf(c.kind, on)}.open()
	must(t, err)
	defer func() { _ = closeStore() }() // its server may have ended

	Eventually(t, what, func() bool {
		rows, err := store.List(t.Context(), lease.DefaultNamespace)
		return err == nil && wanted(rows)
	})
}

// endAll ends the processes that run, compares the IDs of all, and returns how many came twice.
func endAll(t *testing.T, processes ...*Process) (repeated int64) {
	t.Helper()
	for _, p := range processes {
		if !p.HasEnded() {
			must(t, p.Finish())
		}
	}

	census := TakeCensus(processes)
	repeated = census.repeated()
	t.Logf("%d of %d IDs came twice", repeated, census.IDs)
	for _, p := range processes { // not the census's error: after a failover two processes have had one epoch
		must(t, errors.Join(p.ids.err, p.err))
	}
	return repeated
}

func wantNoneTwice(t *testing.T, processes ...*Process) {
	t.Helper()
	if repeated := endAll(t, processes...); repeated > 0 {
		t.Errorf("%d IDs came twice", repeated)
	}
}

// last returns the last ID that has come.
func (p *Process) last() snowflake.ID {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.ids.last
}
