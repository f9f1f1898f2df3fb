package processtest

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"runtime"
	"syscall"
	"testing"
	"time"

	"github.com/sqlflake/sqlflake/internal/tempdir"
	"github.com/sqlflake/sqlflake/internal/testdb"
	"github.com/sqlflake/sqlflake/snowflake/lease"
)

const (
	restartWindow = 400 * time.Millisecond
	publicPort    = "5432" // these only tell two sockets apart
	privatePort   = "5433" // of which the leases do not know
)

// cluster is a PostgreSQL server of one test, which may restart it. Unlike that of testdb it keeps what was committed.
type cluster struct {
	bin, dir string
	owner    *syscall.Credential // PostgreSQL refuses to run as root
	server   *exec.Cmd
	exited   chan struct{}
}

func newCluster(t *testing.T) *cluster {
	found, _ := filepath.Glob("/usr/lib/postgresql/*/bin/initdb") // fails for a bad pattern only
	if path, err := exec.LookPath("initdb"); err == nil {
		found = append(found, path)
	}
	if len(found) == 0 || os.Getenv("SNOWFLAKE_TEST_POSTGRES") == testdb.Off {
		testdb.Missing(t, "no PostgreSQL to restart: initdb is neither in PATH nor in /usr/lib/postgresql, or SNOWFLAKE_TEST_POSTGRES=off")
	}
	// testdb removes such folders that a killed test has left.
	temporary, err := tempdir.New("", tempdir.Server)
	if err != nil {
		t.Fatal(err)
	}
	dir := temporary.Path
	c := &cluster{bin: filepath.Dir(found[0]), dir: dir}
	t.Cleanup(func() {
		if c.server != nil {
			c.stop(t, syscall.SIGQUIT)
		}
		_ = temporary.Remove()
	})
	if os.Geteuid() == 0 {
		account, err := user.Lookup("postgres")
		if err != nil {
			t.Fatal(err)
		}
		c.owner = new(syscall.Credential)
		_, _ = fmt.Sscan(account.Uid+" "+account.Gid, &c.owner.Uid, &c.owner.Gid) // numbers on Linux
		if err := os.Chown(dir, int(c.owner.Uid), int(c.owner.Gid)); err != nil {
			t.Fatal(err)
		}
	}
	if out, err := c.command("initdb", "-U", "postgres", "-A", "trust", "--no-locale", "--no-sync").CombinedOutput(); err != nil {
		t.Fatalf("initdb: %v: %s", err, out)
	}
	return c
}

func (c *cluster) command(name string, args ...string) *exec.Cmd {
	cmd := exec.Command(filepath.Join(c.bin, name), append([]string{"-D", filepath.Join(c.dir, "data")}, args...)...)
	cmd.Dir, cmd.Env = c.dir, append(os.Environ(), "LC_ALL=C")
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: c.owner, Setpgid: true, Pdeathsig: syscall.SIGQUIT}
	return cmd
}

// start starts the server, which may still refuse connections when it returns.
func (c *cluster) start(t *testing.T, port string) {
	server := c.command("postgres", "-k", c.dir, "-p", port, "-c", "listen_addresses=",
		"-c", "fsync=on", "-c", "synchronous_commit=on", "-c", "logging_collector=off")
	exited, started := make(chan struct{}), make(chan error)
	go func() {
		runtime.LockOSThread() // the end of the thread that started it would end the server
		err := server.Start()
		started <- err
		_ = server.Wait() // what clients see says more
		close(exited)
	}()
	if err := <-started; err != nil {
		t.Fatal(err)
	}
	c.server, c.exited = server, exited
}

func (c *cluster) stop(t *testing.T, s syscall.Signal) {
	if err := c.server.Process.Signal(s); err != nil {
		t.Errorf("the server has ended by itself: %v", err)
	}
	defer time.AfterFunc(Patience, func() { t.Errorf("the server did not end after %v", s); _ = c.server.Process.Kill() }).Stop()
	<-c.exited
	c.server = nil
}

func (c *cluster) place(port string) place {
	return place{Kind: "postgres", Driver: "pgx", DSN: "host=" + c.dir + " port=" + port + " user=postgres dbname=postgres sslmode=disable"}
}

