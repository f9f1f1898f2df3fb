package engine

import (
	"context"
	"crypto/rand"
	"database/sql"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/go-sql-driver/mysql"
	"github.com/jackc/pgx/v5/pgconn"
)

// placePrefix is the prefix of the schemas and databases of the tool; eight random hexadecimal digits follow.
const placePrefix = "sqlflake_storage_"

const placePattern = "^" + placePrefix + "[0-9a-f]{8}$" // valid in PostgreSQL and MariaDB

func newPlace() string {
	var b [4]byte
	_, _ = rand.Read(b[:]) // never fails: crypto/rand ends the program instead
	return placePrefix + hex.EncodeToString(b[:])
}

const (
	connectTimeout = 15 * time.Second // for the first answer of a server
	closeTimeout   = time.Minute      // for removing a place
	idleConns      = 64               // kept by a pool, so that a run with many clients does not reconnect
)

// host is a server that has places: how to create, find and drop them. In statements {place} is the quoted name of a
// place and {comment} the text by which Cleanup knows it.
type host struct {
	where   func() string           // names the server and the user, without the password
	connect func() (*sql.DB, error) // to no place
	quote   func(name string) string
	what    string // "schema" or "database"

	find    string // query for the name, the comment and the number of sessions of all places that match a pattern
	create  string
	comment string
	kills   string // query for the statements that end the sessions of a place
	drop    string
	grant   string // who may allow this user to create places, and how
}

// served is an engine on a server, with a place of its own there.
type served struct {
	base
	host  host
	place string
	made  bool // the place exists, or may exist
}

func (s *served) Close() (err error) {
	if s.db != nil {
		err = s.db.Close()
	}
	if s.made {
		err = errors.Join(err, s.host.remove(s.place))
	}
	return err
}

// found is a place and what is known about it.
type found struct {
	name, comment string
	sessions      int
}

func (h *host) statement(format, name string) string {
	return strings.NewReplacer("{place}", h.quote(name), "{comment}", commentOf(os.Getpid(), hostname())).Replace(format)
}

// places connects, and returns all places of the tool.
func (h *host) places(ctx context.Context) (admin *sql.DB, list []found, err error) {
	if admin, err = h.connect(); err != nil {
		return nil, nil, fmt.Errorf("%s: %w", h.where(), err)
	}
	if err := admin.PingContext(ctx); err != nil {
		_ = admin.Close()
		return nil, nil, fmt.Errorf("%s cannot be reached; start it or correct the DSN: %w", h.where(), err)
	}
	list, err = collect(ctx, admin, func(f *found) []any { return []any{&f.name, &f.comment, &f.sessions} }, h.find, placePattern)
	if err != nil {
		_ = admin.Close()
		return nil, nil, fmt.Errorf("%s: %w", h.where(), err)
	}
	return admin, list, nil
}

// make creates the place.
func (s *served) make(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, connectTimeout)
	defer cancel()
	h := &s.host
	admin, others, err := h.places(ctx)
	if err != nil {
		return err
	}
	defer admin.Close()
	if len(others) > 0 {
		quoted := make([]string, len(others))
		for i, other := range others {
			quoted[i] = h.quote(other.name)
		}
		s.add("There are %ss of other runs, which are running or were killed: %s. -cleanup drops those of killed runs; to drop one: %s.",
			h.what, strings.Join(quoted, ", "), h.statement(h.drop, others[0].name))
	}
	_, err = admin.ExecContext(ctx, h.statement(h.create, s.place))
	if err != nil && denied(err) {
		return fmt.Errorf("%s: the user may not create a %s; %s: %w", h.where(), h.what, h.grant, err)
	}
	// After another error, such as the end of ctx, it may exist. If the server refuses, a place of this name is another's.
	s.made = !refused(err)
	if err == nil {
		_, err = admin.ExecContext(ctx, h.statement(h.comment, s.place))
	}
	if err != nil {
		return fmt.Errorf("%s: create a %s: %w", h.where(), h.what, err)
	}
	return nil
}

// refused reports whether an error is the server's answer to a statement.
func refused(err error) bool {
	var pg *pgconn.PgError
	var my *mysql.MySQLError
	return errors.As(err, &pg) || errors.As(err, &my)
}

// remove drops a place. It ends the sessions that still use it, because they may hold locks.
func (h *host) remove(name string) error {
	ctx, cancel := context.WithTimeout(context.Background(), closeTimeout)
	defer cancel()
	admin, err := h.connect()
	if err == nil {
		defer admin.Close()
		var kills []string
		kills, err = collect(ctx, admin, func(s *string) []any { return []any{s} }, h.kills, name)
		for _, statement := range append(kills, h.statement(h.drop, name)) {
			if err == nil || isNumber(err, 1094) { // the session has ended by itself
				_, err = admin.ExecContext(ctx, statement)
			}
		}
	}
	if err != nil {
		return fmt.Errorf("%s: the %s was not dropped; drop it with %s: %w", h.where(), h.what, h.statement(h.drop, name), err)
	}
	return nil
}

// Kept is a place that Cleanup did not remove, and the reason.
type Kept struct{ Place, Why string }

// cleanup removes the places of processes of this machine that have ended.
func (s *served) cleanup(ctx context.Context) (removed []string, kept []Kept, err error) {
	h := &s.host
	// DROP would wait for ever for the transaction of somebody who looks at the place.
	ctx, cancel := context.WithTimeout(ctx, closeTimeout)
	defer cancel()
	admin, list, err := h.places(ctx)
	if err != nil {
		return nil, nil, err
	}
	defer admin.Close()
	for _, place := range list {
		quoted, why := h.quote(place.name), inUse(place.comment)
		if place.sessions > 0 {
			why = "a session is in it"
		}
		if why != "" {
			kept = append(kept, Kept{quoted, why})
			continue
		}
		if _, err := admin.ExecContext(ctx, h.statement(h.drop, place.name)); err != nil {
			return removed, kept, fmt.Errorf("drop %s: %w", quoted, err)
		}
		removed = append(removed, quoted)
	}
	return removed, kept, nil
}

// commentOf returns the comment of a place. Cleanup and administrators read it.
func commentOf(pid int, host string) string {
	return fmt.Sprintf("sqlflake storage benchmark, process %d on %s; may be dropped after it has ended", pid, host)
}

// hostname returns the name of this machine as it is in comments, empty if it has none.
func hostname() string {
	name, _ := os.Hostname()
	return strings.NewReplacer("'", "", `\`, "").Replace(name)
}

var commentPattern = regexp.MustCompile(
	`^sqlflake storage benchmark, process (\d+) on (.*); may be dropped after it has ended$`)

// inUse returns why a place must be kept: the comment is not the tool's, or its process may be alive. It is empty if
// the process has ended.
func inUse(comment string) string {
	parts := commentPattern.FindStringSubmatch(comment)
	if parts == nil {
		return "its comment is not by this tool"
	}
	if parts[2] == "" || parts[2] != hostname() {
		return fmt.Sprintf("its process is on %q and cannot be checked from here", parts[2])
	}
	pid, err := strconv.Atoi(parts[1])
	if err != nil || alive(pid) {
		return "process " + parts[1] + " lives"
	}
	return ""
}

// alive reports whether a process with this ID exists or may exist.
func alive(pid int) bool {
	if runtime.GOOS == "windows" { // which has no signal 0
		return true
	}
	p, err := os.FindProcess(pid)
	if err == nil {
		err = p.Signal(syscall.Signal(0))
	}
	return !errors.Is(err, os.ErrProcessDone) && !errors.Is(err, syscall.ESRCH)
}
