package main

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/sqlflake/sqlflake/snowflake"
)

// choiceFlag adds a flag with one of the values. What value has before is the default.
func choiceFlag(c *cobra.Command, value *string, name, about string, values ...string) {
	c.Flags().Func(name, about, func(text string) error {
		if !slices.Contains(values, text) {
			return fmt.Errorf("want one of %s", strings.Join(values, ", "))
		}
		*value = text
		return nil
	})
	complete(c, name, values)
}

// complete lets the shell offer the values.
func complete(c *cobra.Command, flag string, values []string) {
	_ = c.RegisterFlagCompletionFunc(flag, // it exists
		cobra.FixedCompletions(values, cobra.ShellCompDirectiveNoFileComp))
}

// formatFlag adds a flag that chooses a format of the output, which has the name of the flag.
func formatFlag(c *cobra.Command, format *string, name, about string) {
	c.Flags().BoolFunc(name, about, func(text string) error {
		given, err := strconv.ParseBool(text)
		if err != nil {
			return errors.New("want true or false")
		}
		if given {
			*format = name
		}
		return nil
	})
}

// ignoreVariable takes back what a variable has set, if the flag itself would be an error.
func ignoreVariable(f *pflag.Flag) {
	if !f.Changed {
		_ = f.Value.Set("") // a string
	}
}

// zoneFlag adds --tz.
func zoneFlag(c *cobra.Command, zone **time.Location, about string) {
	*zone = time.UTC
	c.Flags().Func("tz", about+" (default UTC)", func(name string) error {
		found, err := time.LoadLocation(name)
		if err != nil || name == "" {
			return errors.New("want UTC, Local or the name of a time zone such as Europe/Berlin")
		}
		*zone = found
		return nil
	})
}

// chosenLayout is the value of --layout.
type chosenLayout struct {
	snowflake.Layout
	given bool // not the default
	all   bool // all presets
}

const layoutHelp = "`layout` of the IDs: a preset, or a text as \"sqlflake layout\" prints it "

// layoutFlag adds --layout.
func layoutFlag(c *cobra.Command, chosen *chosenLayout) {
	addLayoutFlag(c, chosen, layoutHelp+"(default $SQLFLAKE_LAYOUT, or else \"default\")", snowflake.Presets())
}

// layoutsFlag adds --layout, which may be "all".
func layoutsFlag(c *cobra.Command, chosen *chosenLayout) {
	addLayoutFlag(c, chosen, layoutHelp+"(default $SQLFLAKE_LAYOUT, or else \"default\"); "+
		"\"all\" shows each ID in each preset", append(snowflake.Presets(), "all"))
}

func addLayoutFlag(c *cobra.Command, chosen *chosenLayout, about string, values []string) {
	chosen.Layout = snowflake.Default()
	c.Flags().Func("layout", about, func(text string) (err error) {
		chosen.given = true
		chosen.all = text == "all" && slices.Contains(values, "all")
		if !chosen.all {
			chosen.Layout, err = parseLayout(text)
		}
		return err
	})
	complete(c, "layout", values)
}

// parseLayout accepts the names of presets in upper case too.
func parseLayout(text string) (snowflake.Layout, error) {
	if layout, err := snowflake.Preset(strings.ToLower(text)); err == nil {
		return layout, nil
	}
	return snowflake.ParseLayout(text)
}
