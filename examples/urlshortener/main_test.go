package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sqlflake/sqlflake/internal/testdb"
	"github.com/sqlflake/sqlflake/snowflake/lease/sqllease"
	"github.com/sqlflake/sqlflake/snowflake/sqldb"
)

func TestItServesUntilItIsInterruptedAndGivesTheWorkerBack(t *testing.T) {
	target := testdb.Postgres(t)
	ctx, interrupt := context.WithCancel(t.Context())
	defer interrupt()
	read, write := io.Pipe()
	ended := make(chan error, 1)
	go func() {
		ended <- run(ctx, []string{"-addr", "127.0.0.1:0", "-dsn", target.DSN, "-codes", "short", "-url", "https://s.example"}, write)
		_ = write.Close()
	}()
	line, err := bufio.NewReader(read).ReadString('\n')
	if err != nil {
		t.Fatal(<-ended)
	}
	go func() { _, _ = io.Copy(io.Discard, read) }()
	address := strings.TrimSpace(strings.TrimPrefix(line, "urlshortener: "))
	response, err := http.Post(address+"api/links", "application/json", strings.NewReader(`{"url":"https://example.com/"}`))
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(response.Body)
	_ = response.Body.Close()
	if want := `{"code":"1","short_url":"https://s.example/1","url":"https://example.com/","created":true}`; string(text) != want || err != nil {
		t.Errorf("%s %v, want %s", text, err, want)
	}
	interrupt()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	store, err := sqllease.New(target.Open(t), sqldb.Postgres)
	if err != nil {
		t.Fatal(err)
	}
	entries, err := store.List(t.Context(), "")
	if err != nil || len(entries) != 1 || entries[0].Held {
		t.Errorf("%+v %v, want one free worker", entries, err)
	}
}

func TestCopiesThatStartAtOnceCreateTheTablesOnce(t *testing.T) {
	testdb.Each(t, func(t *testing.T, target testdb.Target) {
		copies := make([]*client, 6)
		var wg sync.WaitGroup
		for i := range copies {
			wg.Go(func() { copies[i] = start(t, target, "short") })
		}
		wg.Wait()
		codes := map[string]bool{}
		for i, c := range copies {
			codes[c.want("new", c.post(fmt.Sprintf("https://example.com/%d", i)), 201).Code] = true
		}
		if n := copies[0].rows(); n != 6 || len(codes) != 6 {
			t.Errorf("%d links with %d codes, want 6", n, len(codes))
		}
	})
}

func TestBadArgumentsAreExplained(t *testing.T) {
	file := filepath.Join(t.TempDir(), "test.db")
	t.Setenv("URLSHORTENER_KEYS", "")
	for args, want := range map[string]string{
		"extra":                           `unexpected argument "extra"`,
		"-colour":                         "flag provided but not defined",
		"-dsn=":                           "-dsn is empty",
		"-codes pretty":                   `-codes "pretty": want id, short or opaque`,
		"-codes opaque":                   "set URLSHORTENER_KEYS",
		"-url s.example":                  "want http:// or https:// and a host",
		"-url https://s.example/path":     "want http:// or https:// and a host",
		"-url ftp://s.example":            "want http:// or https:// and a host",
		"-url https://s.example:":         "want http:// or https:// and a host",
		"-url https://s.example:99999":    "want http:// or https:// and a host",
		"-url https://bücher.example":     "want http:// or https:// and a host",
		"-addr 127.0.0.1:99999":           "invalid port",
		"-db /nowhere/at/all":             "unable to open",
		"-dsn postgres://127.0.0.1:1/no":  "connect",
		"-dsn root@tcp(127.0.0.1:1)/no":   "connect",
		"-dsn root@nowhere(127.0.0.1)/no": "open the database",
	} {
		if !strings.Contains(args, "-db") {
			args = "-db " + file + " " + args
		}
		if !strings.Contains(args, "-addr") {
			args = "-addr 127.0.0.1:0 " + args
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute) // or it serves
		err := run(ctx, strings.Fields(args), io.Discard)
		cancel()
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v, want %q", args, err, want)
		}
	}
}
