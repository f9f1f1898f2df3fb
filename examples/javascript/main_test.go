package main

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"gorm.io/gorm"
)

// The numbers of JavaScript are 32 apart for the IDs of Default in this month, and 256 for those of Twitter.
var november = time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)

func withUsers(t *testing.T) *gorm.DB {
	t.Helper()
	db, err := openDB()
	if err != nil {
		t.Fatal(err)
	}
	if pool, err := db.DB(); err == nil {
		t.Cleanup(func() { _ = pool.Close() })
	}
	if err := createUsers(db.WithContext(t.Context())); err != nil {
		t.Fatal(err)
	}
	return db.WithContext(t.Context())
}

func TestNumbersCollapseAndStringsDoNot(t *testing.T) {
	db := withUsers(t)
	for range 50 { // the digits that JavaScript prints depend on the millisecond
		if err := createUsers(db); err != nil {
			t.Fatal(err)
		}
		r, err := inGo(db, november)
		if err != nil {
			t.Fatal(err)
		}
		var opens []string
		for _, l := range r.Links {
			opens = append(opens, l.Kind+" "+l.Opens)
			if exact := l.Sent == l.Read; exact != (l.Kind != "numbers") {
				t.Errorf("%s: sent %s, read %s", l.Kind, l.Sent, l.Read)
			}
		}
		if want := []string{"numbers 404", "numbers 404", "strings Ada", "strings Grace", "safe Ada", "safe Grace"}; !slices.Equal(opens, want) {
			t.Fatalf("the links open %q, want %q: %+v", opens, want, r.Links)
		}
		if r.Links[0].Read != r.Links[1].Read {
			t.Errorf("two numbers: %s and %s", r.Links[0].Read, r.Links[1].Read)
		}
		want := []count{
			{"Default", 4096, 129, "2025-01-25T20:31:23.648Z"},
			{"Twitter", 4096, 17, "2010-11-28T22:14:18.305Z"},
			{"JavaScriptSafe", 256, 256, "never"},
		}
		if !slices.Equal(r.Counts, want) {
			t.Fatalf("counted %+v, want %+v", r.Counts, want)
		}
	}
}

func TestNodeComputesWhatGoSays(t *testing.T) {
	node, err := exec.LookPath("node")
	if err != nil {
		t.Skip("node is not installed")
	}
	db := withUsers(t)
	server := httptest.NewServer(newHandler(db, func() time.Time { return november }))
	defer server.Close()
	got, err := inNode(t.Context(), node, server.URL)
	if err != nil {
		t.Fatal(err)
	}
	want, err := inGo(db, november)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(got.Engine, "node v") {
		t.Errorf("engine %q", got.Engine)
	}
	want.Engine = got.Engine
	if !reflect.DeepEqual(got, want) {
		t.Errorf("node: %+v\nGo:   %+v", got, want)
	}
}

func TestItRunsWithAndWithoutNode(t *testing.T) {
	for _, engine := range []string{"node v", "Go as float64, because node is not installed"} {
		if _, err := exec.LookPath("node"); err != nil && engine == "node v" {
			continue
		} else if engine != "node v" {
			t.Setenv("PATH", t.TempDir())
		}
		var table, text strings.Builder
		if err := run(t.Context(), nil, &table); err != nil {
			t.Fatal(err)
		}
		if head, rest, _ := strings.Cut(table.String(), "\n"); !strings.Contains(head, engine) || !strings.Contains(rest, "never\n") {
			t.Errorf("printed\n%s", table.String())
		}
		var r result
		if err := run(t.Context(), []string{"-json"}, &text); err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal([]byte(text.String()), &r); err != nil || len(r.Links) != 6 || len(r.Counts) != 3 {
			t.Errorf("error %v, printed\n%s", err, text.String())
		}
	}
}

// firstLine is a writer that sends what is written first.
type firstLine chan string

func (c firstLine) Write(text []byte) (int, error) {
	c <- strings.TrimSpace(string(text))
	return len(text), nil
}

func TestAnotherSiteCreatesNoUsers(t *testing.T) {
	request := httptest.NewRequest(http.MethodPost, "/api/users", nil)
	request.Header.Set("Sec-Fetch-Site", "cross-site")
	answer := httptest.NewRecorder()
	newHandler(withUsers(t), time.Now).ServeHTTP(answer, request)
	if answer.Code != http.StatusForbidden {
		t.Errorf("status %d, want 403", answer.Code)
	}
}

func TestItServesUntilTheContextEnds(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	line, ended := make(firstLine, 1), make(chan error, 1)
	go func() { ended <- run(ctx, []string{"-serve", "127.0.0.1:0"}, line) }()
	base := <-line
	for path, want := range map[string]int{
		"/":                               http.StatusOK,
		"/page/demonstration.js":          http.StatusOK,
		"/api/strings/users":              http.StatusOK,
		"/api/strings/users/1":            http.StatusNotFound,
		"/api/strings/users/1%20OR%201=1": http.StatusNotFound,
		"/api/other/users/1":              http.StatusNotFound,
	} {
		resp, err := http.Get(base + path)
		if err != nil {
			t.Fatal(err)
		}
		_ = resp.Body.Close()
		if resp.StatusCode != want {
			t.Errorf("%s: %s, want %d", path, resp.Status, want)
		}
	}
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

func TestBadArgumentsAreExplained(t *testing.T) {
	for args, want := range map[string]string{
		"extra":          `unexpected argument "extra"`,
		"-colour":        "flag provided but not defined",
		"-serve nowhere": "missing port",
	} {
		var out strings.Builder
		if err := run(t.Context(), strings.Fields(args), &out); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v, want %q", args, err, want)
		}
	}
}
