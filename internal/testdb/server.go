package testdb

import (
	"context"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"
	"time"
)

const (
	// RequireVariable names the environment variable that turns every skip into a failure when it is "all".
	RequireVariable = "SNOWFLAKE_TEST_REQUIRE"
	// Off as the value of a server's variable says that there is no such server.
	Off = "off"

	throwaway = "throwaway"

	// findTimeout bounds the wait for a server's first answer, on a busy machine.
	findTimeout = 10 * time.Second
)

// server is one kind of server: how to find it, and what was found.
type server struct {
	name     string // as in Target.Name
	variable string
	fallback string // the address tried while the variable is unset

	// parse checks an address and returns the DSN to use and the form to print, without the password.
	parse   func(value string) (dsn, printed string, err error)
	version func(ctx context.Context, dsn string) (string, error)
	start   func() (dsn string, err error) // starts a throwaway server; nil where there is no such thing

	once  sync.Once
	found location
}

// location says where a server is, or why there is none.
type location struct {
	dsn     string
	printed string
	version string
	err     error
	asked   bool // the variable names a server, so somebody counts on it
}

// find looks for the server at the first call and gives the same answer ever after.
func (s *server) find() location {
	s.once.Do(func() { s.found = s.look(os.Getenv(s.variable)) })
	return s.found
}

func (s *server) look(value string) location {
	switch {
	case value == Off:
		return location{err: fmt.Errorf("turned off by %s=%s", s.variable, Off)}
	case value == throwaway && s.start != nil:
		own := s.launch()
		own.asked = true
		return own
	case value != "":
		loc := s.ask(value)
		loc.asked = true
		return loc
	}
	loc := s.ask(s.fallback)
	if loc.err == nil || s.start == nil {
		return loc
	}
	own := s.launch()
	if own.err != nil {
		own.err = fmt.Errorf("%w; no throwaway server: %w", loc.err, own.err)
	}
	return own
}

func (s *server) ask(value string) location {
	dsn, printed, err := s.parse(value)
	if err != nil {
		return location{err: fmt.Errorf("%s: %w", s.variable, err)}
	}
	ctx, cancel := context.WithTimeout(context.Background(), findTimeout)
	defer cancel()
	version, err := s.version(ctx, dsn)
	if err != nil {
		err = fmt.Errorf("not found at %s: %s", printed, oneLine(err))
	}
	return location{dsn: dsn, printed: printed, version: version, err: err}
}

func (s *server) launch() location {
	dsn, err := s.start()
	if err != nil {
		return location{err: err}
	}
	loc := s.ask(dsn)
	loc.printed = "a socket of its own (a throwaway server of this run)"
	return loc
}

// need returns the server, or ends the test: by a skip, or by a failure where a skip would hide a missing server.
func (s *server) need(tb testing.TB) location {
	tb.Helper()
	required, err := requireAll()
	if err != nil {
		tb.Fatal(err)
	}
	loc := s.find()
	switch {
	case loc.err == nil:
	case loc.asked:
		tb.Fatalf("testdb: %s %v", s.name, loc.err)
	case required:
		tb.Fatalf("testdb: %s %v (%s=all: set %s)", s.name, loc.err, RequireVariable, s.variable)
	default:
		tb.Skipf("testdb: %s %v (set %s)", s.name, loc.err, s.variable)
	}
	return loc
}

// requireAll reports whether a missing server is a failure.
func requireAll() (bool, error) {
	switch value := os.Getenv(RequireVariable); value {
	case "":
		return false, nil
	case "all":
		return true, nil
	default:
		return false, fmt.Errorf("testdb: %s is %q, want \"all\" or nothing", RequireVariable, value)
	}
}

// oneLine makes the report of a driver, which may list every attempt on a line, fit into a line.
func oneLine(err error) string {
	return strings.Join(strings.Fields(err.Error()), " ")
}
