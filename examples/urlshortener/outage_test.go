package main

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/mattn/go-sqlite3"
	"gorm.io/gorm"

	"github.com/sqlflake/sqlflake/gormplugin"
	"github.com/sqlflake/sqlflake/internal/testclock"
	"github.com/sqlflake/sqlflake/internal/testdb"
	"github.com/sqlflake/sqlflake/snowflake"
	"github.com/sqlflake/sqlflake/snowflake/lease"
	"github.com/sqlflake/sqlflake/snowflake/segment"
)

// serve answers a request that gives up after the time.
func (c *client) serve(within time.Duration, method, path, body string) *httptest.ResponseRecorder {
	c.Helper()
	ctx, cancel := context.WithTimeout(c.Context(), within)
	defer cancel()
	request := httptest.NewRequestWithContext(ctx, method, path, strings.NewReader(body))
	request.Host = c.base.Host
	request.Header.Set("Content-Type", "application/json")
	recorder := httptest.NewRecorder()
	c.handler().ServeHTTP(recorder, request)
	return recorder
}

func TestADatabaseThatStallsIsUnavailableAndLosesNothing(t *testing.T) {
	target := testdb.Postgres(t)
	clock := testclock.New(0)
	c := startWith(t, target, "id", 10*time.Second, gormplugin.WithLease(lease.WithClock(clock))) // a fifth of it for a visit
	made := c.want("new", c.post("https://example.com/1"), 201)

	lock := target.Open(t)
	tx, err := lock.BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tx.ExecContext(t.Context(), "LOCK TABLE snowflake_leases"); err != nil {
		t.Fatal(err)
	}
	for c.plugin.Lease().Status().Horizon.After(clock.Now()) { // an extension may have been on its way
		clock.Push(time.Minute)
	}
	a := c.serve(300*time.Millisecond, "POST", "/api/links", `{"url":"https://example.com/2"}`)
	if a.Code != http.StatusServiceUnavailable || a.Header().Get("Retry-After") == "" || !strings.Contains(a.Body.String(), `"error":"`) {
		t.Errorf("%d %v %s", a.Code, a.Header(), a.Body)
	}
	if a := c.serve(c.limit, "GET", "/"+made.Code, ""); a.Code != http.StatusFound {
		t.Errorf("a redirect needs no ID, but is %d %s", a.Code, a.Body)
	}
	if err := tx.Rollback(); err != nil {
		t.Fatal(err)
	}
	for { // until the lease is extended
		a := c.post("https://example.com/2")
		if a.status == http.StatusCreated {
			break
		}
		c.want("as long as it stalls", a, http.StatusServiceUnavailable)
	}
	if n := c.rows(); n != 2 {
		t.Errorf("%d links, want 2", n)
	}
}

func TestATableThatIsLockedIsUnavailable(t *testing.T) {
	target := testdb.Postgres(t)
	c := start(t, target, "id")
	tx, err := target.Open(t).BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = tx.Rollback() }()
	if _, err := tx.ExecContext(t.Context(), "LOCK TABLE links"); err != nil {
		t.Fatal(err)
	}
	for _, request := range [][3]string{
		{"POST", "/api/links", `{"url":"https://example.com/"}`},
		{"GET", "/" + snowflake.ID(1).Base62(), ""},
		{"GET", "/api/links", ""},
	} {
		a := c.serve(100*time.Millisecond, request[0], request[1], request[2])
		if a.Code != http.StatusServiceUnavailable || a.Header().Get("Retry-After") != "2" {
			t.Errorf("%s %s: %d %v %s", request[0], request[1], a.Code, a.Header(), a.Body)
		}
	}
}

func TestAStoreThatIsGoneIsUnavailable(t *testing.T) {
	c := onSQLite(t, "id")
	if err := c.plugin.Close(t.Context()); err != nil { // its generator returns lease.ErrClosed
		t.Fatal(err)
	}
	a := c.want("new", c.post("https://example.com/"), 503)
	if a.header.Get("Retry-After") != "2" {
		t.Errorf("headers %v", a.header)
	}
}

