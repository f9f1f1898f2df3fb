package main

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/sqlflake/sqlflake/gormplugin"
	"github.com/sqlflake/sqlflake/internal/testdb"
)

const testKeys = "test:000102030405060708090a0b0c0d0e0f"

var kinds = []string{"id", "short", "opaque"}

func TestMain(m *testing.M) {
	if os.Getenv(childDSN) != "" {
		os.Exit(child())
	}
	os.Exit(testdb.Main(m))
}

// client is a copy of the service and a client that follows no redirects.
type client struct {
	*testing.T
	*service
	url string
}

// start opens a copy of the service on the database. Its requests may take minutes on a busy machine.
func start(t *testing.T, target testdb.Target, kind string) *client {
	t.Helper()
	return startWith(t, target, kind, 3*time.Minute)
}

func startWith(t *testing.T, target testdb.Target, kind string, limit time.Duration, opts ...gormplugin.Option) *client {
	t.Helper()
	c := config{codes: kind, keys: testKeys, dsn: target.DSN, limit: limit}
	if target.Name == "sqlite" {
		c.file, _, _ = strings.Cut(target.DSN, "?")
		c.dsn = ""
	}
	s, err := open(t.Context(), c, opts...)
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewUnstartedServer(nil)
	s.base = addressOf(server.Listener)
	server.Config.Handler = s.handler()
	server.Start()
	t.Cleanup(func() {
		server.Close()
		if err := s.close(); err != nil {
			t.Error(err)
		}
	})
	return &client{t, s, s.base.String()}
}

// onSQLite is start on an empty file.
func onSQLite(t *testing.T, kind string) *client {
	t.Helper()
	return start(t, testdb.Target{Name: "sqlite", DSN: filepath.Join(t.TempDir(), "test.db")}, kind)
}

// onEach runs f on each database with each kind of codes.
func onEach(t *testing.T, f func(t *testing.T, target testdb.Target, kind string)) {
	for _, kind := range kinds {
		t.Run(kind, func(t *testing.T) {
			testdb.Each(t, func(t *testing.T, target testdb.Target) { f(t, target, kind) })
		})
	}
}

// answer is the parts of all answers.
type answer struct {
	status  int
	header  http.Header
	body    string
	Code    string
	URL     string
	Created bool
	Error   string
	Next    string
	Links   []struct{ Code, ID, URL string }
	Days    []struct {
		Day    string
		Visits int
	}
}

func (c *client) send(method, path string, body io.Reader, header ...string) (a answer) {
	c.Helper()
	request, err := http.NewRequestWithContext(context.Background(), method, c.url+path, body)
	if err != nil {
		c.Fatal(err)
	}
	if method == http.MethodPost {
		request.Header.Set("Content-Type", "application/json")
	}
	for i := 0; i < len(header); i += 2 {
		request.Header.Set(header[i], header[i+1])
	}
	response, err := http.DefaultTransport.RoundTrip(request) // follows no redirects
	if err != nil {
		c.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		c.Fatal(err)
	}
	a.status, a.header, a.body = response.StatusCode, response.Header, string(text)
	if response.Header.Get("Content-Type") == "application/json" {
		if err := json.Unmarshal(text, &a); err != nil {
			c.Fatalf("%s %s: %v in %s", method, path, err, text)
		}
	}
	return a
}

func (c *client) get(path string) answer    { c.Helper(); return c.send(http.MethodGet, path, nil) }
func (c *client) remove(path string) answer { c.Helper(); return c.send(http.MethodDelete, path, nil) }

func (c *client) post(target string) answer {
	c.Helper()
	text, err := json.Marshal(map[string]string{"url": target})
	if err != nil {
		c.Fatal(err)
	}
	return c.send(http.MethodPost, "/api/links", strings.NewReader(string(text)))
}

// want checks the status, and that errors are JSON with a text.
func (c *client) want(what string, a answer, status int) answer {
	c.Helper()
	if a.status != status || (status >= 400) != (a.Error != "") {
		c.Fatalf("%s: status %d, %s; want %d", what, a.status, a.body, status)
	}
	return a
}

func (c *client) rows() (n int64) {
	c.Helper()
	if err := c.db.Model(&Link{}).Count(&n).Error; err != nil {
		c.Fatal(err)
	}
	return n
}

func (c *client) visitsOf(code string) (n int) {
	c.Helper()
	a := c.want("visits", c.get("/api/links/"+code+"/visits"), 200)
	if len(a.Days) != days {
		c.Errorf("%d days, want %d: %s", len(a.Days), days, a.body)
	}
	for _, day := range a.Days {
		n += day.Visits
	}
	return n
}

func mustParse(t *testing.T, text string) *url.URL {
	t.Helper()
	u, err := url.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	return u
}