// rows waits until the server answers and returns the rows by worker.
func (c *cluster) rows(t *testing.T, port string) map[int64]lease.Entry {
	store, closeStore, err := c.place(port).open()
	if err != nil {
		t.Fatal(err)
	}
	Eventually(t, "an answer of the server", func() bool { return migrate(t.Context(), store, 2*time.Second) == nil })
	defer func() { _ = closeStore() }() // it has only been read
	return Entries(t, store)
}

// tenant is a lease of the test's own process and what its generator has issued.
type tenant struct {
	*Process
	lease *lease.Lease
}

func newTenant(ctx context.Context, t *testing.T, p place) *tenant {
	in, out := io.Pipe()
	x := &tenant{Process: Observe(in)}
	store := p.store(t)
	x.lease = openPatiently(t, func() (*lease.Lease, error) {
		return lease.Open(ctx, store, Order{First: 0, Last: 15, Window: restartWindow}.Options(out)...)
	})
	t.Cleanup(func() { <-x.Ended }) // the context has ended
	go func() {
		defer func() { _ = out.Close() }() // never fails; ends the notes
		for x.issue(ctx, t) {
			time.Sleep(time.Millisecond) // the others need the processor, too
		}
		if err := x.lease.Close(context.WithoutCancel(ctx)); err != nil {
			t.Error(err)
		}
	}()
	return x
}

// issue takes a handful of IDs. It reports whether to go on.
func (x *tenant) issue(ctx context.Context, t *testing.T) bool {
	for range 1 + rand.N(256) {
		id, err := x.lease.Generator().NextContext(ctx)
		if err != nil {
			if ctx.Err() == nil {
				t.Errorf("NextContext: %v", err)
			}
			return false
		}
		x.Add(id)
	}
	return ctx.Err() == nil
}

func TestRestartsOfTheServerCostNoErrorAndNoID(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	c.start(t, publicPort)
	c.rows(t, publicPort)
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	tenants := make([]*tenant, 4)
	for i := range tenants {
		tenants[i] = newTenant(ctx, t, c.place(publicPort))
	}
	for i := range Scale(8, 40) {
		s := [...]syscall.Signal{syscall.SIGINT, syscall.SIGQUIT}[i%2] // fast; immediate, with a recovery afterwards
		c.restart(t, tenants, s, i%4 > 1)
	}
	stop()
	var processes []*Process
	for _, x := range tenants {
		processes = append(processes, x.Process)
	}
	c.rows(t, publicPort) // waits until the server answers
	TakeCensus(processes).Check(t, c.place(publicPort).store(t))
	t.Logf("%d restarts", Scale(8, 40))
}

// restart stops the server at a random instant, for longer than the window or as shortly as possible, and waits until
// all tenants continue by themselves.
func (c *cluster) restart(t *testing.T, tenants []*tenant, s syscall.Signal, long bool) {
	least := c.rows(t, publicPort)
	time.Sleep(rand.N(restartWindow / 2)) // there may be extensions that these rows do not show
	c.stop(t, s)
	if long {
		for _, x := range tenants {
			Eventually(t, "a failure", func() bool { return x.lease.Status().Failures > 0 })
		}
		time.Sleep(restartWindow * 3 / 2)
	}
	for _, x := range tenants {
		used := x.LastTick()
		row := least[x.lease.Status().Worker]
		row.Horizon = max(row.Horizon, x.highest(row.Epoch), used+1) // what the store has confirmed, and what was issued
		least[row.Worker] = row
	}
	if long {
		c.start(t, privatePort) // shows what has survived before anybody can extend it
		survived(t, least, c.rows(t, privatePort))
		c.stop(t, s)
	}
	c.start(t, publicPort)
	survived(t, least, c.rows(t, publicPort))
	for _, x := range tenants {
		extended := func() int { return len(x.Noted(lease.Extended)) }
		ids, extensions := x.Count(), extended()
		Eventually(t, "more IDs and extensions after a restart", func() bool {
			return x.Count() > ids && extended() > extensions && x.lease.Status().Failures == 0
		})
	}
}

// survived requires that no row is below its lower bound.
func survived(t *testing.T, least, rows map[int64]lease.Entry) {
	t.Helper()
	for worker, want := range least {
		if row := rows[worker]; row.Horizon < want.Horizon || row.Epoch != want.Epoch {
			t.Errorf("worker %d: epoch %d and horizon %d after the restart, want %d and at least %d",
				worker, row.Epoch, row.Horizon, want.Epoch, want.Horizon)
		}
	}
}
