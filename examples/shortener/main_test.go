package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"gorm.io/driver/sqlite"
	"gorm.io/gorm"
	"gorm.io/gorm/logger"

	"github.com/sqlflake/sqlflake/gormplugin"
	"github.com/sqlflake/sqlflake/gormplugin/gormtest"
	"github.com/sqlflake/sqlflake/internal/exampletest"
	"github.com/sqlflake/sqlflake/internal/testdb"
	"github.com/sqlflake/sqlflake/snowflake"
)

// childVariable has the arguments of a copy, which this test program runs as.
const childVariable = "SHORTENER_ARGUMENTS"

func TestMain(m *testing.M) {
	if arguments := os.Getenv(childVariable); arguments != "" {
		os.Args = append(os.Args[:1], strings.Split(arguments, "\n")...)
		main()
		return
	}
	os.Exit(testdb.Main(m))
}

func TestCodesRedirectAndOthersAreErrors(t *testing.T) {
	gen := gormtest.New(snowflake.Default(), time.Date(2026, 1, 2, 15, 4, 5, 0, time.UTC), time.Millisecond)
	file := filepath.Join(t.TempDir(), "test.db")
	db, err := gorm.Open(sqlite.Open(file), &gorm.Config{Logger: logger.Discard}, gormplugin.New(gen))
	exampletest.Must(t, err)
	exampletest.Must(t, db.AutoMigrate(&link{}))

	const code = "09oVQq9FJs8"
	long := "https://example.org/" + strings.Repeat("a", 2000)
	handler := newHandler(db)
	for _, test := range []struct {
		method, path, url string
		status            int
		want              string // a part of the body, or the location of a redirect
	}{
		{"GET", "/", "", 200, "<form"},
		{"POST", "/", "https://go.dev/doc?a=b#c", 200, "http://example.com/" + code + "\n"},
		{"GET", "/" + code, "", 302, "https://go.dev/doc?a=b#c"},
		{"POST", "/", "http://bücher.example/ä", 200, "http://example.com/"},
		{"POST", "/", long[:2000], 200, "http://example.com/"},

		{"GET", "/" + code[1:], "", 404, "no such link"},           // padded with one zero less
		{"GET", "/0" + code, "", 404, "no such link"},              // ... and more
		{"GET", "/" + code + "/", "", 404, "not found"},            //
		{"GET", "/09oVQq9FJs7", "", 404, "no such link"},           // unknown
		{"GET", "/00000000000", "", 404, "no such link"},           //
		{"GET", "/zzzzzzzzzzz", "", 404, "no such link"},           // above 2^64
		{"GET", "/favicon.ico", "", 404, "no such link"},           // 11 characters, but malformed
		{"PUT", "/", "https://go.dev", 405, "Not Allowed"},         //
		{"POST", "/", "", 400, "A link begins"},                    //
		{"POST", "/", "go.dev", 400, "A link begins"},              //
		{"POST", "/", "//go.dev", 400, "A link begins"},            //
		{"POST", "/", "ftp://go.dev", 400, "A link begins"},        //
		{"POST", "/", "javascript:alert(1)", 400, "A link begins"}, //
		{"POST", "/", "https://", 400, "A link begins"},            // no host
		{"POST", "/", "https:///path", 400, "A link begins"},       //
		{"POST", "/", "https://go.dev/\r\nX: y", 400, "A link begins"},
		{"POST", "/", "https://go.dev/\xff", 400, "A link begins"}, // PostgreSQL stores UTF-8 only
		{"POST", "/", long, 400, "at most 2000 bytes"},
		{"POST", "/", strings.Repeat(long, 20), 400, "A link begins"}, // above the limit of the body
	} {
		body := strings.NewReader(url.Values{"url": {test.url}}.Encode())
		r := httptest.NewRequest(test.method, test.path, body)
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		w := httptest.NewRecorder()
		handler.ServeHTTP(w, r)
		if got := w.Header().Get("Location") + w.Body.String(); w.Code != test.status ||
			!strings.Contains(got, test.want) {
			t.Errorf("%s %s %.60q: %d %s, want %d %s",
				test.method, test.path, test.url, w.Code, got, test.status, test.want)
		}
	}

	gen.FailAfter(0, snowflake.ErrLeaseStalled)
	w := httptest.NewRecorder()
	handler.ServeHTTP(w, httptest.NewRequest("POST", "/?url=https://go.dev", nil))

	if w.Code != http.StatusServiceUnavailable || w.Header().Get("Retry-After") != "1" {
		t.Errorf("a stalled lease: %d %v, want 503 and Retry-After", w.Code, w.Header())
	}
}

