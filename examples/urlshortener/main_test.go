package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"

	"github.com/sqlflake/sqlflake/examples/internal/exampletest"
	"github.com/sqlflake/sqlflake/internal/testdb"
	"github.com/sqlflake/sqlflake/snowflake/lease/sqllease"
	"github.com/sqlflake/sqlflake/snowflake/sqldb"
)

// childDSN is the variable that makes the test binary a copy of the service.
const childDSN = "URLSHORTENER_TEST_DSN"

func TestMain(m *testing.M) {
	if dsn := os.Getenv(childDSN); dsn != "" {
		os.Exit(child(dsn))
	}
	os.Exit(testdb.Main(m))
}

// child serves until its standard input ends, as it does when the test ends in whatever way.
func child(dsn string) int {
	ctx, cancel := context.WithCancel(context.Background())
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		cancel()
	}()
	if err := run(ctx, []string{"-addr", "127.0.0.1:0", "-dsn", dsn}, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

// start returns a copy of the service in its own process, and its address.
func start(t *testing.T, dsn string) (cmd *exec.Cmd, stdin io.Closer, base string) {
	t.Helper()
	cmd = exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), childDSN+"="+dsn)
	var log strings.Builder
	cmd.Stderr = &log
	stdin, err := cmd.StdinPipe()
	exampletest.Must(t, err)
	stdout, err := cmd.StdoutPipe()
	exampletest.Must(t, err)
	exampletest.Must(t, cmd.Start())
	line, err := bufio.NewReader(stdout).ReadString('\n')
	if err != nil {
		_ = cmd.Wait()
		t.Fatalf("a process did not start: %s", log.String())
	}
	return cmd, stdin, strings.TrimSpace(strings.TrimPrefix(line, "urlshortener: "))
}

// TestEveryLinkThatAClientReceivedSurvivesAKill kills a copy while clients shorten, and asks another one for the links.
func TestEveryLinkThatAClientReceivedSurvivesAKill(t *testing.T) {
	target := testdb.Postgres(t)
	killed, _, base := start(t, target.DSN)
	received := make(chan [2]string, 10_000) // URL and code
	enough, once := make(chan struct{}), sync.Once{}
	var clients sync.WaitGroup
	for c := range 4 {
		clients.Go(func() {
			for i := 0; ; i++ {
				url := fmt.Sprintf("https://example.com/%d/%d", c, i)
				answer, err := http.Post(base+"api/links", "application/json", strings.NewReader(`{"url":"`+url+`"}`))
				if err != nil {
					return // killed
				}
				body, err := io.ReadAll(answer.Body)
				_ = answer.Body.Close()
				_, rest, found := strings.Cut(string(body), `"code":"`)
				if err != nil || !found { // killed meanwhile, or 503 of a busy machine
					continue
				}
				received <- [2]string{url, rest[:11]}
				if len(received) > 100 {
					once.Do(func() { close(enough) })
				}
			}
		})
	}
	<-enough
	_ = killed.Process.Kill() // kill -9
	_ = killed.Wait()
	clients.Wait()
	close(received)

	ended, stdin, base := start(t, target.DSN)
	client := http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	codes := map[string]bool{}
	for link := range received {
		answer, err := client.Get(base + link[1])
		exampletest.Must(t, err)
		_ = answer.Body.Close()
		if to := answer.Header.Get("Location"); to != link[0] || codes[link[1]] {
			t.Errorf("%s leads to %q, want %q; code seen before: %t", link[1], to, link[0], codes[link[1]])
		}
		codes[link[1]] = true
	}
	if len(codes) < 100 {
		t.Errorf("%d links, want at least 100", len(codes))
	}

	// A copy that ends gives its worker back; the killed one holds its worker until the lease expires.
	_ = stdin.Close()
	if err := ended.Wait(); err != nil {
		t.Errorf("the second copy ended with %v", err)
	}
	store, err := sqllease.New(target.Open(t), sqldb.Postgres)
	exampletest.Must(t, err)
	entries, err := store.List(t.Context(), "")
	if err != nil || len(entries) != 2 || entries[0].Held == entries[1].Held {
		t.Errorf("workers %+v, error %v, want that one of two is held", entries, err)
	}
}
