//go:build unix && !race

package enginetest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"go.etcd.io/etcd/server/v3/embed"

	"github.com/sqlflake/sqlflake/internal/processtest"
	"github.com/sqlflake/sqlflake/snowflake/lease"
)

// memberVariable makes the test binary a server; it holds a memberConfig.
const memberVariable = "SNOWFLAKE_ENGINETEST_MEMBER"

// listening is the file that a server makes when it listens.
const listening = "listening"

// memberConfig is a server of a cluster.
type memberConfig struct {
	Kind   string   // "etcd" or "nats"
	Number int      // in the cluster
	Dir    string   // of its files
	Client []string // addresses for clients, of all members
	Peer   []string // addresses for each other
}

func (c memberConfig) name() string { return fmt.Sprintf("m%d", c.Number) }

// member is a server that runs as a process, or has run.
type member struct {
	memberConfig
	cmd    *exec.Cmd
	exited chan struct{}
}

// cluster is the servers of a test.
type cluster []*member

// startCluster starts servers that end with the test.
func startCluster(t *testing.T, kind string, size int) cluster {
	t.Helper()
	client, peer := freeAddrs(t, size), freeAddrs(t, size)
	dir := t.TempDir()
	c := make(cluster, size)
	t.Cleanup(func() {
		for _, m := range c {
			if t.Failed() && m != nil {
				text, err := os.ReadFile(filepath.Join(m.Dir, "log"))
				t.Logf("the log of %s ends with: %s (%v)", m.name(), text[max(0, len(text)-2000):], err)
			}
		}
	})

	for i := range c {
		c[i] = &member{memberConfig: memberConfig{
			Kind: kind, Number: i, Dir: filepath.Join(dir, strconv.Itoa(i)), Client: client, Peer: peer,
		}}
		must(t, os.Mkdir(c[i].Dir, 0o700))
		c[i].start(t)
		t.Cleanup(c[i].kill)
	}
	for _, m := range c {
		m.awaitListening(t)
	}
	return c
}

func (c cluster) place(name string) place {
	return place{Kind: c[0].Kind, Addrs: c[0].Client, Name: name}
}

func (m *member) start(t *testing.T) {
	t.Helper()
	text, _ := json.Marshal(m.memberConfig) // numbers and texts never fail
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), memberVariable+"="+string(text), "GORACE=atexit_sleep_ms=0")
	cmd.SysProcAttr = new(syscall.SysProcAttr)
	// The kernel ends it with this process. Only Linux and FreeBSD have this field; elsewhere the end of its standard
	// input does, unless it is stopped.
	if field := reflect.ValueOf(cmd.SysProcAttr).Elem().FieldByName("Pdeathsig"); field.IsValid() {
		field.SetInt(int64(syscall.SIGKILL))
	}

	_, err := cmd.StdinPipe()
	must(t, err)
	started, exited := make(chan error), make(chan struct{})
	go func() {
		runtime.LockOSThread() // the end of the thread that started it would end the server
		err := cmd.Start()
		started <- err
		if err == nil {
			_ = cmd.Wait() // it is killed
		}
		close(exited)
	}()

	must(t, <-started)
	m.cmd, m.exited = cmd, exited
}

// awaitListening waits until the server listens.
func (m *member) awaitListening(t *testing.T) {
	t.Helper()
	eventually(t, "server "+m.name(), func() error {
		select {
		case <-m.exited:
			t.Fatalf("server %s has ended", m.name())
		default:
		}
		_, err := os.Stat(filepath.Join(m.Dir, listening))
		return err
	})
}

// kill is kill -9.
func (m *member) kill() {
	_ = m.cmd.Process.Kill() // it may have ended
	<-m.exited
}

func (m *member) signal(t *testing.T, s syscall.Signal) {
	t.Helper()
	must(t, m.cmd.Process.Signal(s))
}

// serve is the server. It returns the exit code when the standard input has ended.
func serve(text string) int {
	var c memberConfig
	err := json.Unmarshal([]byte(text), &c)
	if err == nil {
		if c.Kind == "etcd" {
			err = c.serveEtcd()
		} else {
			err = c.serveNATS()
		}
	}

	if err == nil {
		err = os.WriteFile(filepath.Join(c.Dir, listening), nil, 0o600)
	}

	if err != nil {
		_ = os.WriteFile(filepath.Join(c.Dir, "log"), []byte(err.Error()), 0o600)
		return 1
	}

	_, _ = io.Copy(io.Discard, os.Stdin)
	return 0
}