func TestRetryAfterIsWhenTheIDIsDue(t *testing.T) {
	// Two IDs a second, and two hundred calls wait for theirs: the next one is due long after the limit of a request.
	layout, err := snowflake.ParseLayout("epoch=2025-01-01T00:00:00Z tick=1s time:40 worker:10 sequence:1")
	if err != nil {
		t.Fatal(err)
	}
	c := startWith(t, testdb.SQLite(t), "short", requestTime, gormplugin.WithLease(lease.WithGenerator(snowflake.WithLayout(layout))))
	ctx, cancel := context.WithCancel(t.Context())
	var waiting sync.WaitGroup
	for range 200 {
		waiting.Go(func() { _, _ = c.plugin.Lease().Generator().NextContext(ctx) })
	}
	for wait := 0; wait < 30; { // until most of them wait; before, the ID may be due in time
		a := c.post("https://example.com/")
		if a.status == http.StatusCreated || a.status == http.StatusOK {
			continue
		}
		c.want("new", a, 503)
		var err error
		if wait, err = strconv.Atoi(a.header.Get("Retry-After")); err != nil || wait < 3 || wait > 110 {
			t.Fatalf("Retry-After is %q: %s", a.header.Get("Retry-After"), a.body)
		}
	}
	cancel()
	waiting.Wait()
}

func TestEachErrorHasItsStatus(t *testing.T) {
	for _, test := range []struct {
		err    error
		status int
		retry  string
	}{
		{snowflake.ErrLeaseStalled, 503, "2"},
		{&snowflake.DueError{In: 2500 * time.Millisecond}, 503, "3"},
		{&snowflake.DueError{In: time.Millisecond}, 503, "1"},
		{segment.ErrClosed, 503, "2"},
		{driver.ErrBadConn, 503, "2"},
		{mysql.ErrInvalidConn, 503, "2"},
		{io.EOF, 503, "2"},
		{io.ErrUnexpectedEOF, 503, "2"},
		{new(pgconn.ConnectError), 503, "2"},
		{context.DeadlineExceeded, 503, "2"},
		{&net.OpError{Op: "dial", Err: errors.New("refused")}, 503, "2"},
		{sqlite3.Error{Code: sqlite3.ErrBusy}, 503, "2"},
		{&pgconn.PgError{Code: "53300"}, 503, "2"},  // too many connections
		{&pgconn.PgError{Code: "57P01"}, 503, "2"},  // the server ends
		{&pgconn.PgError{Code: "08006"}, 503, "2"},  // the connection failed
		{&mysql.MySQLError{Number: 1040}, 503, "2"}, // too many connections
		{&mysql.MySQLError{Number: 1053}, 503, "2"}, // the server ends
		{&mysql.MySQLError{Number: 1205}, 503, "2"}, // waited too long for a lock
		{&mysql.MySQLError{Number: 1927}, 503, "2"}, // the connection was killed
		{&mysql.MySQLError{Number: 1146}, 500, ""},  // no such table
		{&pgconn.PgError{}, 500, ""},
		{&pgconn.PgError{Code: "42P01"}, 500, ""}, // no such table
		{sqlite3.Error{Code: sqlite3.ErrCorrupt}, 500, ""},
		{errors.New("a secret"), 500, ""},
		{gorm.ErrRecordNotFound, 404, ""},
		{badRequest("no"), 400, ""},
	} {
		recorder := httptest.NewRecorder()
		writeError(recorder, httptest.NewRequest(http.MethodGet, "/", nil), fmt.Errorf("while it was tested: %w", test.err))
		if recorder.Code != test.status || recorder.Header().Get("Retry-After") != test.retry ||
			!strings.HasPrefix(recorder.Body.String(), `{"error":"`) || strings.Contains(recorder.Body.String(), "secret") {
			t.Errorf("%v: %d %v %s", test.err, recorder.Code, recorder.Header(), recorder.Body)
		}
	}
}
