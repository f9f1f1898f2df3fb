// Snowflake reads and makes IDs at a terminal, computes layouts and bounds, and shows who holds which worker.
//
//	go run github.com/sqlflake/sqlflake/cmd/snowflake@latest decode 175928847299117063
//	go install github.com/sqlflake/sqlflake/cmd/snowflake@latest
//
// It also prints SQL for functions and lease tables, and maintains partitions from cron. "snowflake help" lists the
// commands, "snowflake help COMMAND" shows the flags, and examples. Flags may come before and after arguments.
//
// SNOWFLAKE_LAYOUT in the environment is the layout without -layout, SNOWFLAKE_DSN the database without -dsn, so that
// its password is in no list of processes. No message contains the password.
//
// SQLite needs a C compiler when the command is built, which takes half a minute or more. With CGO_ENABLED=0 in the
// environment of the go command it is left out.
//
// Exit codes: 0 for success, also if the reader of the output ends early; 1 for a failure, or if some input is not an ID
// of the layout; 2 for wrong arguments; 130 after an interrupt.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"time"
)

const (
	exitOK          = 0
	exitFailed      = 1
	exitUsage       = 2
	exitInterrupted = 130 // 128 + SIGINT
)

func main() {
	// Without this a closed pipe would end the program in the middle, with a worker still leased. Writes return EPIPE.
	signal.Ignore(syscall.SIGPIPE)
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second interrupt ends the program at once
	os.Exit(run(ctx, environment{
		in: os.Stdin, out: os.Stdout, err: os.Stderr, interactive: isTerminal(os.Stdin), now: time.Now, getenv: os.Getenv,
	}, os.Args[1:]))
}

// environment is what a command uses of the outside.
type environment struct {
	in          io.Reader
	out, err    io.Writer
	interactive bool // in is a terminal
	now         func() time.Time
	getenv      func(string) string
}

// warn prints a line that is not part of the output.
func (e environment) warn(format string, args ...any) {
	fmt.Fprintf(e.err, format+"\n", args...)
}

func isTerminal(f *os.File) bool {
	info, err := f.Stat()
	if err != nil || info.Mode()&os.ModeCharDevice == 0 {
		return false
	}
	null, err := os.Stat(os.DevNull) // a character device, too
	return err != nil || !os.SameFile(info, null)
}

// output keeps the error of a write. A connection to a database fails with EPIPE, too, and that is a failure.
type output struct {
	io.Writer
	err error
}

func (o *output) Write(b []byte) (n int, err error) {
	if n, err = o.Writer.Write(b); err != nil {
		o.err = err
	}
	return n, err
}

// errReported is a failure that was reported already.
var errReported = errors.New("reported")

// usageError is about wrong arguments.
type usageError struct{ text string }

func (e usageError) Error() string { return e.text }

func usage(format string, args ...any) error { return usageError{fmt.Sprintf(format, args...)} }

// run runs a command and returns the exit code.
func run(ctx context.Context, env environment, args []string) int {
	if len(args) == 0 {
		fmt.Fprint(env.err, overview(""))
		return exitUsage
	}
	switch args[0] {
	case "help", "-h", "-help", "--help":
		return help(env, args[1:])
	}
	c, args := find(args)
	if c == nil {
		return help(env, args)
	}
	out := &output{Writer: env.out}
	env.out = out
	rest, err := c.parse(args)
	if slices.ContainsFunc(rest, secret.MatchString) {
		err = errSecret
	}
	if err == nil && c.args == "" && len(rest) > 0 {
		err = usage("unexpected argument %q", rest[0])
	}
	for _, check := range c.checks {
		if err == nil {
			err = check(env)
		}
	}
	if err == nil {
		err = c.run(ctx, env, rest)
	}
	var wrong usageError
	switch {
	case errors.Is(err, flag.ErrHelp):
		fmt.Fprint(env.out, c.help())
		return exitOK
	case err != nil && errors.Is(out.err, syscall.EPIPE): // the reader has seen enough
		return exitOK
	case ctx.Err() != nil && err != nil:
		env.warn("snowflake %s: interrupted", c.name)
		return exitInterrupted
	case errors.As(err, &wrong):
		env.warn("snowflake %s: %v\n\"snowflake help %s\" shows the flags, and examples.", c.name, err, c.name)
		return exitUsage
	case errors.Is(err, errReported):
		return exitFailed
	case err != nil:
		env.warn("snowflake %s: %v", c.name, err)
		return exitFailed
	}
	return exitOK
}

// help shows a command, a group of them, or all.
func help(env environment, args []string) int {
	c, rest := find(args)
	page := ""
	switch {
	case c != nil && len(rest) == 0:
		page = c.help()
	case len(args) == 0 || len(args) == 1 && args[0] != "":
		page = overview(strings.Join(args, ""))
	}
	if page == "" {
		env.warn("snowflake: %s\n\n%s", unknown(args), strings.TrimSuffix(overview(""), "\n"))
		return exitUsage
	}
	fmt.Fprint(env.out, page)
	return exitOK
}