func (c memberConfig) serveEtcd() error {
	config := embed.NewConfig()
	config.Name, config.Dir = c.name(), filepath.Join(c.Dir, "data")
	config.LogLevel, config.LogOutputs = "error", []string{filepath.Join(c.Dir, "log")}
	config.InitialCluster = ""
	for i, addr := range c.Peer {
		config.InitialCluster += fmt.Sprintf(",m%d=http://%s", i, addr)
	}

	config.InitialCluster = config.InitialCluster[1:]
	client, peer := []url.URL{{Scheme: "http", Host: c.Client[c.Number]}}, []url.URL{{Scheme: "http", Host: c.Peer[c.Number]}}
	config.ListenClientUrls, config.AdvertiseClientUrls = client, client
	config.ListenPeerUrls, config.AdvertisePeerUrls = peer, peer
	_, err := embed.StartEtcd(config)
	return err
}

func (c memberConfig) serveNATS() error {
	host, port := split(c.Client[c.Number])
	options := &server.Options{
		ServerName: c.name(), Host: host, Port: port, NoSigs: true, LogFile: filepath.Join(c.Dir, "log"),
		JetStream: true, StoreDir: filepath.Join(c.Dir, "data"), SyncAlways: true,
	}

	if len(c.Client) > 1 {
		options.Cluster.Name = "test"
		options.Cluster.Host, options.Cluster.Port = split(c.Peer[c.Number])
		options.Routes = server.RoutesFromStr("nats://" + strings.Join(c.Peer, ",nats://"))
	}

	s, err := server.NewServer(options)
	if err != nil {
		return err
	}

	s.ConfigureLogger()
	s.Start()
	if !s.ReadyForConnections(processtest.Patience) {
		return fmt.Errorf("no listener after %v", processtest.Patience)
	}

	return nil
}

// split returns the parts of an address of freeAddrs.
func split(addr string) (host string, port int) {
	host, text, _ := net.SplitHostPort(addr)
	port, _ = strconv.Atoi(text)
	return host, port
}

// freeAddrs returns unused addresses.
func freeAddrs(t *testing.T, n int) []string {
	t.Helper()
	addrs := make([]string, n)
	for i := range addrs {
		addrs[i] = net.JoinHostPort("127.0.0.1", strconv.Itoa(processtest.FreePort(t)))
	}
	return addrs
}

// eventually waits until the call succeeds.
func eventually(t *testing.T, what string, call func() error) {
	t.Helper()
	for begin := time.Now(); ; time.Sleep(20 * time.Millisecond) {
		err := call()
		if err == nil {
			return
		}
		if time.Since(begin) > processtest.Patience {
			t.Fatalf("%s: %v", what, err)
		}
	}
}

// disturb kills issuers with kill -9, and the leader, at the same time. One issuer outlives all changes of the leader.
func disturb(t *testing.T, e engine) {
	p := e.newPlace(t)
	processtest.KilledProcesses(t, p.String(), p.store(t), func(o processtest.Order) []*processtest.Process {
		o.First, o.Last, o.Window = 4, 4, 500*time.Millisecond
		steady := processtest.MustStart(t, o)
		for range processtest.Scale(2, 12) {
			e.killLeader(t, p)
			count, extended := steady.Count(), len(steady.Noted(lease.Extended))
			processtest.Eventually(t, "more IDs and extensions after a change of the leader", func() bool {
				return steady.HasEnded() || steady.Count() > count+100 && len(steady.Noted(lease.Extended)) > extended
			}, steady)
		}

		if err := steady.Finish(); err != nil {
			t.Error(err)
		}

		return []*processtest.Process{steady}
	})
}

// killLeader kills the leader and starts it again when another one leads.
func (e engine) killLeader(t *testing.T, p place) {
	t.Helper()
	var before *member
	for {
		var leader *member
		eventually(t, "a leader", func() (err error) {
			ctx, cancel := context.WithTimeout(t.Context(), 3*callPatience) // for three members
			defer cancel()
			if leader, err = e.leader(ctx, p); leader == before && err == nil {
				return errors.New("it is the same")
			}
			return err
		})

		if before != nil {
			before.start(t)
			return
		}

		before = leader
		before.kill()
	}
}

// loseQuorum stops two of three members: calls fail within their context, and issue nothing. Then it continues both,
// since a server that has lost its routes may not elect a leader while one of the three members hangs.
func loseQuorum(t *testing.T, e engine) {
	p := e.newPlace(t)
	store := p.store(t)
	claim := acquire(t, store).Claim
	for _, m := range e.cluster[1:] {
		m.signal(t, syscall.SIGSTOP)
	}

	for name, err := range callAll(t.Context(), 300*time.Millisecond, store, claim) {
		if name != "List" && !errors.Is(err, context.DeadlineExceeded) { // a list changes nothing
			t.Errorf("%s: error %v, want context.DeadlineExceeded", name, err)
		}
	}

	for _, m := range e.cluster[1:] {
		m.signal(t, syscall.SIGCONT)
	}

	eventually(t, "an extension after the members continue", func() error {
		ctx, cancel := context.WithTimeout(t.Context(), callPatience)
		defer cancel()
		_, err := store.Extend(ctx, claim, 99, time.Hour)
		return err
	})
}
