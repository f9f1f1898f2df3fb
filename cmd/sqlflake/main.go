// Sqlflake reads and makes IDs at a terminal, computes layouts and bounds, and shows who holds which worker.
//
//	go run github.com/sqlflake/sqlflake/cmd/sqlflake@latest decode 175928847299117063
//	go install github.com/sqlflake/sqlflake/cmd/sqlflake@latest
//
// "sqlflake help" lists the commands, the variables that it reads and its exit codes. It needs no C compiler. No
// message contains the password of a database.
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

func main() {
	// Without this a closed pipe would end the program in the middle, with a worker still leased. Writes return EPIPE.
	signal.Ignore(syscall.SIGPIPE)

	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second interrupt ends the program at once

	os.Exit(run(ctx, rootCommand(time.Now), os.Args[1:]))
}

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
	if errors.Is(out.err, syscall.EPIPE) { // the reader has seen enough
		return exitOK
	}
	return exitCode(ctx, c, err)
}

// output keeps the error of a write. A connection to a database can fail with EPIPE too, and that is a failure.
type output struct {
	io.Writer
	err error
}

func (o *output) Write(b []byte) (int, error) {
	n, err := o.Writer.Write(b)
	o.err = cmp.Or(o.err, err)
	return n, err
}

// execute finds the command, and runs it.
func execute(ctx context.Context, root *cobra.Command, args []string) (*cobra.Command, error) {
	if args[0] == "help" {
		args = append(slices.Clone(args[1:]), "--help")
	}

	c, rest, err := root.Find(args)
	if err == nil {
		if err := unknownCommand(c, rest); err != nil {
			return c, err
		}
	}

	root.SetArgs(doubleDashes(c, args))
	return root.ExecuteContextC(ctx)
}

// unknownCommand returns an error if the first argument of a command with others below it is the name of none. Cobra
// itself does so for the root only.
func unknownCommand(c *cobra.Command, args []string) error {
	if len(args) == 0 || !c.HasSubCommands() {
		return nil
	}
	if strings.HasPrefix(args[0], "-") {
		return nil // flags come first
	}

	c.SuggestionsMinimumDistance = 2
	similar := c.SuggestionsFor(args[0])
	if len(similar) == 0 && c.Runnable() {
		return nil // it is an argument
	}

	text := fmt.Sprintf("unknown command %q for %q", args[0], c.CommandPath())
	if len(similar) > 0 {
		text += "\n\nDid you mean this?\n\t" + strings.Join(similar, "\n\t")
	}
	return usageError{text}
}
