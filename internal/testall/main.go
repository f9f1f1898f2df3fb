// Testall runs the tests of every module of the repository. It first prints which database servers they use.
//
//	go run ./internal/testall                    # everything
//	go run ./internal/testall -race ./gormplugin # one package, with the race detector
//
// "go test ./..." tests one module only and does not print which servers are missing.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/sqlflake/sqlflake/internal/testdb"
)

const usage = `usage: go run ./internal/testall [flags] [packages]

Runs go test in every module of the repository. Flags:

  -race          enable the race detector
  -v             print every test
  -long          also run the long tests (sets SNOWFLAKE_TEST_LONG=1)
  -fuzz 10s      instead of the tests, run each fuzz target for a duration or a number of runs: 5000x

Packages are paths such as ./snowflake/... (default: ./...).

The tests use SQLite and the servers at the addresses in these environment variables. The defaults are:

  SNOWFLAKE_TEST_POSTGRES=postgres://postgres@127.0.0.1:5432/test
  SNOWFLAKE_TEST_MYSQL='root@tcp(127.0.0.1:3306)/'                  (MariaDB or MySQL)
  SNOWFLAKE_TEST_REDIS=127.0.0.1:6379

SNOWFLAKE_TEST_BROWSER is the path of Chromium or Chrome, for the tests of pages; by default it is looked for.

The value "off" turns a server off. The tests of a missing server are skipped; with SNOWFLAKE_TEST_REQUIRE=all they fail.
If no PostgreSQL answers and its programs are installed, a temporary one is started.

Example, the tests of one package with the race detector:

  go run ./internal/testall -race ./gormplugin
`

// Exit codes besides those of go test.
const (
	exitUsage       = 2
	exitInterrupted = 130 // 128 + SIGINT, as shells count
)

// options is the command line.
type options struct {
	race, verbose, long bool
	fuzz                string // -fuzztime of go test; "" runs the tests
	packages            []string
}

func main() {
	os.Exit(run(os.Args[1:], os.Stdout, os.Stderr))
}

// run is main with arguments and outputs as parameters. It returns the exit code.
func run(args []string, stdout, stderr io.Writer) int {
	opts, err := parse(args)
	switch {
	case errors.Is(err, flag.ErrHelp):
		fmt.Fprint(stdout, usage)
		return 0
	case err != nil:
		fmt.Fprintf(stderr, "testall: %v\n\n%s", err, usage)
		return exitUsage
	}
	ctx, cancel := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer cancel()
	defer testdb.Stop()
	code, err := testAll(ctx, opts, stdout, stderr)
	if err != nil {
		fmt.Fprintf(stderr, "testall: %v\n", err)
	}
	if ctx.Err() != nil {
		return exitInterrupted
	}
	return code
}

func parse(args []string) (options, error) {
	var opts options
	flags := flag.NewFlagSet("testall", flag.ContinueOnError)
	flags.SetOutput(io.Discard) // run prints the error and the usage
	flags.BoolVar(&opts.race, "race", false, "")
	flags.BoolVar(&opts.verbose, "v", false, "")
	flags.BoolVar(&opts.long, "long", false, "")
	flags.StringVar(&opts.fuzz, "fuzz", "", "")
	if err := flags.Parse(args); err != nil {
		return options{}, err
	}
	if opts.fuzz != "" && !isFuzzTime(opts.fuzz) {
		return options{}, fmt.Errorf("-fuzz %s: want a positive duration such as 10s, or a number of runs such as 5000x", opts.fuzz)
	}
	opts.packages = flags.Args()
	if len(opts.packages) == 0 {
		opts.packages = []string{"./..."}
	}
	return opts, nil
}

// isFuzzTime reports whether go test accepts the text as -fuzztime.
func isFuzzTime(text string) bool {
	if runs, ok := strings.CutSuffix(text, "x"); ok {
		n, err := strconv.Atoi(runs)
		return err == nil && n > 0
	}
	d, err := time.ParseDuration(text)
	return err == nil && d > 0
}

// testAll returns the exit code of the first command that failed, or 0.
func testAll(ctx context.Context, opts options, stdout, stderr io.Writer) (int, error) {
	root, err := findRoot()
	if err != nil {
		return exitUsage, err
	}
	modules, err := findModules(root)
	if err != nil {
		return exitUsage, err
	}
	suites, err := plan(modules, opts.packages)
	if err != nil {
		return exitUsage, err
	}
	servers, err := testdb.Servers()
	if err != nil {
		return exitUsage, err
	}
	env, err := report(stdout, servers)
	if err != nil {
		return 1, err
	}
	if opts.long {
		env = append(env, "SNOWFLAKE_TEST_LONG=1")
	}
	tester := goTester{root: root, env: env, opts: opts, stdout: stdout, stderr: stderr}
	if err := tester.checkCompiler(ctx); err != nil {
		return 1, err
	}
	first := 0
	for _, suite := range suites {
		code, err := tester.test(ctx, suite)
		if err != nil {
			return max(first, 1), err
		}
		if first == 0 {
			first = code
		}
		if ctx.Err() != nil {
			break
		}
	}
	return first, nil
}
