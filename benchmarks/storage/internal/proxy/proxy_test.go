package proxy_test

import (
	"bufio"
	"context"
	"io"
	"net"
	"slices"
	"strings"
	"sync"
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

// echo returns each line until the test ends.
func echo(t *testing.T) func(context.Context) (net.Conn, error) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	t.Cleanup(func() { _ = listener.Close() })
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			go func() {
				defer conn.Close()
				lines := bufio.NewReader(conn)
				for {
					line, err := lines.ReadString('\n')
					if err != nil {
						return
					}
					if _, err := io.WriteString(conn, line); err != nil {
						return
					}
				}
			}()
		}
	}()
	return func(ctx context.Context) (net.Conn, error) {
		var d net.Dialer
		return d.DialContext(ctx, "tcp", listener.Addr().String())
	}
}

func start(t *testing.T, delay time.Duration) (*proxy.Proxy, net.Conn, *bufio.Reader) {
	t.Helper()
	p, err := proxy.Listen(delay, echo(t))
	must(t, err)
	t.Cleanup(func() { _ = p.Close() })
	conn, err := p.Dial(t.Context())
	must(t, err)
	t.Cleanup(func() { _ = conn.Close() })
	must(t, conn.SetDeadline(time.Now().Add(time.Minute)))
	return p, conn, bufio.NewReader(conn)
}

func ask(t *testing.T, conn net.Conn, answers *bufio.Reader, questions ...string) {
	t.Helper()
	if _, err := io.WriteString(conn, strings.Join(questions, "")); err != nil {
		t.Fatal(err)
	}
	for _, want := range questions {
		if got, err := answers.ReadString('\n'); err != nil || got != want {
			t.Fatalf("got %q, %v, want %q", got, err, want)
		}
	}
}

func TestCountsQuestionsThatWaitForAnswers(t *testing.T) {
	p, conn, answers := start(t, 0)
	for range 3 {
		ask(t, conn, answers, "one\n")
	}
	if got := p.Trips(); got != 3 {
		t.Errorf("after three questions: %d trips, want 3", got)
	}
	ask(t, conn, answers, slices.Repeat([]string{"of many\n"}, 20)...)
	if got := p.Trips(); got != 4 {
		t.Errorf("after a pipeline of twenty: %d trips, want 4", got)
	}
}

func TestDelaysAQuestionAndItsAnswer(t *testing.T) {
	const delay = 40 * time.Millisecond
	_, conn, answers := start(t, delay)
	began := time.Now()
	ask(t, conn, answers, "one\n")
	if took := time.Since(began); took < delay {
		t.Errorf("an answer came after %v, want %v at least", took, delay)
	}
}

// TestDelaysAreNotAddedUp sends lines that would take 1.5 seconds if each waited for the one before.
func TestDelaysAreNotAddedUp(t *testing.T) {
	const delay, lines = 100 * time.Millisecond, 30
	_, conn, answers := start(t, delay)
	took := time.Hour
	for try := 0; try < 20 && took > lines*delay/3; try++ { // a machine that stands still does not do so each time
		began := time.Now()
		var sent sync.WaitGroup
		sent.Go(func() { sendSlowly(t, conn, lines) })
		for range lines {
			if _, err := answers.ReadString('\n'); err != nil {
				t.Fatal(err)
			}
		}
		sent.Wait()
		took = time.Since(began)
	}
	if took > lines*delay/3 {
		t.Errorf("%d lines took %v through a delay of %v", lines, took, delay)
	}
}

// sendSlowly sends lines so that each is a chunk of its own.
func sendSlowly(t *testing.T, conn net.Conn, lines int) {
	t.Helper()
	for range lines {
		if _, err := io.WriteString(conn, "a line\n"); err != nil {
			t.Error(err)
		}
		time.Sleep(2 * time.Millisecond)
	}
}

func TestAQuestionInPartsIsOneTrip(t *testing.T) {
	const lines = 10
	client, server := net.Pipe()
	t.Cleanup(func() { _ = client.Close() })
	p, err := proxy.Listen(0, func(context.Context) (net.Conn, error) { return server, nil })
	must(t, err)
	defer func() { _ = p.Close() }()
	conn, err := p.Dial(t.Context())
	must(t, err)
	defer conn.Close()
	var sent sync.WaitGroup
	sent.Go(func() { sendSlowly(t, conn, lines) })
	if _, err := io.ReadFull(client, make([]byte, lines*len("a line\n"))); err != nil {
		t.Fatal(err)
	}
	sent.Wait()
	if got := p.Trips(); got != 1 {
		t.Errorf("%d trips before the server has said anything, want 1", got)
	}
}

func TestBytesArriveAsTheyWereSent(t *testing.T) {
	_, conn, answers := start(t, 0)
	long := strings.Repeat("0123456789abcdef", 1<<16) + "\n" // 1 MiB
	var sent sync.WaitGroup
	sent.Go(func() {
		if _, err := io.WriteString(conn, long); err != nil {
			t.Error(err)
		}
	})
	got, err := answers.ReadString('\n')
	sent.Wait()
	if err != nil || got != long {
		t.Errorf("%d bytes came back, %v, want %d", len(got), err, len(long))
	}
}

func TestCloseEndsConnections(t *testing.T) {
	p, conn, answers := start(t, 0)
	ask(t, conn, answers, "one\n")
	must(t, p.Close())
	if line, err := answers.ReadString('\n'); err == nil {
		t.Errorf("read %q through a closed proxy", line)
	}
	if _, err := p.Dial(t.Context()); err == nil {
		t.Error("a closed proxy can be dialled")
	}
}

func TestAServerThatIsNotThereClosesTheConnection(t *testing.T) {
	p, err := proxy.Listen(0, func(context.Context) (net.Conn, error) { return nil, net.ErrClosed })
	must(t, err)
	defer func() { _ = p.Close() }()
	conn, err := p.Dial(t.Context())
	must(t, err)
	defer conn.Close()
	must(t, conn.SetDeadline(time.Now().Add(time.Minute)))
	if _, err := conn.Read(make([]byte, 1)); err == nil {
		t.Error("the connection stays open")
	}
}
