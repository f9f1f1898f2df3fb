package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"testing/iotest"
	"time"

	"github.com/go-sql-driver/mysql"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/spf13/cobra"

	"github.com/sqlflake/sqlflake/internal/testdb"
)

// commandVariable makes the test binary the command.
const commandVariable = "SQLFLAKE_TEST_COMMAND"

func TestMain(m *testing.M) {
	if os.Getenv(commandVariable) != "" {
		main()
	}
	if text, ok := os.LookupEnv(writerVariable); ok {
		if err := write(text); err != nil {
			fmt.Println(err)
		}
		return
	}
	_, _ = os.Unsetenv("SQLFLAKE_LAYOUT"), os.Unsetenv("SQLFLAKE_DSN")
	_ = os.Unsetenv("SQLFLAKE_WITH")
	os.Exit(testdb.Main(m))
}

// now is the time in the tests.
var now = time.Date(2026, 11, 22, 21, 40, 0, 0, time.UTC)

// result is what a command has done.
type result struct {
	out, err string
	code     int
}

// do runs a command.
func do(t *testing.T, stdin string, args ...string) result {
	t.Helper()
	return doAt(t.Context(), testNow, strings.NewReader(stdin), args...)
}

func testNow() time.Time { return now }

// doAt runs a command until the context ends, by another clock.
func doAt(ctx context.Context, now func() time.Time, in io.Reader, args ...string) result {
	var out, errs bytes.Buffer
	code := runCommand(ctx, testCommand(now, in, &out, &errs), args)
	return result{out.String(), errs.String(), code}
}

func testCommand(now func() time.Time, in io.Reader, out, errs io.Writer) *cobra.Command {
	root := rootCommand(now)
	root.SetIn(in)
	root.SetOut(out)
	root.SetErr(errs)
	return root
}

// words splits a command line; in the text of a layout _ is a space.
func words(line string) []string {
	args := strings.Fields(line)
	for i := range args {
		if strings.HasPrefix(args[i], "epoch=") {
			args[i] = strings.ReplaceAll(args[i], "_", " ")
		}
	}
	return args
}

// check compares a result with what it should be.
func (r result) check(t *testing.T, want result) {
	t.Helper()
	if r != want {
		t.Errorf("exit code %d, output\n%s\nerrors\n%s\nwant %d\n%s\n%s", r.code, r.out, r.err, want.code, want.out, want.err)
	}
}

// fails checks that nothing was printed but an error that contains the text.
func (r result) fails(t *testing.T, code int, text string) {
	t.Helper()
	if r.code != code || r.out != "" || !strings.Contains(r.err, text) {
		t.Errorf("exit code %d, output\n%s\nerrors\n%s\nwant %d, and %q", r.code, r.out, r.err, code, text)
	}
}

// says checks the exit code, and that the output contains the texts.
func (r result) says(t *testing.T, code int, texts ...string) {
	t.Helper()
	isMissing := func(text string) bool { return !strings.Contains(r.out, text) }
	if r.code != code || slices.ContainsFunc(texts, isMissing) {
		t.Errorf("exit code %d, output\n%s\nerrors\n%s\nwant %d, and %q", r.code, r.out, r.err, code, texts)
	}
}

// commands returns the command and all below it.
func commands(c *cobra.Command) []*cobra.Command {
	all := []*cobra.Command{c}
	for _, sub := range c.Commands() {
		all = append(all, commands(sub)...)
	}
	return all
}

// TestEveryCommandHasHelp reads its pages, which fit a terminal, and tries its examples.
func TestEveryCommandHasHelp(t *testing.T) {
	for _, c := range commands(rootCommand(time.Now)) {
		name := strings.Fields(c.CommandPath())[1:]
		r := do(t, "", append([]string{"help"}, name...)...)
		if again := do(t, "", append(name, "-h")...); r.code != exitOK || again != r {
			t.Errorf("%q: %+v, -h: %+v", name, r, again)
		}

		for line := range strings.Lines(r.out) {
			if width := len(strings.TrimSuffix(line, "\n")); width > 80 {
				t.Errorf("%q has a line of %d columns: %s", name, width, line)
			}
		}

		examples := 0
		for line := range strings.Lines(strings.ReplaceAll(c.Example, "\\\n", "")) {
			_, line, ok := strings.Cut(line, "sqlflake ")
			if !ok {
				continue
			}

			line = strings.NewReplacer(`"`, " ", "$(", " ", ")", " ").Replace(line)
			if end := strings.IndexAny(line, "|<>"); end >= 0 {
				line = line[:end]
			}

			root := rootCommand(time.Now)
			found, rest, err := root.Find(strings.Fields(line))
			if err == nil {
				err = found.ParseFlags(rest)
			}

			if err != nil || c.Runnable() && found.Name() != c.Name() {
				t.Errorf("%q: %q is of %q, %v", name, line, found.Name(), err)
			}

			examples++
		}

		if examples == 0 {
			t.Errorf("%q has no example", name)
		}
	}
}