// TestNoLinkIsLostOrTwice kills copies while clients shorten links. What a client was told of must be there, on each
// copy.
func TestNoLinkIsLostOrTwice(t *testing.T) {
	testdb.Each(t, func(t *testing.T, target testdb.Target) {
		dsn := strings.Replace(target.DSN, "parseTime=true", "", 1) // the form that -h shows
		if target.Name == "sqlite" {
			dsn = filepath.Join(t.TempDir(), "links.db")
		}

		copies := make([]*copyOf, 3)
		for i := range copies {
			copies[i] = &copyOf{addr: freeAddress(t), dsn: dsn}
			copies[i].start(t)
		}

		shortened := shortenWhileCopiesAreKilled(t, copies)
		for _, c := range copies {
			c.wait(t)
		}

		codes := map[string]string{}
		for long, code := range shortened {
			if other := codes[code]; other != "" {
				t.Errorf("%s and %s have the code %s", other, long, code)
			}
			codes[code] = long
		}

		for i, c := range copies {
			for code, long := range codes {
				if rand.IntN(len(copies)) != i {
					continue
				}
				if got := c.location(t, code); got != long {
					t.Errorf("%s leads to %q, want %s", code, got, long)
				}
			}
		}
	})
}

// shortenWhileCopiesAreKilled returns the codes of the links that a client was told of.
func shortenWhileCopiesAreKilled(t *testing.T, copies []*copyOf) map[string]string {
	t.Helper()
	const clients, links, kills = 6, 100, 6
	var (
		mu        sync.Mutex
		shortened = map[string]string{}
		running   sync.WaitGroup
	)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()

	for client := range clients {
		running.Go(func() {
			for n := range links {
				long := fmt.Sprintf("https://example.org/%d/%d", client, n)
				code, err := "", errors.New("not yet")
				for err != nil && ctx.Err() == nil { // dead copies refuse
					time.Sleep(time.Millisecond)
					code, err = copies[rand.IntN(len(copies))].shorten(ctx, long)
				}

				mu.Lock()
				shortened[long] = code
				mu.Unlock()
			}
		})
	}

	for range kills {
		time.Sleep(100 * time.Millisecond)
		c := copies[rand.IntN(len(copies))]
		c.kill()
		c.start(t)
	}

	running.Wait()
	if ctx.Err() != nil {
		t.Fatalf("%d of %d links were shortened within a minute", len(shortened), clients*links)
	}

	return shortened
}

// copyOf is a process of the shortener.
type copyOf struct {
	addr, dsn string
	process   *os.Process
	ended     chan struct{}
}

func (c *copyOf) start(t *testing.T) {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), childVariable+"=-addr\n"+c.addr+"\n-db\n"+c.dsn)
	var output strings.Builder
	cmd.Stderr = &output
	exampletest.Must(t, cmd.Start())
	c.process = cmd.Process
	ended := make(chan struct{})
	c.ended = ended
	go func() {
		_ = cmd.Wait()
		close(ended)
	}()

	t.Cleanup(func() {
		c.kill()
		if t.Failed() {
			t.Logf("%s: %s", c.addr, output.String())
		}
	})
}

// kill kills the copy as kill -9 does, and waits for its end: it still has the address until then.
func (c *copyOf) kill() {
	_ = c.process.Kill()
	<-c.ended
}

// wait returns when the copy answers.
func (c *copyOf) wait(t *testing.T) {
	t.Helper()
	for range 600 {
		if answer, err := http.Get("http://" + c.addr); err == nil {
			exampletest.Must(t, answer.Body.Close())
			return
		}
		time.Sleep(100 * time.Millisecond)
	}

	t.Fatalf("the copy at %s does not answer", c.addr)
}

func (c *copyOf) shorten(ctx context.Context, long string) (code string, err error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost,
		"http://"+c.addr+"/?"+url.Values{"url": {long}}.Encode(), nil)
	if err != nil {
		return "", err
	}

	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		return "", err
	}
	defer func() { _ = answer.Body.Close() }()

	text, err := io.ReadAll(answer.Body)
	code, found := strings.CutPrefix(strings.TrimSpace(string(text)), "http://"+c.addr+"/")
	if err == nil && (answer.StatusCode != http.StatusOK || !found) {
		err = fmt.Errorf("%s: %s", answer.Status, text)
	}

	return code, err
}

func (c *copyOf) location(t *testing.T, code string) string {
	t.Helper()
	answer, err := http.DefaultTransport.RoundTrip(httptest.NewRequest(http.MethodGet, "http://"+c.addr+"/"+code, nil))
	exampletest.Must(t, err)
	exampletest.Must(t, answer.Body.Close())
	return answer.Header.Get("Location")
}

func freeAddress(t *testing.T) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	exampletest.Must(t, err)
	defer listener.Close()
	return listener.Addr().String()
}
