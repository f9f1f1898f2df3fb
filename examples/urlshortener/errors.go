package main

import (
	"context"
	"database/sql/driver"
	"encoding/json"
	"errors"
	"fmt"
	"html/template"
	"io"
	"log/slog"
	"math"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/go-sql-driver/mysql"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/mattn/go-sqlite3"
	"gorm.io/gorm"

	"github.com/sqlflake/sqlflake/snowflake"
	"github.com/sqlflake/sqlflake/snowflake/lease"
	"github.com/sqlflake/sqlflake/snowflake/segment"
)

// problem is an error that the client is told.
type problem struct {
	status int
	text   string
}

func (p *problem) Error() string { return p.text }

func badRequest(format string, args ...any) error {
	return &problem{http.StatusBadRequest, fmt.Sprintf(format, args...)}
}

// writeError answers with the status of the error and {"error": text}, or to a browser with a page.
func writeError(w http.ResponseWriter, r *http.Request, err error) {
	p, due, wait := &problem{http.StatusInternalServerError, "internal error"}, (*snowflake.DueError)(nil), 2*time.Second
	if errors.As(err, &due) {
		wait = due.In
	}
	switch {
	case errors.As(err, &p):
	case errors.Is(err, gorm.ErrRecordNotFound):
		p = &problem{http.StatusNotFound, "no link has this code"}
	case due != nil, isBusy(err):
		p = &problem{http.StatusServiceUnavailable, "the database does not answer in time; try again"}
		w.Header().Set("Retry-After", strconv.Itoa(int(math.Ceil(wait.Seconds()))))
		slog.Warn("unavailable", "method", r.Method, "path", r.URL.Path, "error", err)
	default:
		slog.Error("failed", "method", r.Method, "path", r.URL.Path, "error", err)
	}
	if !strings.Contains(r.Header.Get("Accept"), "text/html") {
		_ = writeJSON(w, p.status, map[string]string{"error": p.text}) // the client is gone
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.WriteHeader(p.status)
	_ = errorPage.Execute(w, p.text)
}

var errorPage = template.Must(template.New("").Parse(`<!doctype html>
<html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<title>Short links</title><link rel="stylesheet" href="/static/style.css">
<main><h1>Sorry: {{.}}</h1><p><a href="/">Short links</a></p></main></html>
`))

// isBusy reports whether the same request may succeed later: the lease or the database stalls, or the program ends.
func isBusy(err error) bool {
	network, lite, pg, my := net.Error(nil), sqlite3.Error{}, (*pgconn.PgError)(nil), (*mysql.MySQLError)(nil)
	return errors.Is(err, snowflake.ErrLeaseStalled) || errors.Is(err, lease.ErrClosed) || errors.Is(err, segment.ErrClosed) ||
		errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled) || errors.As(err, &network) ||
		errors.Is(err, driver.ErrBadConn) || errors.Is(err, mysql.ErrInvalidConn) || errors.As(err, new(*pgconn.ConnectError)) ||
		errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || // the connection was cut
		errors.As(err, &lite) && (lite.Code == sqlite3.ErrBusy || lite.Code == sqlite3.ErrLocked) ||
		errors.As(err, &pg) && slices.Contains([]string{"08", "53", "57"}, pg.Code[:min(2, len(pg.Code))]) || // cut, full, ending
		errors.As(err, &my) && slices.Contains([]uint16{1040, 1053, 1205, 1927}, my.Number) // full, ending, locked, killed
}

// errVanished says that the row of the same URL was deleted before it could be read, which MySQL does in a second query.
var errVanished = errors.New("the link was deleted meanwhile")

// again repeats a write that MySQL has rolled back because of a deadlock, or that found a row which has vanished.
func again(write func() error) (err error) {
	for range 10 {
		var failed *mysql.MySQLError
		if err = write(); !errors.Is(err, errVanished) && (!errors.As(err, &failed) || failed.Number != 1213) { // ER_LOCK_DEADLOCK
			break
		}
	}
	return err
}

func writeJSON(w http.ResponseWriter, status int, value any) error {
	text, err := json.Marshal(value)
	if err != nil {
		return err
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(text) // the client is gone
	return nil
}