// TestShellsCompleteCommandsFlagsAndValues asks as the scripts do.
func TestShellsCompleteCommandsFlagsAndValues(t *testing.T) {
	for _, shell := range []string{"bash", "zsh", "fish", "powershell"} {
		do(t, "", "completion", shell).says(t, exitOK, "__complete")
	}
	for line, want := range map[string]string{
		"work": "workers", "workers m": "move", "decode --lay": "--layout", "decode --layout tw": "twitter", "layout tw": "twitter",
		"sql leases --dialect ma": "mariadb", "partition plan --unit mo": "month", "help ran": "range",
	} {
		if r := do(t, "", append([]string{"__complete"}, strings.Fields(line)...)...); !strings.Contains("\n"+r.out, "\n"+want) || r.code != exitOK {
			t.Errorf("%s: %+v", line, r)
		}
	}
}

func TestVersionIsThatOfTheBuild(t *testing.T) {
	r := do(t, "", "--version")
	if r.code != exitOK || !strings.HasPrefix(r.out, "sqlflake ") || !strings.Contains(r.out, runtime.Version()) {
		t.Errorf("%+v", r)
	}
}

func TestWrongArgumentsAreExplained(t *testing.T) {
	for args, want := range map[string]string{
		"":                          "sqlflake [command]",
		"encode":                    "Did you mean this?\n\tdecode\n",
		"sql functons --drop":       "Did you mean this?\n\tfunctions\n",
		"decode -5":                 "-5 looks like a flag. Put -- before a number below 0: sqlflake decode -- -5",
		"workers release -5":        "-5 looks like a flag",
		"help encode":               `unknown command "encode"`,
		"sql functons":              `unknown command "functons" for "sqlflake sql"`,
		"help sql functons":         `unknown command "functons" for "sqlflake sql"`,
		"sqlx":                      `unknown command "sqlx"`,
		"decode --colour 1":         "unknown flag: --colour",
		"decode --layout":           "flag needs an argument: --layout",
		"decode --layout tiwtter 1": `no preset "tiwtter", want one of`,
		"decode --from octal 1":     `invalid argument "octal" for "--from" flag: want one of auto,`,
		"decode --json --csv 1":     "if any flags in the group [json csv] are set none of the others can be",
		"decode --tz Mars 1":        `"Mars" for "--tz" flag: want UTC`,
		"range":                     "range FROM [TO]",
		"range 2026 2025":           "FROM, 2026-01-01T00:00:00Z, is after TO",
		"range 1h 2h":               "two durations",
		"range 22.11.2026":          "nor a duration",
		"layout time:41 worker:10":  `no epoch= in "time:41"`,
		"new":                       "which worker? Give --dsn, or --worker and --state",
		"new 5":                     `unknown command "5"`,
		"new --worker 3":            "they must all be set; missing [state]",
		"new --state x":             "they must all be set; missing [worker]",
		"new --worker 3 --state x --dsn sqlite:x":        "if any flags in the group [dsn worker] are set",
		"new --worker 3 --state x -n 0":                  "-n 0, want 1 or more",
		"workers":                                        "give --dsn, or set SQLFLAKE_DSN",
		"workers list":                                   `unknown command "list"`,
		"workers release":                                "release WORKER",
		"workers release all --dsn sqlite:x":             `the worker is "all"`,
		"audit --by created_at":                          "which table? Give --table",
		"audit --with sqlite:x":                          "which table? Give --table",
		"audit --table t":                                "give --dsn, or set SQLFLAKE_DSN",
		"audit --table t --order issue":                  "if any flags in the group [table order] are set",
		"audit --table t --by a --with sqlite:x":         "if any flags in the group [with by] are set",
		"audit --slack -1s":                              "--slack -1s, want 0 or more",
		"audit --since yesterday":                        "is not a time",
		"audit orders":                                   `unknown command "orders"`,
		"layout --until 2026 twitter":                    "--until 2026 is for two layouts",
		"layout twitter nothing":                         `no preset "nothing"`,
		"layout a b c":                                   "layout [LAYOUT | OLD NEW]",
		"sql leases":                                     `required flag(s) "dialect" not set`,
		"sql leases --dialect mysql --tables a-b":        "not a name or schema.name",
		"sql functions --dialect mysql":                  `invalid argument "mysql" for "--dialect" flag: want one of postgres, mariadb`,
		"sql functions --dialect postgres --namespace n": "give --worker, too",
		"sql functions --dialect postgres --worker 1024": "1024",
	} {
		t.Run(args, func(t *testing.T) { do(t, "", strings.Fields(args)...).fails(t, exitUsage, want) })
	}

	for _, args := range [][]string{{""}, {"help", ""}, {"sql leases"}} {
		do(t, "", args...).fails(t, exitUsage, "unknown command "+strconv.Quote(args[len(args)-1]))
	}
}

