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

// slow are the packages that take longest. They start first, so that none of them runs alone at the end.
var slow = []string{
	"/internal/processtest", "/snowflake/lease/sqllease", "/gormplugin", "/contrib/partition", "/snowflake/lease",
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
	opts, err := parse(os.Args[1:])
	switch {
	case errors.Is(err, flag.ErrHelp):
		return 0
	case err != nil:
		return exitUsage
	}

	defer testdb.Stop()
	code, err := testAll(interrupted, opts)
	if interrupted.Err() != nil {
		fmt.Fprintln(os.Stderr, "testall: interrupted")
		return exitInterrupted
	}
	if err != nil {
		fmt.Fprintf(os.Stderr, "testall: %v\n", err)
	}
	return code
}

// parse prints an error and the usage.
func parse(args []string) (opts options, err error) {
	flags := flag.NewFlagSet("testall", flag.ContinueOnError)
	flags.Usage = func() {
		fmt.Fprint(os.Stderr, "usage: go run ./internal/testall [flags] [packages such as ./snowflake/...]\n")
		flags.PrintDefaults()
	}
	flags.BoolVar(&opts.race, "race", false, "enable the race detector")
	flags.BoolVar(&opts.long, "long", false, "also run the long tests (sets SNOWFLAKE_TEST_LONG=1)")
	flags.StringVar(&opts.tests, "run", "", "run only the tests that match this `expression`")

	err = flags.Parse(args)
	opts.patterns = flags.Args()
	if len(opts.patterns) == 0 {
		opts.patterns = []string{everything}
	}
	return opts, err
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

	args := []string{"test", "-json", "-p=" + strconv.Itoa(parallel), "-run=" + opts.tests}
	if opts.race {
		args = append(args, "-race")
	}
	timeout := "-timeout=30m" // per package; with -race on a busy machine some take minutes
	if opts.long {
		env = append(env, "SNOWFLAKE_TEST_LONG=1")
		timeout = "-timeout=1h"
	}
	cmd := exec.Command("go", slices.Concat(args, []string{timeout}, packages)...) // without a context: see main
	cmd.Env, cmd.Stderr = env, os.Stderr

	results := newReport(os.Stdout, len(packages))
	code, err := results.read(interrupted, cmd)
	if err != nil || interrupted.Err() != nil {
		return 1, err
	}
	if bad := results.finish(); bad > 0 && skip.Strict() {
		return max(code, 1), fmt.Errorf("%d tests were skipped for a reason that internal/skip does not allow", bad)
	}
	return code, nil
}

// choose returns the packages that the patterns name, the slow ones first. The patterns are relative to the top folder,
// which is the working folder. The go command would leave out the modules in a folder.
func choose(patterns []string) (packages []string, err error) {
	gomod, _ := os.ReadFile("go.mod") // in another folder it is missing, or another one
	if !strings.HasPrefix(string(gomod), "module "+root+"\n") {
		return nil, errors.New("this is not the top folder of the repository")
	}
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
		found := 0
		for _, pkg := range all {
			if pkg == named || below && strings.HasPrefix(pkg, named+"/") {
				packages = append(packages, pkg)
				found++
			}
		}
		if found == 0 {
			return nil, fmt.Errorf("package %q: there is none in the workspace", pattern)
		}
	}
	slices.SortStableFunc(packages, func(a, b string) int { return rank(a) - rank(b) })
	return packages, nil
}

// rank orders packages by when they start.
func rank(pkg string) int {
	if i := slices.Index(slow, strings.TrimPrefix(pkg, root)); i >= 0 {
		return i
	}
	return len(slow)
}

// announce says what will happen, and how long it takes.
func announce(opts options, packages, parallel int) {
	fmt.Printf("testing %d packages, %d at a time", packages, parallel)
	if slices.Contains(opts.patterns, everything) && opts.tests == "" {
		minutes := "6 minutes"
		if opts.race {
			minutes = "8 minutes"
		}
		if opts.long {
			minutes = "2 hours"
		}
		fmt.Printf(": about %s on 2 cores, and 10 minutes more to compile for the first time", minutes)
	}
	fmt.Println()
}
