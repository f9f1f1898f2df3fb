package main

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/sqlflake/sqlflake/snowflake"
)

// command is one of the commands. It is made anew for each use, since it holds the values of its flags.
type command struct {
	name     string // one word or two
	args     string // after the flags; empty if there are none
	summary  string // one line
	text     string // about the arguments and the output
	examples string // one a line: what it does, or a command
	flags    *flag.FlagSet
	checks   []func(environment) error // of flags, before run
	run      func(ctx context.Context, env environment, args []string) error
}

// commands returns all commands.
func commands() []*command {
	return []*command{
		decodeCommand(), rangeCommand(), newIDsCommand(), layoutCommand(), workersCommand(), watchCommand(), releaseCommand(),
		functionsCommand(), leasesCommand(), planCommand(), maintainCommand(), adoptCommand(), versionCommand(),
	}
}

func newCommand(name, args, summary, text, examples string) *command {
	c := &command{name: name, args: args, summary: summary, text: text, examples: examples}
	c.flags = flag.NewFlagSet(name, flag.ContinueOnError)
	c.flags.SetOutput(io.Discard) // errors and help are printed here
	return c
}

// choice adds a flag with one of the values.
func (c *command) choice(name, value, about string, values ...string) *string {
	chosen := c.flags.String(name, value, about)
	c.checks = append(c.checks, func(environment) error {
		if !slices.Contains(values, *chosen) {
			return usage("-%s is %q, want one of %s", name, *chosen, strings.Join(values, ", "))
		}
		return nil
	})
	return chosen
}

// format is a flag for a form of the output.
type format struct{ name, about string }

// formatFlags adds flags that exclude each other, and returns the name of the one that is given, or "table".
func (c *command) formatFlags(formats ...format) *string {
	chosen := "table"
	for _, f := range formats {
		given := c.flags.Bool(f.name, false, f.about)
		c.checks = append(c.checks, func(environment) error {
			if *given && chosen != "table" {
				return usage("-%s and -%s exclude each other", chosen, f.name)
			} else if *given {
				chosen = f.name
			}
			return nil
		})
	}
	return &chosen
}

// zoneFlag adds -tz.
func (c *command) zoneFlag(about string) **time.Location {
	name, zone := c.flags.String("tz", "UTC", about), time.UTC
	c.checks = append(c.checks, func(environment) (err error) {
		if zone, err = time.LoadLocation(*name); err != nil || *name == "" {
			return usage("-tz %q: want UTC, Local or the name of a time zone such as Europe/Berlin", *name)
		}
		return nil
	})
	return &zone
}

const layoutHelp = "`LAYOUT`: the name of a preset, or a text as of \"snowflake layout\"\n" +
	"(default $SNOWFLAKE_LAYOUT, or else \"default\")"

// chosenLayout is the value of -layout.
type chosenLayout struct {
	snowflake.Layout
	given bool // not the default
	all   bool // all presets, if the command takes that
}

// layoutFlag adds -layout.
func (c *command) layoutFlag() *chosenLayout {
	text, chosen := c.flags.String("layout", "", layoutHelp), &chosenLayout{Layout: snowflake.Default()}
	c.checks = append(c.checks, func(env environment) (err error) {
		name := cmp.Or(*text, env.getenv("SNOWFLAKE_LAYOUT"))
		if chosen.all = chosen.all && *text == "all"; name == "" || chosen.all {
			return nil
		}
		if chosen.Layout, err = parseLayout(name); err != nil {
			return usage("-layout: %v", err)
		}
		chosen.given = true
		return nil
	})
	return chosen
}

// parseLayout accepts the names of presets in upper case, too.
func parseLayout(text string) (snowflake.Layout, error) {
	if layout, err := snowflake.Preset(strings.ToLower(text)); err == nil {
		return layout, nil
	}
	return snowflake.ParseLayout(text)
}

