package main

import (
	"errors"
	"fmt"
	"os"
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

Exit codes: 0 success, also if the reader of the output ends early; 1 a failure,
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

	workers, sql, partition := workersCommand(now), &cobra.Command{
		Use: "sql COMMAND", Short: "Print SQL for functions and lease tables",
		Example: "  sqlflake sql leases --dialect postgres",
	}, &cobra.Command{
		Use: "partition COMMAND", Short: "Maintain the partitions of a table",
		Example: "  sqlflake partition plan --dsn postgres://app@db/shop --unit month events",
	}
	workers.AddCommand(watchCommand(now), releaseCommand(), moveCommand())
	sql.AddCommand(functionsCommand(now), leasesCommand())
	partition.AddCommand(planCommand(now), maintainCommand(now), adoptCommand(now))

	group := func(title string, commands ...*cobra.Command) {
		root.AddGroup(&cobra.Group{ID: title, Title: title})
		for _, c := range commands {
			c.GroupID = title
		}
		root.AddCommand(commands...)
	}
	group("IDs:", decodeCommand(now), newCommand(now), rangeCommand(now), layoutCommand(now),
		decoderCommand("ts", "TypeScript", "ts"), decoderCommand("py", "Python", "py"))
	group("Databases:", auditCommand(now), workers, sql, partition)
	root.AddCommand(versionCommand())
	return root
}

// prepare is what all commands have in common. An error before its end is one of the arguments.
func prepare(c *cobra.Command, args []string) error {
	if err := errors.Join(c.ValidateRequiredFlags(), c.ValidateFlagGroups()); err != nil {
		return err
	}
	for name, variable := range map[string]string{
		"layout": "SQLFLAKE_LAYOUT", "dsn": "SQLFLAKE_DSN", "with": "SQLFLAKE_WITH",
	} {
		if f, value := c.Flags().Lookup(name), os.Getenv(variable); f != nil && !f.Changed && value != "" {
			if err := f.Value.Set(value); err != nil { // without Changed, so that a flag may exclude it
				return fmt.Errorf("%s: %w", variable, err)
			}
		}
	}
	hidden := slices.ContainsFunc(args, looksSecret)
	c.Flags().Visit(func(f *pflag.Flag) {
		hidden = hidden || f.Name != "dsn" && f.Name != "with" && secret.MatchString(f.Value.String())
	})
	if hidden {
		return errSecret
	}
	c.SilenceUsage = true // so run knows
	return nil
}

// doubleDashes lets flags of the command have one dash, as those of other Go programs do.
func doubleDashes(c *cobra.Command, args []string) []string {
	c.InitDefaultHelpFlag()
	args = slices.Clone(args)
	for i, arg := range args {
		if arg == "--" {
			break
		}
		name, isFlag := strings.CutPrefix(arg, "-")
		if name, _, _ = strings.Cut(name, "="); isFlag && len(name) > 1 && c.Flags().Lookup(name) != nil {
			args[i] = "-" + arg
		}
	}
	return args
}
