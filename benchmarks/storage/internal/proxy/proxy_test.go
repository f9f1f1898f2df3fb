package proxy_test

import (
	"bufio"
	"errors"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/sqlflake/sqlflake/benchmarks/storage/internal/proxy"
)

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// start returns both ends of a connection through a network.
func start(t *testing.T, delay time.Duration) (n *proxy.Network, client, server net.Conn) {
	t.Helper()
	n = &proxy.Network{Delay: delay}
	server, inner := net.Pipe()
	client = n.Connect(inner)
	t.Cleanup(func() { _ = client.Close() })
	must(t, client.SetDeadline(time.Now().Add(time.Minute)))
	must(t, server.SetDeadline(time.Now().Add(time.Minute)))
	return n, client, server
}

// send writes text on one side and reads it on the other.
func send(t *testing.T, from, to net.Conn, text string) {
	t.Helper()
	go func() { _, _ = io.WriteString(from, text) }()
	got := make([]byte, len(text))
	if _, err := io.ReadFull(to, got); err != nil || string(got) != text {
		t.Fatalf("%d bytes of %d arrived, %v", len(got), len(text), err)
	}
}

func TestCountsQuestionsThatWaitForAnswers(t *testing.T) {
	p, client, server := start(t, 0)
	for range 3 {
		send(t, client, server, "one\n")
		send(t, server, client, "answer\n")
	}

	for range 5 { // a question in parts is one trip
		send(t, client, server, "of many\n")
	}

	if got := p.Trips(); got != 4 {
		t.Errorf("%d trips, want 4", got)
	}

	long := strings.Repeat("0123456789abcdef", 1<<16) // 1 MiB
	send(t, server, client, long)
	send(t, client, server, long)

	must(t, server.Close())
	if _, err := client.Read(make([]byte, 1)); !errors.Is(err, io.EOF) {
		t.Errorf("the server is away, the client reads %v", err)
	}
}

// TestDelaysAreNotAddedUp sends lines that would take 1.5 seconds if each waited for the one before.
func TestDelaysAreNotAddedUp(t *testing.T) {
	const delay, lines = 100 * time.Millisecond, 30
	took := time.Hour
	for try := 0; try < 20 && took > lines*delay/3; try++ { // a machine that stands still does not do so each time
		_, client, server := start(t, delay)
		began := time.Now()
		go func() {
			for range lines { // each is a chunk
				_, _ = io.WriteString(client, "a line\n")
				time.Sleep(2 * time.Millisecond)
			}
		}()
		answers := bufio.NewReader(server)

		for range lines {
			_, err := answers.ReadString('\n')
			must(t, err)
		}

		took = time.Since(began)
	}

	if took > lines*delay/3 {
		t.Errorf("%d lines took %v through a delay of %v", lines, took, delay)
	}
}