// parse parses the flags, which may come before and after the arguments, and returns the arguments. A negative number is
// an argument.
func (c *command) parse(args []string) (rest []string, err error) {
	for len(args) > 0 {
		arg, n := args[0], 1
		switch {
		case arg == "--":
			return append(rest, args[1:]...), nil
		case len(arg) < 2 || arg[0] != '-' || '0' <= arg[1] && arg[1] <= '9':
			rest = append(rest, arg)
		default:
			if c.takesValue(arg) {
				n = min(2, len(args))
			}
			if c.isSecret(args[:n]) {
				return nil, errSecret
			}
			if err := c.flags.Parse(args[:n]); err != nil {
				if err == flag.ErrHelp { //nolint:errorlint // flag returns it as it is
					return nil, err
				}
				return nil, usageError{err.Error()}
			}
		}
		args = args[n:]
	}
	return rest, nil
}

// takesValue reports whether the next argument is the value of the flag.
func (c *command) takesValue(arg string) bool {
	f := c.flags.Lookup(strings.TrimLeft(arg, "-"))
	if f == nil {
		return false
	}
	boolean, ok := f.Value.(interface{ IsBoolFlag() bool })
	return !ok || !boolean.IsBoolFlag()
}

// find returns the command that args begin with, of one word or two, and the arguments after it.
func find(args []string) (*command, []string) {
	for n := min(2, len(args)); n > 0; n-- {
		for _, c := range commands() {
			if slices.Equal(strings.Fields(c.name), args[:n]) {
				return c, args[n:]
			}
		}
	}
	return nil, args
}

// unknown says that args begin with no command.
func unknown(args []string) string {
	name := strings.Join(args[:min(2, len(args))], " ")
	if secret.MatchString(name) {
		return "unknown command: the first argument is the name of one"
	}
	return "unknown command " + strconv.Quote(name)
}

// overview lists the commands, or those of a group, whose names begin with that word. It is empty for another word.
func overview(group string) string {
	var list strings.Builder
	for _, c := range commands() {
		if group == "" || strings.HasPrefix(c.name, group+" ") {
			fmt.Fprintf(&list, "  %-18s  %s\n", c.name, c.summary)
		}
	}
	head := "Snowflake reads and makes IDs.\n\nUsage: snowflake COMMAND [FLAG...] [ARGUMENT...]\n\n"
	switch {
	case list.Len() == 0:
		return ""
	case group != "":
		head = "Usage: snowflake " + group + " COMMAND [FLAG...] [ARGUMENT...]\n\n"
	}
	return head + list.String() + "\n\"snowflake help COMMAND\" shows the flags, and examples.\n\n" +
		"Exit codes: 0 success; 1 a failure, or input that is not an ID; 2 wrong arguments; 130 interrupted.\n"
}

// versionCommand prints what "go install" and "go build" have written into the binary.
func versionCommand() *command {
	c := newCommand("version", "", "the version of this command, and of Go", `
A build of a checkout has a pseudo-version or (devel).
`, "snowflake version")
	c.run = func(_ context.Context, env environment, _ []string) error {
		info, ok := debug.ReadBuildInfo()
		if !ok {
			return errors.New("the binary was built without information about its modules")
		}
		_, err := fmt.Fprintf(env.out, "%s %s %s\n", info.Main.Path, info.Main.Version, info.GoVersion)
		return err
	}
	return c
}

// help returns the page of the command.
func (c *command) help() string {
	var b strings.Builder
	fmt.Fprintf(&b, "Usage: snowflake %s [FLAG...] %s\n\n%s%s.\n%s\nFlags:\n", c.name, c.args, strings.ToUpper(c.summary[:1]),
		c.summary[1:], c.text)
	c.flags.SetOutput(&b)
	c.flags.PrintDefaults()
	c.flags.SetOutput(io.Discard)
	b.WriteString("\nExamples:\n")
	for line := range strings.Lines(strings.TrimSpace(c.examples)) {
		b.WriteString("  " + strings.TrimSpace(line) + "\n")
	}
	return b.String()
}
