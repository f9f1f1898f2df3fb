// Sqlflake reads and makes IDs at a terminal, computes layouts and bounds, and shows who holds which worker.
//
//	go run github.com/sqlflake/sqlflake/cmd/sqlflake@latest decode 175928847299117063
//	go install github.com/sqlflake/sqlflake/cmd/sqlflake@latest
//
// "sqlflake help" lists the commands, the variables that it reads and its exit codes. It needs no C compiler. No message
// contains the password of a database.
package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"
)

const (
	exitOK          = 0
	exitFailed      = 1
	exitUsage       = 2
	exitFindings    = 3   // of an audit
	exitInterrupted = 130 // 128 + SIGINT
)

func main() {
	// Without this a closed pipe would end the program in the middle, with a worker still leased. Writes return EPIPE.
	signal.Ignore(syscall.SIGPIPE)
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second interrupt ends the program at once
	os.Exit(run(ctx, rootCommand(time.Now), os.Args[1:]))
}

// output keeps the error of a write. A connection to a database fails with EPIPE, too, and that is a failure.
type output struct {
	io.Writer
	err error
}

func (o *output) Write(b []byte) (int, error) {
	n, err := o.Writer.Write(b)
	o.err = cmp.Or(o.err, err)
	return n, err
}

// errReported is a failure that was reported already.
var errReported = errors.New("reported")

// errFindings ends an audit that found something.
var errFindings = errors.New("findings")

// usageError is about wrong arguments.
type usageError struct{ text string }

func (e usageError) Error() string { return e.text }

func usage(format string, args ...any) error { return usageError{fmt.Sprintf(format, args...)} }

// run runs a command and returns the exit code.
func run(ctx context.Context, root *cobra.Command, args []string) int {
	out := &output{Writer: root.OutOrStdout()}
	root.SetOut(out)
	root.InitDefaultHelpCmd()
	root.InitDefaultCompletionCmd()
	if len(args) == 0 {
		root.SetOut(root.ErrOrStderr())
		_ = root.Help() // cobra prints its error
		return exitUsage
	}
	c, err := execute(ctx, root, args)
	var wrong usageError
	switch {
	case err == nil, errors.Is(out.err, syscall.EPIPE): // the reader has seen enough
		return exitOK
	case errors.Is(err, errFindings):
		return exitFindings
	case ctx.Err() != nil:
		root.PrintErrf("%s: interrupted\n", c.CommandPath())
		return exitInterrupted
	case errors.As(err, &wrong), c == root, !c.SilenceUsage: // before the end of prepare
		if secret.MatchString(err.Error()) { // a DSN was given to the wrong flag
			err = errSecret
		}
		root.PrintErrf("%s: %s\n\nUsage: %s\n\"%[1]s --help\" shows the flags, and examples.\n",
			c.CommandPath(), strings.TrimSpace(err.Error()), c.UseLine())
		return exitUsage
	case !errors.Is(err, errReported):
		root.PrintErrf("%s: %v\n", c.CommandPath(), err)
	}
	return exitFailed
}

// execute finds the command, and runs it.
func execute(ctx context.Context, root *cobra.Command, args []string) (*cobra.Command, error) {
	if args[0] == "help" {
		args = append(slices.Clone(args[1:]), "--help")
	}
	c, rest, err := root.Find(args)
	if err == nil && len(rest) > 0 && !strings.HasPrefix(rest[0], "-") && c.HasSubCommands() {
		c.SuggestionsMinimumDistance = 2 // cobra suggests commands of the root only
		text, similar := fmt.Sprintf("unknown command %q for %q", rest[0], c.CommandPath()), c.SuggestionsFor(rest[0])
		if len(similar) > 0 {
			text += "\n\nDid you mean this?\n\t" + strings.Join(similar, "\n\t")
		}
		if len(similar) > 0 || !c.Runnable() {
			return c, usageError{text}
		}
	}
	root.SetArgs(doubleDashes(c, args))
	return root.ExecuteContextC(ctx)
}
