// Testall runs the tests of every module of the repository, and lists the skipped ones at the end.
//
//	go run ./internal/testall                    # everything
//	go run ./internal/testall -race ./gormplugin # one package, with the race detector
//
// "go test ./..." tests one module only, and does not say which tests it skipped.
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

	"github.com/sqlflake/sqlflake/internal/testdb"
)

const usage = `usage: go run ./internal/testall [flags] [packages]

Runs go test in every module of the repository. Flags:

  -race          enable the race detector
  -v             print the output of every test
  -long          also run the long tests (sets SNOWFLAKE_TEST_LONG=1)

Packages are paths such as ./snowflake/... (default: ./...).

The tests use SQLite and the servers at the addresses in these environment variables. The defaults are:

  SNOWFLAKE_TEST_POSTGRES=postgres://postgres@127.0.0.1:5432/test
  SNOWFLAKE_TEST_MYSQL='root@tcp(127.0.0.1:3306)/'                  (MariaDB or MySQL)
  SNOWFLAKE_TEST_REDIS=127.0.0.1:6379
  SNOWFLAKE_TEST_NATS=127.0.0.1:4222

The value "off" turns a server off. The tests of a missing server are skipped; with SNOWFLAKE_TEST_REQUIRE=all they fail.
If no PostgreSQL answers and its programs are installed, a temporary one is started.
`

// Exit codes besides those of go test.
const (
	exitUsage       = 2
	exitInterrupted = 130 // 128 + SIGINT, as shells count
)

// options is the command line.
type options struct {
	race, verbose, long bool
	packages            []string
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
	opts, err := parse(args)
	switch {
	case errors.Is(err, flag.ErrHelp):
		fmt.Fprint(stdout, usage)
		return 0
	case err != nil:
		fmt.Fprintf(stderr, "testall: %v\n\n%s", err, usage)
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

func parse(args []string) (options, error) {
	var opts options
	flags := flag.NewFlagSet("testall", flag.ContinueOnError)
	flags.SetOutput(io.Discard) // run prints the error and the usage
	flags.BoolVar(&opts.race, "race", false, "")
	flags.BoolVar(&opts.verbose, "v", false, "")
	flags.BoolVar(&opts.long, "long", false, "")
	if err := flags.Parse(args); err != nil {
		return options{}, err
	}
	if opts.packages = flags.Args(); len(opts.packages) == 0 {
		opts.packages = []string{"./..."}
	}
	return opts, nil
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
	args := []string{"test", "-json", "-p=" + strconv.Itoa(max(4, runtime.NumCPU()))} // most packages wait for servers and clocks
	if opts.race {
		args = append(args, "-race")
	}
	if opts.long {
		env = append(env, "SNOWFLAKE_TEST_LONG=1")
		args = append(args, "-timeout=1h")
	}
	first := 0
	results := report{out: stdout, verbose: opts.verbose, output: map[string]*strings.Builder{}}
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
	results.printSkipped()
	return first, nil
}
