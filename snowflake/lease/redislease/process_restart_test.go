package redislease_test

import (
	"os/exec"
	"strconv"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/sqlflake/sqlflake/snowflake/lease"
	"github.com/sqlflake/sqlflake/snowflake/lease/internal/processtest"
)

// durable starts a server of the test's own, which keeps in the folder all that it has confirmed. It returns when the
// server answers.
func durable(t *testing.T, port, folder string) *exec.Cmd {
	t.Helper()
	program, err := exec.LookPath("redis-server")
	if err != nil {
		t.Skip("redis-server is not installed, and the server of the other tests is not this test's alone")
	}
	server := exec.Command(program, "--port", port, "--bind", "127.0.0.1",
		"--save", "", "--appendonly", "yes", "--appendfsync", "always", "--dir", folder)
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { // unless the test has done so
		_ = server.Process.Kill()
		_ = server.Wait()
	})
	client := redis.NewClient(&redis.Options{Addr: "127.0.0.1:" + port})
	defer func() { _ = client.Close() }()
	processtest.Eventually(t, "an answer of the server", func() bool { return client.Ping(t.Context()).Err() == nil })
	return server
}

// Callers wait while Redis is gone, longer than the expiry, and continue by themselves when it is back.
func TestRestartsOfADurableRedisCostNoError(t *testing.T) {
	t.Parallel()
	const window = 300 * time.Millisecond
	port, folder := strconv.Itoa(processtest.FreePort(t)), t.TempDir()
	server := durable(t, port, folder)
	addr := "127.0.0.1:" + port
	o := processtest.Order{Place: addr + " restarts:", First: 0, Last: 3, Window: window}
	processes := []*processtest.Process{processtest.MustStart(t, o), processtest.MustStart(t, o)}
	for _, p := range processes {
		processtest.Eventually(t, "the first ID", func() bool { return p.Count() > 0 || p.HasEnded() }, p)
	}
	restarts := processtest.Scale(3, 20)
	for range restarts {
		failed := make([]int, len(processes))
		for i, p := range processes {
			failed[i] = len(p.Noted(lease.Failed))
		}
		if err := server.Process.Kill(); err != nil { // with appendfsync always nothing is lost
			t.Fatal(err)
		}
		_ = server.Wait() // it was killed
		for i, p := range processes {
			processtest.Eventually(t, "a failed extension", func() bool { return len(p.Noted(lease.Failed)) > failed[i] || p.HasEnded() }, p)
		}
		time.Sleep(2 * window) // beyond the horizon, and the expiry
		server = durable(t, port, folder)
		for _, p := range processes {
			count, extended := p.Count(), len(p.Noted(lease.Extended))
			processtest.Eventually(t, "more IDs and extensions", func() bool {
				return p.HasEnded() || p.Count() > count+100 && len(p.Noted(lease.Extended)) > extended+1
			}, p)
		}
	}
	for _, p := range processes {
		if err := p.Finish(); err != nil {
			t.Error(err)
		}
	}
	processtest.TakeCensus(processes).Check(t, openAt(t, addr, "restarts:"))
	t.Logf("%d restarts", restarts)
}
