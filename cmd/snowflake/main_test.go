package main

import (
	"bytes"
	"context"
	"io"
	"os"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"testing/iotest"
	"time"

	"github.com/sqlflake/sqlflake/internal/testdb"
)

// commandVariable makes the test binary the command.
const commandVariable = "SNOWFLAKE_TEST_COMMAND"

func TestMain(m *testing.M) {
	if os.Getenv(commandVariable) != "" {
		main()
	}
	os.Exit(testdb.Main(m))
}

// now is the time in the tests.
var now = time.Date(2026, 11, 22, 21, 40, 0, 0, time.UTC)

// result is what a command has done.
type result struct {
	out, err string
	code     int
}

// do runs a command with an empty environment.
func do(t *testing.T, stdin string, args ...string) result {
	t.Helper()
	return doWith(t, map[string]string{}, stdin, args...)
}

func doWith(t *testing.T, variables map[string]string, stdin string, args ...string) result {
	t.Helper()
	var out, errs bytes.Buffer
	code := run(t.Context(), testEnvironment(variables, strings.NewReader(stdin), &out, &errs), args)
	return result{out.String(), errs.String(), code}
}

func testEnvironment(variables map[string]string, in io.Reader, out, errs io.Writer) environment {
	return environment{
		in: in, out: out, err: errs, now: func() time.Time { return now }, getenv: func(name string) string { return variables[name] },
	}
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

func TestEveryCommandHasHelp(t *testing.T) {
	for _, c := range commands() {
		r := do(t, "", append([]string{"help"}, strings.Fields(c.name)...)...)
		if again := do(t, "", append(strings.Fields(c.name), "-h")...); r.code != exitOK || again != r ||
			!strings.HasPrefix(r.out, "Usage: snowflake "+c.name) {
			t.Errorf("%s: %+v, -h: %+v", c.name, r, again)
		}
	}
	for _, group := range []string{"", "sql", "partition"} {
		r := do(t, "", append([]string{"help"}, strings.Fields(group)...)...)
		if again := do(t, "", group); group != "" && again != r {
			t.Errorf("%s: %+v, help %+v", group, again, r)
		}
		for _, c := range commands() {
			listed := group == "" || strings.HasPrefix(c.name, group+" ")
			if r.code != exitOK || strings.Contains(r.out, "  "+c.name+"  ") != listed {
				t.Errorf("%s lists\n%s", group, r.out)
			}
		}
	}
}

func TestVersionNamesTheModuleAndGo(t *testing.T) {
	if r := do(t, "", "version"); r.code != exitOK || !strings.HasPrefix(r.out, "github.com/sqlflake/sqlflake") ||
		!strings.HasSuffix(r.out, runtime.Version()+"\n") {
		t.Errorf("%+v", r)
	}
}

// TestExamplesInHelpAreValid parses the commands of all examples.
func TestExamplesInHelpAreValid(t *testing.T) {
	for _, c := range commands() {
		count := 0
		for line := range strings.Lines(c.examples) {
			_, line, ok := strings.Cut(line, "snowflake ")
			if !ok {
				continue
			}
			line = strings.NewReplacer(`"`, " ", "$(", " ", ")", " ").Replace(line)
			if end := strings.IndexAny(line, "|<>"); end >= 0 {
				line = line[:end]
			}
			args := strings.Fields(line)
			found, rest := find(args)
			if found == nil {
				t.Errorf("%s: no command in %q", c.name, line)
				continue
			}
			if _, err := found.parse(rest); err != nil {
				t.Errorf("%s: %q: %v", c.name, line, err)
			}
			count++
		}
		if count == 0 {
			t.Errorf("%s has no example", c.name)
		}
	}
}

func TestWrongArgumentsAreExplained(t *testing.T) {
	for args, want := range map[string]string{
		"":                                     "Usage: snowflake COMMAND",
		"encode":                               `unknown command "encode"`,
		"help encode":                          `unknown command "encode"`,
		"sql functons":                         `unknown command "sql functons"`,
		"help sql functons":                    `unknown command "sql functons"`,
		"sqlx":                                 `unknown command "sqlx"`,
		"decode -colour 1":                     "flag provided but not defined: -colour",
		"decode -layout":                       "flag needs an argument: -layout",
		"decode -layout tiwtter 1":             `no preset "tiwtter", want one of`,
		"decode -from octal 1":                 `-from is "octal", want one of auto,`,
		"decode -json -csv 1":                  "exclude each other",
		"decode -tz Mars 1":                    `-tz "Mars"`,
		"range":                                "want FROM, or FROM and TO",
		"range 2026 2025":                      "FROM, 2026-01-01T00:00:00Z, is after TO",
		"range 1h 2h":                          "two durations",
		"range 22.11.2026":                     "neither a time",
		"layout time:41 worker:10":             "put quotes around",
		"layout twitter -years 5":              "a LAYOUT, and flags to compute one",
		"layout -years -1":                     "-years -1, want more than 0",
		"layout -rate NaN":                     "-rate NaN, want more than 0",
		"layout -workers -2":                   "-workers -2, want 1 to",
		"layout -years 5 -epoch 2030":          "is in the future",
		"new":                                  "which worker? Give -dsn, or -worker and -state",
		"new 5":                                `unexpected argument "5"`,
		"new -worker 3":                        "-worker and -state need each other",
		"new -state x":                         "-worker and -state need each other",
		"new -worker 3 -state x -dsn sqlite:x": "exclude it",
		"new -worker 3 -state x -n 0":          "-n 0, want 1 or more",
		"workers":                              "give -dsn, or set SNOWFLAKE_DSN",
		"workers list":                         `unexpected argument "list"`,
		"workers watch -interval 1ms":          "-interval 1ms, want 100ms or more",
		"workers release":                      "want one WORKER",
		"workers release all -dsn sqlite:x":    `the worker is "all"`,
		"sql leases":                           `-dialect is "", want one of postgres, mysql`,
		"sql leases -dialect mysql -table a-b": "not table or schema.table",
		"sql functions -dialect mysql":         "want one of postgres, mariadb",
		"sql functions -dialect postgres -namespace n": "give -worker, too",
		"sql functions -dialect postgres -worker 1024": "1024",
	} {
		t.Run(args, func(t *testing.T) { do(t, "", strings.Fields(args)...).fails(t, exitUsage, want) })
	}
	for _, args := range [][]string{{""}, {"help", ""}, {"sql leases"}} {
		do(t, "", args...).fails(t, exitUsage, "unknown command "+strconv.Quote(args[len(args)-1]))
	}
}

func TestTheLayoutOfTheEnvironmentIsTheDefault(t *testing.T) {
	variables := map[string]string{"SNOWFLAKE_LAYOUT": "twitter"}
	want := do(t, "", "range", "-layout", "twitter", "2022-06")
	doWith(t, variables, "", "range", "2022-06").check(t, want)
	if other := do(t, "", "range", "-layout", "wide", "2026-06"); other != doWith(t, variables, "", "range", "-layout", "wide", "2026-06") {
		t.Error("the environment counts more than the flag")
	}
	variables["SNOWFLAKE_LAYOUT"] = "nothing"
	doWith(t, variables, "", "range", "2022-06").fails(t, exitUsage, `no preset "nothing"`)
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
		{"decode", "-json"},
		{"decode", "-csv"},
		{"decode", "-layout", "all"},
		{"range", "2026"},
		{"layout"},
		{"layout", "wide"},
		{"sql", "leases", "-dialect", "sqlite"},
		{"new", "-worker", "5", "-state", t.TempDir() + "/w", "-n", "100000"},
	} {
		for writes := range 2 {
			var errs bytes.Buffer
			env := testEnvironment(map[string]string{}, strings.NewReader(ids), &closedPipe{writes}, &errs)
			if code := run(t.Context(), env, args); code != exitOK || errs.Len() > 0 {
				t.Errorf("%q after %d writes: exit code %d, errors %s", args, writes, code, &errs)
			}
		}
	}
}

// TestABrokenPipeElsewhereIsAFailure has an input whose reads fail as a connection to a database does.
func TestABrokenPipeElsewhereIsAFailure(t *testing.T) {
	var out, errs bytes.Buffer
	env := testEnvironment(nil, iotest.ErrReader(syscall.EPIPE), &out, &errs)
	if code := run(t.Context(), env, []string{"decode", "-layout", "default"}); code != exitFailed || errs.Len() == 0 {
		t.Errorf("exit code %d, errors %s", code, &errs)
	}
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
		code <- run(ctx, testEnvironment(nil, in, out, &errs), []string{"decode", "-csv", "-layout", "default"})
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
