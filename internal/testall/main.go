// Testall runs the tests of every module of the repository, and lists the skipped ones at the end, by their reason. In a
// strict run (see package skip) it fails if one is skipped for a reason that is not in the list there.
//
//	go run ./internal/testall                    # everything
//	go run ./internal/testall -race ./gormplugin # one package, with the race detector
//
// "go test ./..." tests one module only, and does not say which tests it skipped. CONTRIBUTING.md has the variables for
// the servers.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"

	"github.com/sqlflake/sqlflake/internal/skip"
	"github.com/sqlflake/sqlflake/internal/testdb"
)

// Exit codes besides those of go test.
const (
	exitUsage       = 2
	exitInterrupted = 130 // 128 + SIGINT, as shells count
)

// options is the command line.
type options struct {
	race, long bool
	tests      string
	packages   []string
}

func main() {
	// An interrupt reaches the tests by itself, as they are in the same process group. They remove what they created.
	interrupted, cancel := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := run(interrupted, os.Args[1:], os.Stdout, os.Stderr)
	cancel()
	os.Exit(code)
}

// run is main with its inputs and outputs as parameters. It returns the exit code.
func run(interrupted context.Context, args []string, stdout, stderr io.Writer) int {
	opts, err := parse(args, stderr)
	switch {
	case errors.Is(err, flag.ErrHelp):
		return 0
	case err != nil:
		return exitUsage
	}
	defer testdb.Stop()
	code, err := testAll(interrupted, opts, stdout, stderr)
	if err != nil {
		fmt.Fprintf(stderr, "testall: %v\n", err)
	}
	if interrupted.Err() != nil {
		return exitInterrupted
	}
	return code
}

// parse prints an error and the usage.
func parse(args []string, stderr io.Writer) (opts options, err error) {
	flags := flag.NewFlagSet("testall", flag.ContinueOnError)
	flags.SetOutput(stderr)
	flags.Usage = func() {
		fmt.Fprint(stderr, "usage: go run ./internal/testall [flags] [packages such as ./snowflake/...]\n")
		flags.PrintDefaults()
	}
	flags.BoolVar(&opts.race, "race", false, "enable the race detector")
	flags.BoolVar(&opts.long, "long", false, "also run the long tests (sets SNOWFLAKE_TEST_LONG=1)")
	flags.StringVar(&opts.tests, "run", "", "run only the tests that match this `expression`")
	err = flags.Parse(args)
	if opts.packages = flags.Args(); len(opts.packages) == 0 {
		opts.packages = []string{"./..."}
	}
	return opts, err
}

// testAll tests every module, also after a failure. It returns the exit code of the first go command that failed, or 0.
func testAll(interrupted context.Context, opts options, stdout, stderr io.Writer) (int, error) {
	suites, err := plan(opts.packages)
	if err != nil {
		return exitUsage, err
	}
	if out, err := exec.CommandContext(interrupted, "go", "env", "CGO_ENABLED").Output(); err != nil || strings.TrimSpace(string(out)) == "0" {
		return 1, errors.Join(errors.New("SQLite needs cgo: install a C compiler such as gcc or clang, and unset CGO_ENABLED"), err)
	}
	env, err := testdb.Environment(stdout)
	if err != nil {
		return 1, err
	}
	strict, err := skip.Strict()
	if err != nil {
		return exitUsage, err
	}
	args := []string{"test", "-json", "-p=" + strconv.Itoa(max(4, runtime.NumCPU()))} // most packages wait for servers and clocks
	if opts.race {
		args = append(args, "-race")
	}
	timeout := "-timeout=30m" // per package; with -race on a busy machine some take minutes
	if opts.long {
		env = append(env, "SNOWFLAKE_TEST_LONG=1")
		timeout = "-timeout=1h"
	}
	args = append(args, timeout)
	if opts.tests != "" {
		args = append(args, "-run="+opts.tests)
	}
	first := 0
	results := report{out: stdout, output: map[string]*strings.Builder{}, skipped: map[string][]string{}}
	for _, s := range suites {
		if interrupted.Err() != nil {
			break
		}
		fmt.Fprintf(stdout, "\nin %s\n", s.module)
		cmd := exec.Command("go", append(args, s.packages...)...) // without a context: see main
		cmd.Dir, cmd.Env, cmd.Stderr = filepath.FromSlash(s.module), env, stderr
		code, err := results.read(cmd)
		if err != nil {
			return 1, err
		}
		if first == 0 {
			first = code
		}
	}
	if bad := results.finish(); bad > 0 && strict {
		return max(first, 1), fmt.Errorf("%d tests were skipped for a reason that internal/skip does not allow", bad)
	}
	return first, nil
}
