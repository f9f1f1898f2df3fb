package redislease_test

import (
	"os/exec"
	"strconv"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/sqlflake/sqlflake/snowflake/lease"
)

// durable starts a server of the test's own, which keeps in the folder all that
// it has answered. It returns when the server answers.
func durable(t *testing.T, port int, folder string) *exec.Cmd {
	t.Helper()
	program, err := exec.LookPath("redis-server")
	if err != nil {
		t.Skip("redis-server is not installed, and the server of the other tests is not this test's alone")
	}
	server := exec.Command(program, "--port", strconv.Itoa(port), "--bind", "127.0.0.1",
		"--save", "", "--appendonly", "yes", "--appendfsync", "always", "--dir", folder)
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { // unless the test has done so
		_ = server.Process.Kill()
		_ = server.Wait()
	})
	client := redis.NewClient(&redis.Options{Addr: "127.0.0.1:" + strconv.Itoa(port)})
	defer func() { _ = client.Close() }()
	eventually(t, "an answer of the server", func() bool { return client.Ping(t.Context()).Err() == nil })
	return server
}

// TestRestartsOfADurableRedisCostNoError: callers wait while Redis is gone, longer
// than the expiry, and go on by themselves when it is back.
func TestRestartsOfADurableRedisCostNoError(t *testing.T) {
	t.Parallel()
	const window = 300 * time.Millisecond
	addr, folder := freeAddr(t), t.TempDir()
	server := durable(t, addr.Port, folder)
	o := order{Addr: addr.String(), Prefix: "restarts:", First: 0, Last: 3, Window: window}
	processes := []*process{mustStart(t, o), mustStart(t, o)}
	for _, p := range processes {
		eventually(t, "the first ID", func() bool { return p.count() > 0 || p.hasEnded() }, p)
	}
	restarts := scale(3, 20)
	for range restarts {
		failed := make([]int, len(processes))
		for i, p := range processes {
			failed[i] = len(p.noted(lease.Failed))
		}
		if err := server.Process.Kill(); err != nil { // even so nothing is lost, with appendfsync always
			t.Fatal(err)
		}
		_ = server.Wait() // killed, as it was meant
		for i, p := range processes {
			eventually(t, "a failed extension", func() bool { return len(p.noted(lease.Failed)) > failed[i] || p.hasEnded() }, p)
		}
		time.Sleep(2 * window) // beyond the horizon, and the expiry
		server = durable(t, addr.Port, folder)
		for _, p := range processes {
			count, extended := p.count(), len(p.noted(lease.Extended))
			eventually(t, "more IDs and extensions", func() bool {
				return p.hasEnded() || p.count() > count+100 && len(p.noted(lease.Extended)) > extended+1
			}, p)
		}
	}
	for _, p := range processes {
		if err := p.finish(); err != nil {
			t.Error(err)
		}
	}
	takeCensus(processes).check(t, o.Addr, o.Prefix)
	t.Logf("%d restarts", restarts)
}
