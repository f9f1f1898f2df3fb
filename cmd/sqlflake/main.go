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
	"regexp"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

func main() {
	// Without this a closed pipe would end the program in the middle, with a worker still leased. Writes return EPIPE.
	signal.Ignore(syscall.SIGPIPE)

	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second interrupt ends the program at once

	os.Exit(runCommand(ctx, rootCommand(time.Now), os.Args[1:]))
}

// runCommand runs a command and returns the exit code.
func runCommand(ctx context.Context, root *cobra.Command, args []string) int {
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
	return exitCode(ctx, c, cmp.Or(out.err, err))
}

// output keeps the error of a write, so that commands need not return it. A connection to a database can fail with
// EPIPE too, and that is a failure.
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

	root.SetArgs(args)
	return root.ExecuteContextC(ctx)
}

// unknownCommand returns an error if the first argument of a command with others below it is the name of none. Cobra
// itself does so for the root only.
func unknownCommand(c *cobra.Command, args []string) error {
	isName := len(args) > 0 && !strings.HasPrefix(args[0], "-") // else flags come first
	if !isName || !c.HasSubCommands() {
		return nil
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

// rootCommand returns the command with all others. They hold the values of their flags, so it serves one call.
func rootCommand(now func() time.Time) *cobra.Command {
	root := &cobra.Command{
		Use:   "sqlflake COMMAND",
		Short: "Read and make Snowflake IDs",
		Long: `SQLFLAKE_LAYOUT in the environment is the layout without --layout, SQLFLAKE_DSN
the database without --dsn, and SQLFLAKE_WITH the second database of an audit
without --with, so that no password is in a list of processes.

Exit codes: 0 success, even if the reader of the output ends early; 1 a failure,
or input that is not an ID; 2 wrong arguments; 3 findings of an audit; 130
interrupted.`,
		Example: `  sqlflake decode 175928847299117063
  sqlflake range 24h
  sqlflake workers --dsn postgres://app@db/shop`,
		Version:           version(),
		SilenceErrors:     true,
		SilenceUsage:      true,
		PersistentPreRunE: prepare,
	}
	root.SetVersionTemplate("{{.Name}} {{.Version}}\n")
	root.SetUsageTemplate(strings.ReplaceAll(root.UsageTemplate(), ".FlagUsages", ".FlagUsagesWrapped 80"))
	root.SetHelpTemplate("{{.Short}}.\n{{with .Long}}\n{{.}}\n{{end}}\n{{.UsageString}}")
	root.CompletionOptions.SetDefaultShellCompDirective(cobra.ShellCompDirectiveNoFileComp)
	root.SetFlagErrorFunc(flagError)

	addGroup(root, "IDs:", decodeCommand(now), newCommand(now), rangeCommand(now), layoutCommand(now),
		decoderCommand("ts", "TypeScript", "ts"), decoderCommand("py", "Python", "py"))
	addGroup(root, "Databases:", auditCommand(now), workersCommand(now), sqlCommand(now), partitionCommand(now))
	return root
}

// addGroup adds commands under a title.
func addGroup(root *cobra.Command, title string, commands ...*cobra.Command) {
	root.AddGroup(&cobra.Group{ID: title, Title: title})
	for _, c := range commands {
		c.GroupID = title
	}
	root.AddCommand(commands...)
}

// prepare is what all commands do first. An error before its end is about arguments.
func prepare(c *cobra.Command, args []string) error {
	if err := errors.Join(c.ValidateRequiredFlags(), c.ValidateFlagGroups()); err != nil {
		return err
	}
	if err := readEnvironment(c.Flags()); err != nil {
		return err
	}

	hidden := slices.ContainsFunc(args, looksSecret)
	c.Flags().Visit(func(f *pflag.Flag) {
		isDSN := f.Name == "dsn" || f.Name == "with"
		if !isDSN && secret.MatchString(f.Value.String()) {
			hidden = true
		}
	})
	if hidden {
		return errSecret
	}

	c.SilenceUsage = true // for isUsage
	return nil
}

// readEnvironment sets flags that were not given. It does not mark them as changed, so another flag may exclude them.
func readEnvironment(flags *pflag.FlagSet) error {
	variables := map[string]string{"layout": "SQLFLAKE_LAYOUT", "dsn": "SQLFLAKE_DSN", "with": "SQLFLAKE_WITH"}

	for name, variable := range variables {
		f, value := flags.Lookup(name), os.Getenv(variable)
		isOpen := f != nil && !f.Changed
		if value == "" || !isOpen {
			continue
		}
		if err := f.Value.Set(value); err != nil {
			return fmt.Errorf("%s: %w", variable, err)
		}
	}
	return nil
}

// negative matches a number below 0, which pflag takes for flags.
var negative = regexp.MustCompile(`^unknown shorthand flag: .* in (-[0-9][0-9._]*)$`)

// flagError explains an error of pflag about a number.
func flagError(c *cobra.Command, err error) error {
	found := negative.FindStringSubmatch(err.Error())
	if found == nil {
		return err
	}
	return usage("%s looks like a flag. Put -- before a number below 0: %s -- %[1]s", found[1], c.CommandPath())
}

// version returns what the go command has written into the binary.
func version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok { // built without modules
		info = new(debug.BuildInfo)
	}
	return strings.Join([]string{info.Main.Version, runtime.Version(), runtime.GOOS + "/" + runtime.GOARCH}, " ")
}
