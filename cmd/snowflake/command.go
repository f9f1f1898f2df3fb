package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"

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
	values   map[string][]string // of flags, for completion
	run      func(ctx context.Context, env environment, args []string) error
}

// commands returns all commands.
func commands() []*command {
	return []*command{
		decodeCommand(), rangeCommand(), newIDsCommand(), layoutCommand(), workersCommand(), watchCommand(), releaseCommand(),
		functionsCommand(), leasesCommand(), planCommand(), maintainCommand(), adoptCommand(), completionCommand(),
		versionCommand(),
	}
}

func newCommand(name, args, summary string) *command {
	c := &command{name: name, args: args, summary: summary, flags: flag.NewFlagSet(name, flag.ContinueOnError)}
	c.flags.SetOutput(io.Discard) // errors and help are printed here
	c.flags.Usage = func() {}
	c.values = map[string][]string{}
	return c
}

// choice adds a flag with one of the values.
func (c *command) choice(name, value, about string, values ...string) *string {
	c.values[name] = values
	return c.flags.String(name, value, about)
}

// chosen returns a usage error unless the flag has one of its values.
func (c *command) chosen(name string) error {
	value := c.flags.Lookup(name).Value.String()
	if slices.Contains(c.values[name], value) {
		return nil
	}
	return usage("-%s is %q, want one of %s", name, value, strings.Join(c.values[name], ", "))
}

// presetNames are the presets, for completion and for decode -layout all.
var presetNames = snowflake.Presets()

// layoutFlag adds -layout. The function returns the layout, and whether one was given.
func (c *command) layoutFlag() func(environment) (snowflake.Layout, bool, error) {
	text := c.choice("layout", "", "`LAYOUT`: the name of a preset, or a text as of \"snowflake layout\"\n"+
		"(default $SNOWFLAKE_LAYOUT, or else \"default\")", presetNames...)
	return func(env environment) (snowflake.Layout, bool, error) {
		name := *text
		if name == "" {
			name = env.getenv("SNOWFLAKE_LAYOUT")
		}
		if name == "" {
			return snowflake.Default(), false, nil
		}
		layout, err := parseLayout(name)
		if err != nil {
			return layout, true, usage("-layout: %v", err)
		}
		return layout, true, nil
	}
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

// find returns the command that args begin with, and the arguments after it.
func find(args []string) (*command, []string) {
	var found *command
	words := 0
	for _, c := range commands() {
		name := strings.Fields(c.name)
		if len(name) > words && len(args) >= len(name) && strings.Join(args[:len(name)], " ") == c.name {
			found, words = c, len(name)
		}
	}
	return found, args[words:]
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
	c := newCommand("version", "", "the version of this command, and of Go")
	c.text = "\nA build of a checkout has a pseudo-version or (devel).\n"
	c.examples = "snowflake version"
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
	fmt.Fprintf(&b, "Usage: snowflake %s [FLAG...] %s\n\n%s.\n%s", c.name, c.args, strings.ToUpper(c.summary[:1])+c.summary[1:], c.text)
	b.WriteString("\nFlags:\n")
	c.flags.SetOutput(&b)
	c.flags.PrintDefaults()
	c.flags.SetOutput(io.Discard)
	b.WriteString("\nExamples:\n")
	for line := range strings.Lines(strings.TrimSpace(c.examples)) {
		b.WriteString("  " + strings.TrimSpace(line) + "\n")
	}
	return b.String()
}
