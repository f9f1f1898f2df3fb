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
	// RequireVariable names an environment variable. If its value is "all", the tests of a missing server fail instead
	// of being skipped.
	RequireVariable = "SNOWFLAKE_TEST_REQUIRE"
	// Off is the value of a server's variable that turns the server off.
	Off = "off"

	throwaway = "throwaway"

	// findTimeout bounds the wait for the first answer of a server.
	findTimeout = 10 * time.Second
)

// server is a kind of server: how to find it, and the result.
type server struct {
	name     string // as in Target.Name
	variable string
	fallback string // the address tried while the variable is unset

	// parse checks an address. It returns the DSN, and the address without the password.
	parse   func(value string) (dsn, printed string, err error)
	version func(ctx context.Context, dsn string) (string, error)
	start   func() (dsn string, err error) // starts a throwaway server; nil if there are none of this kind

	once  sync.Once
	found location
}

// location is where a server was found, or why it was not.
type location struct {
	dsn     string
	printed string
	version string
	err     error
	asked   bool // the variable is set, so a missing server is a failure
}

// find looks for the server. Later calls return the result of the first.
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
	loc.printed = "a socket (a throwaway server of this run)"
	return loc
}

// need returns the server. If it is missing, the test is skipped, or fails if the server was asked for.
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

// Status is where the tests find a kind of server, for a report before they run.
type Status struct {
	Name     string // "postgres", "mariadb" ("mysql" if the server is MySQL) or "redis"
	Variable string // the environment variable that names its address
	Address  string // without the password
	Version  string // as the server reports it
	Value    string // for Variable, so that other processes use the same server; may contain a password

	Err    error // why it was not found, on one line; Address, Version and Value are then empty
	Needed bool  // without it, its tests fail instead of being skipped
}

// Servers looks for every kind of server, as the tests do. It may start a throwaway PostgreSQL: call [Stop] at the end.
// It returns an error if the value of SNOWFLAKE_TEST_REQUIRE is unknown.
func Servers() ([]Status, error) {
	required, err := requireAll()
	if err != nil {
		return nil, err
	}
	var all []Status
	for _, s := range []*server{postgresServer, mariadbServer, redisServer} {
		loc := s.find()
		status := Status{Name: s.name, Variable: s.variable, Err: loc.err, Needed: required || loc.asked}
		if loc.err == nil {
			if s == mariadbServer && isMySQL(loc.version) {
				status.Name = "mysql"
			}
			status.Address, status.Version, status.Value = loc.printed, loc.version, loc.dsn
		}
		all = append(all, status)
	}
	return all, nil
}

// oneLine joins the lines of an error: a driver may print each attempt on its own line.
func oneLine(err error) string {
	return strings.Join(strings.Fields(err.Error()), " ")
}
