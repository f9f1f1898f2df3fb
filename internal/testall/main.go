// Testall runs the tests of every module of the workspace. It lists the skipped ones at the end, by their reason. In a
// strict run (see package skip) it fails if one is skipped for a reason that is not in the list there.
//
//	go run ./internal/testall                    # everything
//	go run ./internal/testall -race ./gormplugin # one package, with the race detector
//	go run ./internal/testall ./contrib/...      # a folder, with the modules in it
//
// "go test ./..." tests one module only, and does not say which tests it skipped. CONTRIBUTING.md has the variables for
// the servers.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"github.com/sqlflake/sqlflake/internal/skip"
	"github.com/sqlflake/sqlflake/internal/testdb"
)

const (
	root       = "github.com/sqlflake/sqlflake"
	everything = "./..."
)

// Exit codes that go test does not have.
const (
	exitUsage       = 2
	exitInterrupted = 130 // 128 + SIGINT, as shells count
)

// slow are the packages that take longest, the slowest last. They start first, so that none of them runs alone at the
// end.
var slow = []string{
	"/snowflake/lease", "/contrib/partition", "/gormplugin", "/snowflake/lease/sqllease", "/internal/processtest",
}

// options is the command line.
type options struct {
	race, long bool
	tests      string
	patterns   []string
}

func main() { os.Exit(run()) }

// run returns the exit code.
func run() int {
	// An interrupt reaches the tests by itself, as they are in the same process group. They remove what they created.
	interrupted, cancel := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer cancel()
	defer testdb.Stop()

	code, err := testAll(interrupted, parse(os.Args[1:]))
	if interrupted.Err() != nil {
		fmt.Fprintln(os.Stderr, "testall: interrupted")
		return exitInterrupted
	}
	if err != nil {
		fmt.Fprintf(os.Stderr, "testall: %v\n", err)
	}
	return code
}

// parse ends the program after an error, and after -help.
func parse(args []string) (opts options) {
	flags := flag.NewFlagSet("testall", flag.ExitOnError)
	flags.Usage = func() {
		fmt.Fprint(os.Stderr, "usage: go run ./internal/testall [flags] [packages such as ./snowflake/...]\n")
		flags.PrintDefaults()
	}
	flags.BoolVar(&opts.race, "race", false, "enable the race detector")
	flags.BoolVar(&opts.long, "long", false, "also run the long tests (sets SNOWFLAKE_TEST_LONG=1)")
	flags.StringVar(&opts.tests, "run", "", "run only the tests that match this `expression`")

	_ = flags.Parse(args)
	opts.patterns = flags.Args()
	if len(opts.patterns) == 0 {
		opts.patterns = []string{everything}
	}
	return opts
}

// testAll returns the exit code of go test.
func testAll(interrupted context.Context, opts options) (int, error) {
	packages, err := choose(opts.patterns)
	if err != nil {
		return exitUsage, err
	}
	parallel := max(4, runtime.NumCPU()) // most packages wait for servers and clocks
	announce(opts, len(packages), parallel)

	cgo, err := exec.Command("go", "env", "CGO_ENABLED").Output()
	if err != nil {
		return 1, fmt.Errorf("go env: %w", err)
	}
	if strings.TrimSpace(string(cgo)) == "0" {
		return 1, errors.New("SQLite needs cgo: install a C compiler such as gcc or clang, and unset CGO_ENABLED")
	}
	env, err := testdb.Environment(os.Stdout)
	if err != nil {
		return 1, err
	}

	args := []string{
		"test", "-json", "-p=" + strconv.Itoa(parallel), "-run=" + opts.tests, "-race=" + strconv.FormatBool(opts.race),
	}
	timeout := "-timeout=30m" // per package; with -race on a busy machine some take minutes
	if opts.long {
		env = append(env, "SNOWFLAKE_TEST_LONG=1")
		timeout = "-timeout=1h"
	}
	cmd := exec.Command("go", slices.Concat(args, []string{timeout}, packages)...) // without a context: see main
	cmd.Env, cmd.Stderr = env, os.Stderr

	results := newReport(os.Stdout, len(packages))
	results.terminal = isTerminal(os.Stdout)
	code, err := results.read(interrupted, cmd)
	if err != nil || interrupted.Err() != nil {
		return 1, err
	}
	if bad := results.finish(); bad > 0 && skip.Strict() {
		return max(code, 1), fmt.Errorf("%d tests were skipped for a reason that internal/skip does not allow", bad)
	}
	return code, nil
}

// choose returns the packages that the patterns name, the slow ones first. The patterns are relative to the top folder.
// The go command would leave out the modules in a folder.
func choose(patterns []string) (packages []string, err error) {
	list := exec.Command("go", "list", "-e", "work") // every package of the workspace
	list.Stderr = os.Stderr
	out, err := list.Output()
	if err != nil {
		return nil, fmt.Errorf("go list: %w", err)
	}
	all := strings.Fields(string(out))

	for _, pattern := range patterns {
		dir, below := strings.CutSuffix(pattern, "/...")
		named := path.Join(root, dir)
		if !strings.HasPrefix(pattern, "./") {
			return nil, fmt.Errorf("package %q: want a path such as ./snowflake/... or ./snowflake", pattern)
		}
		found := slices.DeleteFunc(slices.Clone(all), func(pkg string) bool {
			isBelow := below && strings.HasPrefix(pkg, named+"/")
			return pkg != named && !isBelow
		})
		if len(found) == 0 {
			return nil, fmt.Errorf("package %q: there is none in the workspace", pattern)
		}
		packages = append(packages, found...)
	}
	slices.SortStableFunc(packages, func(a, b string) int { return rank(b) - rank(a) })
	return packages, nil
}

// rank is higher the earlier a package starts.
func rank(pkg string) int { return slices.Index(slow, strings.TrimPrefix(pkg, root)) }

// announce says what will happen, and how long it takes.
func announce(opts options, packages, parallel int) {
	fmt.Printf("testing %d packages, %d at a time", packages, parallel)
	if slices.Contains(opts.patterns, everything) && opts.tests == "" {
		fmt.Print(": about 6 minutes on 2 cores (-race 8 minutes, -long 2 hours), and 10 minutes more to compile for " +
			"the first time")
	}
	fmt.Println()
}
