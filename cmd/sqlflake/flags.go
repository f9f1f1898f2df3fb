package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/sqlflake/sqlflake/snowflake"
)

// choiceFlag adds a flag with one of the values.
func choiceFlag(c *cobra.Command, name, value, about string, values ...string) *string {
	c.Flags().Func(name, about, func(text string) error {
		if !slices.Contains(values, text) {
			return fmt.Errorf("want one of %s", strings.Join(values, ", "))
		}
		value = text
		return nil
	})
	complete(c, name, values)
	return &value
}

// complete lets the shell offer the values.
func complete(c *cobra.Command, flag string, values []string) {
	_ = c.RegisterFlagCompletionFunc(flag, cobra.FixedCompletions(values, cobra.ShellCompDirectiveNoFileComp)) // it exists
}

// formatOf returns the one of the flags that is given, or "table".
func formatOf(c *cobra.Command, names ...string) string {
	for _, name := range names {
		if given, _ := c.Flags().GetBool(name); given { // it exists
			return name
		}
	}
	return "table"
}

// ignoreVariable takes back what a variable has set, if the flag itself would be an error.
func ignoreVariable(f *pflag.Flag, when bool) {
	if when && !f.Changed {
		_ = f.Value.Set("") // a string
	}
}

// zoneFlag adds --tz.
func zoneFlag(c *cobra.Command, about string) **time.Location {
	zone := time.UTC
	c.Flags().Func("tz", about+" (default UTC)", func(name string) error {
		found, err := time.LoadLocation(name)
		if err != nil || name == "" {
			return errors.New("want UTC, Local or the name of a time zone such as Europe/Berlin")
		}
		zone = found
		return nil
	})
	return &zone
}

const layoutHelp = "the `LAYOUT`: the name of a preset, or a text as of \"sqlflake layout\" " +
	"(default $SQLFLAKE_LAYOUT, or else \"default\")"

// chosenLayout is the value of --layout.
type chosenLayout struct {
	snowflake.Layout
	given bool // not the default
	all   bool // all presets
}

// layoutFlag adds --layout, to which "all" may be a value.
func layoutFlag(c *cobra.Command, all bool) *chosenLayout {
	chosen, about, values := &chosenLayout{Layout: snowflake.Default()}, layoutHelp, snowflake.Presets()
	if all {
		about, values = about+"; \"all\" shows each ID in each preset", append(values, "all")
	}
	c.Flags().Func("layout", about, func(text string) (err error) {
		if chosen.all, chosen.given = all && text == "all", true; !chosen.all {
			chosen.Layout, err = parseLayout(text)
		}
		return err
	})
	complete(c, "layout", values)
	return chosen
}

// parseLayout accepts the names of presets in upper case, too.
func parseLayout(text string) (snowflake.Layout, error) {
	if layout, err := snowflake.Preset(strings.ToLower(text)); err == nil {
		return layout, nil
	}
	return snowflake.ParseLayout(text)
}
