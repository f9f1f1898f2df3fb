package main

import (
	"cmp"
	"fmt"
	"io"
	"math"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/sqlflake/sqlflake/snowflake"
)

func diffCommand(now func() time.Time) *cobra.Command {
	c := &cobra.Command{
		Use:   "diff OLD NEW",
		Short: "Say when a layout can follow another one in a table",
		Long: `It prints from when on all IDs of the layout NEW are greater than those of OLD,
if the last generator of OLD ends at --until, or why they never are; and whether
an ID of NEW can be equal to one of OLD. Let --until have some seconds to spare
for the clocks and the lead of the old generators.`,
		Example: `  sqlflake layout diff --until 2020-06-01 baidu \
    "epoch=2016-05-20T00:00:00+08:00 tick=1s time:30 worker:22 sequence:11"
  sqlflake layout diff twitter default --json`,
		Args:      cobra.ExactArgs(2),
		ValidArgs: snowflake.Presets(),
	}
	text := c.Flags().String("until", "now", "the `TIME` at which the last generator of OLD ends")
	asJSON := c.Flags().Bool("json", false, "print JSON, with IDs as strings")
	c.RunE = func(c *cobra.Command, args []string) error {
		now := now().UTC()
		until, _, err := parseTime(*text, now.Truncate(time.Second).Add(time.Second), time.UTC)
		if err != nil {
			return err
		}
		old, err := parseLayout(args[0])
		layout, err2 := parseLayout(args[1])
		if err = cmp.Or(err, err2); err != nil {
			return usageError{err.Error()}
		}
		d := compare(old, layout, until, now)
		if *asJSON {
			return writeJSON(c.OutOrStdout(), d)
		}
		return d.write(c.OutOrStdout())
	}
	return c
}

// difference is the output of layout diff -json.
type difference struct {
	Old   description `json:"old"`
	New   description `json:"new"`
	Until moment      `json:"until"`
	From  *moment     `json:"from"` // null for never
	Wait  string      `json:"wait,omitempty"`
	Never string      `json:"never,omitempty"`
	Ever  *moment     `json:"from_after_all"` // from when on IDs are above all that OLD can ever have
	Equal string      `json:"equal"`
	ID    string      `json:"equal_id,omitempty"`
	Hint  string      `json:"hint,omitempty"`

	start, ever string // sentences
}

func compare(old, layout snowflake.Layout, until, now time.Time) difference {
	d := difference{Old: describeLayout(old, now), New: describeLayout(layout, now), Until: moment{until}}
	d.ever = "Its IDs are never above all that OLD can ever have"
	above := func(at time.Time) {
		d.Ever, d.ever = &moment{at}, "From "+at.Format(time.RFC3339Nano)+" on its IDs are above all that OLD can ever have"
	}
	if after, err := layout.Follows(old, old.End()); err == nil {
		above(after)
	}
	if from, err := layout.Follows(old, until); err != nil {
		d.Never = strings.TrimPrefix(err.Error(), snowflake.ErrTimeExhausted.Error()+": ")
		d.start = "NEW never follows: " + d.Never
	} else {
		d.From, d.Wait, d.Hint = &moment{from}, span(until, from), earlier(old, layout, until, from)
		d.start = fmt.Sprintf("NEW may start at %s, %s later", from.Format(time.RFC3339Nano), d.Wait)
		if least, err := layout.Compose(snowflake.Parts{Time: from}); err == nil && uint64(least)>>old.Bits() != 0 {
			above(from)
		}
	}
	id, err := layout.Compose(snowflake.Parts{Time: until})
	switch at := old.Time(id); {
	case err != nil:
		d.Equal = "no: NEW has no IDs of that time"
	case uint64(id)>>old.Bits() != 0:
		d.Equal = "no: its IDs have more bits than those of OLD"
	default:
		answer := [3]string{"yes, an old one", "yes, unless the workers differ", "no, but one that OLD would issue later"}[1+at.Compare(until)]
		d.ID, d.Equal = id.String(), fmt.Sprintf("%s: %d is one of %s in OLD", answer, id, at.Format(time.RFC3339Nano))
	}
	return d
}

// earlier returns a hint: with an epoch that is earlier by the wait the IDs of today are those that else come after it.
func earlier(old, layout snowflake.Layout, until, from time.Time) string {
	wait, tick := from.Sub(until), layout.Tick()
	shifted, err := snowflake.NewLayout(layout.Epoch().Add(-(wait + tick - 1).Truncate(tick)), tick, layout.Fields()...)
	if err == nil && wait > tick && wait < math.MaxInt64-tick {
		if at, err := shifted.Follows(old, until); err == nil && at.Sub(until) <= tick {
			return "with this earlier epoch it follows at once: " + shifted.String()
		}
	}
	return ""
}

func (d *difference) write(w io.Writer) error {
	d.Old.Name, d.New.Name = "OLD", "NEW"
	if err := writeLayouts(w, "LAYOUT", []description{d.Old, d.New}); err != nil {
		return err
	}
	text := fmt.Sprintf("\nIf the last generator of OLD ends at %s,\n%s.\n%s.\n", d.Until.Format(time.RFC3339Nano), d.start, d.ever) +
		"Is an ID that NEW issues at that time one of OLD? " + d.Equal + ".\n"
	if d.Hint != "" {
		text += "Hint: " + d.Hint + "\n"
	}
	_, err := io.WriteString(w, text)
	return err
}
