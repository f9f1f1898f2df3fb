package main

import (
	"context"
	"encoding/json"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"gorm.io/driver/sqlite"

	"github.com/sqlflake/sqlflake/examples/internal/exampletest"
	"github.com/sqlflake/sqlflake/internal/testdb"
)

// newService returns a copy of the service on the database, whose short links begin with https://s.example.
func newService(t *testing.T, target testdb.Target) *service {
	t.Helper()
	dialector, connections := dialectorOf(target.DSN)
	if target.Name == "sqlite" {
		dialector, connections = sqlite.Open(target.DSN+"&_txlock=immediate"), 1
	}
	s, err := open(t.Context(), dialector, connections, "https://s.example")
	exampletest.Must(t, err)
	s.limit = 3 * time.Minute // the machine may be busy
	t.Cleanup(func() { exampletest.Must(t, s.close()) })
	return s
}

// send returns the answer to a request.
func (s *service) send(ctx context.Context, method, path, body string) *httptest.ResponseRecorder {
	w := httptest.NewRecorder()
	s.handler().ServeHTTP(w, httptest.NewRequestWithContext(ctx, method, path, strings.NewReader(body)))
	return w
}

// shortened returns the code of a new link.
func (s *service) shortened(t *testing.T, target string) string {
	t.Helper()
	w := s.send(t.Context(), "POST", "/api/links", `{"url":"`+target+`"}`)
	var link struct {
		Code, URL string
		Short     string `json:"short_url"`
	}
	if err := json.Unmarshal(w.Body.Bytes(), &link); err != nil || w.Code != 200 {
		t.Fatalf("%d %s, error %v", w.Code, w.Body, err)
	}
	if link.URL != target || len(link.Code) != 11 || link.Short != "https://s.example/"+link.Code {
		t.Errorf("the link of %s is %+v", target, link)
	}
	return link.Code
}

func TestACodeLeadsToItsURLAndVisitsAreCounted(t *testing.T) {
	testdb.Each(t, func(t *testing.T, target testdb.Target) {
		s := newService(t, target)
		code, other := s.shortened(t, "https://example.org/a?b=%2F"), s.shortened(t, "https://example.org/A")
		if again := newService(t, target).shortened(t, "https://example.org/a?b=%2F"); again != code || other == code {
			t.Errorf("another copy made %s of the same URL, want %s; another URL has %s", again, code, other)
		}
		for _, method := range []string{"GET", "GET", "HEAD"} {
			w := s.send(t.Context(), method, "/"+code, "")
			if w.Code != 302 || w.Header().Get("Location") != "https://example.org/a?b=%2F" {
				t.Errorf("%s: %d %v", method, w.Code, w.Header())
			}
		}
		var shown struct {
			CreatedAt time.Time `json:"created_at"`
			Visits    int64     `json:"visits"`
			Day       int64     `json:"visits_in_24_hours"`
		}
		w := s.send(t.Context(), "GET", "/api/links/"+code, "")
		err := json.Unmarshal(w.Body.Bytes(), &shown)
		if err != nil || shown.Visits != 2 || shown.Day != 2 || time.Since(shown.CreatedAt) > 24*time.Hour {
			t.Errorf("%d %s, error %v", w.Code, w.Body, err)
		}
	})
}

func TestCopiesThatStartAtOnceMakeOneLinkOfAURL(t *testing.T) {
	testdb.Each(t, func(t *testing.T, target testdb.Target) {
		var wg sync.WaitGroup
		codes := make([]string, 4)
		for i := range codes {
			wg.Go(func() { codes[i] = newService(t, target).shortened(t, "https://example.org/") })
		}
		wg.Wait()
		if len(slices.Compact(codes)) != 1 {
			t.Errorf("codes %q of one URL", codes)
		}
	})
}

func TestBadRequestsAreExplained(t *testing.T) {
	s := newService(t, testdb.SQLite(t))
	long := "https://example.com/" + strings.Repeat("a", maxURL)
	for _, tt := range []struct {
		method, path, body string
		status             int
		want               string
	}{
		{"POST", "/api/links", `{"url":"javascript:alert(1)"}`, 400, "begins with https:// or http://"},
		{"POST", "/api/links", `{"url":"https:///path"}`, 400, "and a host"},
		{"POST", "/api/links", `{"url":"https://bank.example@example.com/"}`, 400, "user name"},
		{"POST", "/api/links", `{"url":"` + long + `"}`, 400, "longer than 4096 bytes"},
		{"POST", "/api/links", `{"url":"https://S.example/x"}`, 400, "leads to this service"},
		{"POST", "/api/links", `{"url":"http://example.com/x"}`, 400, "leads to this service"}, // httptest's host
		{"POST", "/api/links", `{"url":`, 400, "the body is not"},
		{"POST", "/api/links", `{"url":"` + strings.Repeat("a", maxBody) + `"}`, 400, "too long"},
		{"GET", "/00000000001", "", 404, "no link has this code"},
		{"GET", "/short", "", 404, "no link has this code"},
		{"GET", "/api/links/short", "", 404, "no link has this code"},
		{"GET", "/", "", 200, "<h1>Shorten a link</h1>"},
		{"GET", "/static/page.js", "", 200, "/api/links"},
	} {
		w := s.send(t.Context(), tt.method, tt.path, tt.body)
		if w.Code != tt.status || !strings.Contains(w.Body.String(), tt.want) {
			t.Errorf("%s %s %.60s: %d %s, want %d %q", tt.method, tt.path, tt.body, w.Code, w.Body, tt.status, tt.want)
		}
	}
	w := httptest.NewRecorder()
	r := httptest.NewRequest("POST", "/api/links", strings.NewReader(`{"url":"https://example.org/"}`))
	r.Header.Set("Sec-Fetch-Site", "cross-site")
	if s.handler().ServeHTTP(w, r); w.Code != 403 {
		t.Errorf("a request of another site: %d %s", w.Code, w.Body)
	}
	text := `{"url":" https://example.org/a b\nü "}`
	got := s.send(t.Context(), "POST", "/api/links", text).Body.String()
	if !strings.Contains(got, `"https://example.org/a%20b%0A%C3%BC"`) {
		t.Errorf("%s became %s", text, got)
	}
}

func TestADatabaseThatStallsOrFailsIsNotShown(t *testing.T) {
	target := testdb.Postgres(t)
	s := newService(t, target)
	tx, err := target.Open(t).BeginTx(t.Context(), nil)
	exampletest.Must(t, err)
	_, err = tx.ExecContext(t.Context(), "LOCK TABLE links")
	exampletest.Must(t, err)
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	w := s.send(ctx, "POST", "/api/links", `{"url":"https://example.org/"}`)
	if w.Code != 503 || w.Header().Get("Retry-After") == "" || !strings.Contains(w.Body.String(), `"service unavailable"`) {
		t.Errorf("stalled: %d %v %s", w.Code, w.Header(), w.Body)
	}
	_, err = tx.ExecContext(t.Context(), "DROP TABLE links")
	exampletest.Must(t, err)
	exampletest.Must(t, tx.Commit())
	w = s.send(t.Context(), "POST", "/api/links", `{"url":"https://example.org/"}`)
	if w.Code != 500 || strings.TrimSpace(w.Body.String()) != `{"error":"internal server error"}` {
		t.Errorf("failed: %d %s", w.Code, w.Body)
	}
}
