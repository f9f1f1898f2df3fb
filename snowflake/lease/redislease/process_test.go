package redislease_test

import (
	"testing"
	"time"

	"github.com/sqlflake/sqlflake/snowflake/lease"
	"github.com/sqlflake/sqlflake/snowflake/lease/internal/processtest"
	"github.com/sqlflake/sqlflake/snowflake/lease/redislease"
)

func TestKilledProcessesNeverRepeatAnID(t *testing.T) {
	t.Parallel()
	place, store := newPlace(t)
	processtest.KilledProcesses(t, place, store)
}

func TestProcessesThatStartAtOnceHaveDifferentWorkers(t *testing.T) {
	place, store := newPlace(t)
	processtest.ProcessesStartedTogether(t, place, func() lease.Store { return store })
}

// Callers wait while Redis is down, longer than the expiry, and continue by themselves when it is back.
func TestRestartsOfADurableRedisCostNoError(t *testing.T) {
	t.Parallel()
	const window = 300 * time.Millisecond
	port := freePort(t)
	durable := []string{"--appendonly", "yes", "--appendfsync", "always", "--dir", t.TempDir()}
	server, client := startServer(t, port, durable...)
	p := processtest.MustStart(t, processtest.Order{Place: client.Options().Addr + " restarts:", First: 0, Last: 3, Window: window})
	processtest.Eventually(t, "the first ID", func() bool { return p.Count() > 0 || p.HasEnded() }, p)
	for range processtest.Scale(3, 20) {
		failed := len(p.Noted(lease.Failed))
		if err := server.Process.Kill(); err != nil { // with appendfsync always nothing is lost
			t.Fatal(err)
		}
		_ = server.Wait() // it was killed
		processtest.Eventually(t, "a failed extension", func() bool { return len(p.Noted(lease.Failed)) > failed || p.HasEnded() }, p)
		time.Sleep(2 * window) // beyond the horizon, and the expiry
		server, _ = startServer(t, port, durable...)
		count, extended := p.Count(), len(p.Noted(lease.Extended))
		processtest.Eventually(t, "more IDs and extensions", func() bool {
			return p.HasEnded() || p.Count() > count+100 && len(p.Noted(lease.Extended)) > extended+1
		}, p)
	}
	if err := p.Finish(); err != nil {
		t.Error(err)
	}
	processtest.TakeCensus([]*processtest.Process{p}).Check(t, open(t, client, redislease.WithPrefix("restarts:")))
}