func TestAServersTextIsPrintedAsItIs(t *testing.T) {
	for _, answer := range []error{
		&pgconn.PgError{Severity: "ERROR", Message: "rule: lease: no", Code: "P0001"},
		&mysql.MySQLError{Number: 1644, Message: "rule: lease: no"},
	} {
		want := "list: " + answer.Error()
		if got := messageOf(fmt.Errorf("sqllease: list: lease: %w", answer)); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

func TestTheLayoutOfTheEnvironmentIsTheDefault(t *testing.T) {
	twitter, wide := do(t, "", "range", "--layout", "twitter", "2022-06"), do(t, "", "range", "--layout", "wide", "2026-06")
	t.Setenv("SQLFLAKE_LAYOUT", "twitter")
	do(t, "", "range", "2022-06").check(t, twitter)
	do(t, "", "range", "--layout", "wide", "2026-06").check(t, wide)
	t.Setenv("SQLFLAKE_LAYOUT", "nothing")
	do(t, "", "range", "2022-06").fails(t, exitUsage, `SQLFLAKE_LAYOUT: invalid layout: no preset "nothing"`)
}

// closedPipe fails after some writes, as a pipe whose reader has ended.
type closedPipe struct{ left int }

func (p *closedPipe) Write(b []byte) (int, error) {
	if p.left--; p.left < 0 {
		return 0, syscall.EPIPE
	}
	return len(b), nil
}

func TestAReaderThatEndsEarlyIsNoFailure(t *testing.T) {
	ids := strings.Repeat("250374789863067648\n", 100_000)
	for _, args := range [][]string{
		{"decode"},
		{"decode", "--json"},
		{"decode", "--csv"},
		{"decode", "--layout", "all"},
		{"layout", "twitter", "default"},
		{"range", "2026"},
		{"layout"},
		{"layout", "wide"},
		{"sql", "leases", "--dialect", "sqlite"},
		{"new", "--worker", "5", "--state", t.TempDir() + "/w", "-n", "100000"},
	} {
		for writes := range 2 {
			var errs bytes.Buffer
			root := testCommand(testNow, strings.NewReader(ids), &closedPipe{writes}, &errs)
			if code := runCommand(t.Context(), root, args); code != exitOK || errs.Len() > 0 {
				t.Errorf("%q after %d writes: exit code %d, errors %s", args, writes, code, &errs)
			}
		}
	}
}

// TestABrokenPipeElsewhereIsAFailure has an input whose reads fail as a connection to a database does.
func TestABrokenPipeElsewhereIsAFailure(t *testing.T) {
	r := doAt(t.Context(), testNow, iotest.ErrReader(syscall.EPIPE), "decode", "--layout", "default")
	r.fails(t, exitFailed, "sqlflake decode: ")
}

// TestAnInterruptEndsAReadThatWaits also shows that what was decoded is printed before the wait.
func TestAnInterruptEndsAReadThatWaits(t *testing.T) {
	ctx, interrupt := context.WithCancel(t.Context())
	defer interrupt()
	in, feed := io.Pipe()
	defer func() { _ = feed.Close() }()
	read, out := io.Pipe()
	var errs bytes.Buffer
	code := make(chan int, 1)
	go func() {
		code <- runCommand(ctx, testCommand(testNow, in, out, &errs), []string{"decode", "--csv", "--layout", "default"})
		_ = out.Close()
	}()

	if _, err := feed.Write([]byte("250374789863067648\n")); err != nil {
		t.Fatal(err)
	}

	want := "id,time,worker,sequence,note\n250374789863067648,2026-11-22T21:40:01.642Z,5,0,\n"
	got := make([]byte, len(want))
	if _, err := io.ReadFull(read, got); err != nil || string(got) != want {
		t.Fatalf("%q, %v", got, err)
	}

	interrupt()
	if got := <-code; got != exitInterrupted || !strings.Contains(errs.String(), "interrupted") {
		t.Errorf("exit code %d, errors %s", got, &errs)
	}
}

// must ends the test if there is an error.
func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
