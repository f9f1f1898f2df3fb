package testdb

import (
	"context"
	"crypto/rand"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sqlflake/sqlflake/internal/dbserver"
	"github.com/sqlflake/sqlflake/internal/skip"
)

const (
	// Off is the value of a server's variable that turns the server off.
	Off = "off"

	throwaway = "throwaway"

	// findTimeout bounds the wait for the first answer of a server. A busy machine takes seconds.
	findTimeout = time.Minute
)

// server is a kind of server: how to find it, and the result.
type server struct {
	name     string // as in Target.Name
	variable string
	fallback string // the address tried while the variable is unset; empty if there is none

	// parse checks an address. It returns the DSN, and the address without the password.
	parse   func(value string) (dsn, printed string, err error)
	driver  string
	version string // the query for it
	program string // dbserver's name for it

	once  sync.Once
	found location
}

// location is where a server was found, or why it was not.
type location struct {
	dsn     string
	printed string
	version string
	err     error
}

// find looks for the server. Later calls return the result of the first.
func (s *server) find() location {
	s.once.Do(func() { s.found = s.look(os.Getenv(s.variable)) })
	return s.found
}

func (s *server) look(value string) location {
	kind, folder, _ := strings.Cut(value, ":")
	switch {
	case value == Off:
		return location{err: fmt.Errorf("turned off by %s=%s", s.variable, Off)}
	case kind == throwaway:
		return s.launch(folder)
	case value != "":
		return s.ask(value)
	case s.fallback == "":
		return location{err: errors.New("only with " + s.variable)}
	}

	loc := s.ask(s.fallback)
	if loc.err == nil {
		return loc
	}

	own := s.launch("")
	if own.err != nil {
		own.err = fmt.Errorf("%w; no throwaway server: %w", loc.err, own.err)
	}
	return own
}

// isAsked reports whether the variable asks for a server, so that a missing one is a failure.
func (s *server) isAsked() bool { return !slices.Contains([]string{"", Off}, os.Getenv(s.variable)) }

func (s *server) ask(value string) location {
	dsn, printed, err := s.parse(value)
	if err != nil {
		return location{err: fmt.Errorf("%s: %w", s.variable, err)}
	}

	ctx, cancel := context.WithTimeout(context.Background(), findTimeout)
	defer cancel()

	var version string
	err = admin(ctx, s.driver, dsn, func(ctx context.Context, db *sql.DB) error {
		return db.QueryRowContext(ctx, s.version).Scan(&version)
	})
	if err != nil {
		// A driver may print each attempt on its own line.
		err = fmt.Errorf("not found at %s: %s", printed, strings.Join(strings.Fields(err.Error()), " "))
	}

	return location{dsn: dsn, printed: printed, version: version, err: err}
}

func (s *server) launch(folder string) location {
	dsn, err := startServer(s.program, folder)
	if err != nil {
		return location{err: err}
	}
	loc := s.ask(dsn)
	loc.printed = "a socket (a throwaway server of this run)"
	return loc
}

// need returns the server. If it is missing, the test is skipped, or fails if the server was requested. The package's
// TestMain must call [Main].
func (s *server) need(tb testing.TB) location {
	tb.Helper()
	if !mainRuns.Load() {
		tb.Fatal("testdb needs func TestMain(m *testing.M) { os.Exit(testdb.Main(m)) } in the test package")
	}

	loc := s.find()
	switch {
	case loc.err == nil:
	case s.isAsked():
		tb.Fatalf("testdb: %s %v", s.name, loc.err)
	case s.fallback == "":
		tb.Skip(loc.err)
	default:
		skip.Missing(tb, s.variable, "%s %v (set %s)", s.name, loc.err, s.variable)
	}

	return loc
}

// Environment prints a line for each server, and returns the environment in which other processes use the same ones:
// with fixed addresses go test reuses no results of other servers. It may start throwaway servers; call [Stop] at the
// end. It returns an error if a server is missing whose tests would fail.
func Environment(w io.Writer) (env []string, err error) {
	env = os.Environ()
	for _, s := range []*server{postgresServer, mariadbServer} {
		loc := s.find()
		switch {
		case loc.err == nil:
			fmt.Fprintf(w, "%-9s %s at %s\n", s.name, loc.version, loc.printed)
		case s.isAsked(), skip.Strict() && os.Getenv(s.variable) != Off:
			err = errors.Join(err, fmt.Errorf("%s: %w: set %s to an address, or to off", s.name, loc.err, s.variable))
		default:
			fmt.Fprintf(w, "%-9s %v: its tests are skipped (set %s)\n", s.name, loc.err, s.variable)
			loc.dsn = Off
		}

		env = append(env, s.variable+"="+loc.dsn)
	}

	return env, err
}

// adminTimeout bounds the setup and the cleanup of one test. A busy machine takes seconds.
const adminTimeout = 3 * time.Minute

// create runs the statement that makes a schema or database. An error fails the test.
func create(tb testing.TB, name, driver, dsn, statement string) {
	tb.Helper()
	ctx, cancel := context.WithTimeout(tb.Context(), adminTimeout)
	defer cancel()
	if err := admin(ctx, driver, dsn, execAll(statement)); err != nil {
		tb.Fatalf("testdb: %s: %v", name, err)
	}
}

// admin runs work on its own connection to the server.
func admin(ctx context.Context, driver, dsn string, work func(ctx context.Context, db *sql.DB) error) error {
	db, err := sql.Open(driver, dsn)
	if err != nil {
		return err
	}
	defer db.Close()
	return work(ctx, db)
}

// execAll returns work for admin that executes the statements in order.
func execAll(statements ...string) func(context.Context, *sql.DB) error {
	return func(ctx context.Context, db *sql.DB) error {
		for _, statement := range statements {
			if _, err := db.ExecContext(ctx, statement); err != nil {
				return err
			}
		}
		return nil
	}
}

// newName returns a random name that is a valid identifier in every database here.
func newName() string {
	return "sqlflake_test_" + strings.ToLower(rand.Text()[:20])
}

var (
	startedMu sync.Mutex
	started   []*dbserver.Server // the throwaway servers of this process
)

// startServer starts a server for this process and returns its DSN.
func startServer(name, folder string) (dsn string, err error) {
	// Without waiting for the disk: nothing is read after a crash.
	s, err := dbserver.Start(context.Background(), dbserver.Config{Name: name, Folder: folder, NoSync: true})
	if err != nil {
		return "", err
	}

	startedMu.Lock()
	defer startedMu.Unlock()

	started = append(started, s)
	return s.DSN, nil
}

// Stop drops spare databases, ends the throwaway servers that this process has started, and removes their folders.
// [Main] calls it.
func Stop() {
	dropSpare()
	startedMu.Lock()
	defer startedMu.Unlock()

	for _, s := range started {
		if err := s.Stop(); err != nil {
			fmt.Fprintf(os.Stderr, "testdb: stop a throwaway server: %v\n", err)
		}
	}

	started = nil
}
