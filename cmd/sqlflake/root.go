package main

import (
	"errors"
	"fmt"
	"os"
	"regexp"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

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
	root.AddCommand(versionCommand())
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
	for _, v := range [][2]string{
		{"layout", "SQLFLAKE_LAYOUT"}, {"dsn", "SQLFLAKE_DSN"}, {"with", "SQLFLAKE_WITH"},
	} {
		name, variable := v[0], v[1]
		f, value := flags.Lookup(name), os.Getenv(variable)
		if f == nil || value == "" {
			continue
		}
		if f.Changed {
			continue // the flag itself is given
		}

		if err := f.Value.Set(value); err != nil {
			return fmt.Errorf("%s: %w", variable, err)
		}
	}
	return nil
}

// doubleDashes lets flags of the command have one dash, as flags of other Go programs do.
func doubleDashes(c *cobra.Command, args []string) []string {
	c.InitDefaultHelpFlag()
	args = slices.Clone(args)

	for i, arg := range args {
		if arg == "--" {
			break
		}
		name, isFlag := strings.CutPrefix(arg, "-")
		name, _, _ = strings.Cut(name, "=")
		isLong := len(name) > 1 && c.Flags().Lookup(name) != nil
		if isFlag && isLong {
			args[i] = "-" + arg
		}
	}
	return args
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

func versionCommand() *cobra.Command {
	return &cobra.Command{
		Use:     "version",
		Short:   "Print the version of this command, and of Go",
		Example: "  sqlflake version",
		Args:    cobra.NoArgs,
		Run: func(c *cobra.Command, _ []string) {
			fmt.Fprintln(c.OutOrStdout(), c.Root().Name(), c.Root().Version)
		},
	}
}

// version returns what the go command has written into the binary.
func version() string {
	module := "(unknown)"
	if info, ok := debug.ReadBuildInfo(); ok {
		module = info.Main.Version
	}
	return strings.Join([]string{module, runtime.Version(), runtime.GOOS + "/" + runtime.GOARCH}, " ")
}
