package main

import (
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/sqlflake/sqlflake/snowflake"
)

func rangeCommand(now func() time.Time) *cobra.Command {
	c := &cobra.Command{
		Use:   "range FROM [TO]",
		Short: "Print the bounds of the IDs of a span of time, for SQL",
		Long: `FROM and TO are times: 2026, 2026-11, 2026-11-22, 2026-11-22T15:04, with or
without seconds, in the time zone of --tz; or with an offset, as RFC 3339 has
it; or now. FROM is included, TO is not. Without TO, a year, month or day is the
whole of it, and another time lasts until now.

Durations are 90s, 15m, 36h, 7d (of 24 hours), and combinations such as 1d12h.
As FROM a duration counts back from TO, or from now; as TO it counts from FROM.

The time in an ID can be ahead of the clock by the generator's lead, 10 ms
unless it was changed.`,
		Example: `  sqlflake range 2026-11
  sqlflake range 24h
  sqlflake range --tz Europe/Berlin 2026-11-22
  sqlflake range 2026-11-22T08:00 90m
  psql -c "SELECT * FROM orders WHERE $(sqlflake range --where 24h)"`,
		Args: cobra.RangeArgs(1, 2),
	}
	layout := layoutFlag(c, false)
	zone := zoneFlag(c, "the `ZONE` of times without an offset: UTC, Local or one such as Europe/Berlin")
	column := c.Flags().String("column", "id", "the `NAME` of the key column")
	c.Flags().Bool("where", false, "print the condition only")
	c.Flags().Bool("json", false, "print JSON, with IDs as strings")
	c.MarkFlagsMutuallyExclusive("where", "json")
	c.RunE = func(c *cobra.Command, args []string) error {
		from, to, err := spanOf(args, now().In(*zone), *zone)
		if err != nil {
			return err
		}
		ranges, mask, times, err := layout.MaskedRanges(from, to)
		if err != nil {
			return err
		}
		if from.Before(layout.Epoch()) || to.After(layout.End()) {
			c.PrintErrf("note: the layout has times from %s to %s only\n", layout.Epoch().Format(time.RFC3339), layout.End().Format(time.RFC3339))
		}
		where, all := conditionOf(*column, ranges)
		found := bounds{From: moment{from}, To: moment{to}, Zone: (*zone).String(), Layout: layout.String(), Ranges: all, Where: where}
		if mask != 0 {
			where += fmt.Sprintf(" AND (%s & %d) >= %d AND (%d & %s) < %d", *column, mask, times.Lo, mask, *column, times.Hi)
			found.Where, found.Mask, found.Times = where, mask, (*jsonRange)(&times)
		}
		switch formatOf(c, "where", "json") {
		case "where":
			_, err = fmt.Fprintln(c.OutOrStdout(), where)
		case "json":
			err = writeJSON(c.OutOrStdout(), found)
		default:
			_, err = fmt.Fprintf(c.OutOrStdout(), "zone    %s\nfrom    %s\nto      %s (not included)\nlayout  %s\nwhere   %s\n",
				*zone, inBoth(from), inBoth(to), layout, where)
		}
		return err
	}
	return c
}

// bounds is the output of range -json.
type bounds struct {
	From   moment      `json:"from"`
	To     moment      `json:"to"`
	Zone   string      `json:"zone"`
	Layout string      `json:"layout"`
	Ranges []jsonRange `json:"ranges"`
	// With a Mask only those IDs count whose bits in it are in Times.
	Mask  snowflake.ID `json:"mask,omitzero"`
	Times *jsonRange   `json:"times,omitempty"`
	Where string       `json:"where"`
}

// jsonRange is the IDs from Lo on, below Hi; as JSON they are strings.
type jsonRange struct {
	Lo snowflake.ID `json:"lo"`
	Hi snowflake.ID `json:"hi"`
}

// inBoth prints the time in its zone, and in UTC if that is another one.
func inBoth(t time.Time) string {
	local, utc := t.Format(time.RFC3339Nano), t.UTC().Format(time.RFC3339Nano)
	if local == utc {
		return local
	}
	return local + " = " + utc
}

// conditionOf returns the ranges for SQL, and for JSON.
func conditionOf(column string, ranges []snowflake.Range) (where string, all []jsonRange) {
	var parts []string
	all = []jsonRange{} // not null
	for _, r := range ranges {
		parts = append(parts, fmt.Sprintf("%s >= %v AND %s < %v", column, r.Lo, column, r.Hi))
		all = append(all, jsonRange(r))
	}
	if len(parts) == 1 {
		return parts[0], all
	}
	return "(" + strings.Join(parts, " OR ") + ")", all
}
