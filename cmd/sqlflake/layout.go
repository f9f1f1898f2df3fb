package main

import (
	"fmt"
	"io"
	"math"
	"math/bits"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/sqlflake/sqlflake/snowflake"
)

func layoutCommand(now func() time.Time) *cobra.Command {
	c := &cobra.Command{
		Use:   "layout [LAYOUT]",
		Short: "Describe a layout, or compute one",
		Long: `With a LAYOUT, the name of a preset or a text, it is described. With any flag
but --json a layout is computed. With neither, all known layouts are listed,
which are the presets.

A computed layout has ticks of 1 ms if they fit, otherwise of 10 ms, 100 ms or
1 s. Bits that are left over are given to the sequence, so that bursts are
served faster.`,
		Example: `  sqlflake layout
  sqlflake layout twitter
  sqlflake layout \
    "epoch=2026-01-01T00:00:00Z tick=1ms time:41 worker:8 sequence:14"
  sqlflake layout --workers 5000 --rate 200000 --years 40
  sqlflake layout --workers 16 --rate 1000 --years 100 --bits 53`,
		Args:      cobra.MaximumNArgs(1),
		ValidArgs: snowflake.Presets(),
	}
	workers := c.Flags().Int64("workers", 1024, "compute a layout for so many workers, `N`")
	rate := c.Flags().Float64("rate", 4_096_000, "compute a layout in which each worker issues so many IDs a second, `N`")
	years := c.Flags().Float64("years", 50, "compute a layout that lasts for `N` years from now on")
	epoch := c.Flags().String("epoch", "", "the `DATE` that the times of a computed layout count from (default the start of this year, UTC)")
	width := c.Flags().Int("bits", 63, "the width `N` of a computed layout; 53 for IDs that a JavaScript number holds")
	asJSON := c.Flags().Bool("json", false, "print JSON")
	c.RunE = func(c *cobra.Command, args []string) error {
		compute := false
		c.Flags().Visit(func(f *pflag.Flag) { compute = compute || f.Name != "json" })
		out, now := c.OutOrStdout(), now().UTC()
		switch {
		case compute && len(args) == 1:
			return usage("a LAYOUT, and flags to compute one")
		case compute:
			n := need{*workers, *rate, *years, *width, now}
			begin, err := epochOf(*epoch, now)
			if err != nil {
				return err
			}
			layout, err := n.layout(begin)
			if err != nil {
				return err
			}
			return describe(out, layout, now, *asJSON)
		case len(args) == 1:
			layout, err := parseLayout(args[0])
			if err != nil {
				return usageError{err.Error()}
			}
			return describe(out, layout, now, *asJSON)
		}
		return listPresets(out, now, *asJSON)
	}
	c.AddCommand(diffCommand(now))
	return c
}

func epochOf(text string, now time.Time) (time.Time, error) {
	if text == "" {
		return time.Date(now.Year(), 1, 1, 0, 0, 0, 0, time.UTC), nil
	}
	at, _, err := parseTime(text, now, time.UTC)
	if err == nil && at.After(now) {
		err = usage("--epoch %s is in the future, so no ID could be issued now", text)
	}
	return at, err
}

// need is what a computed layout has to have.
type need struct {
	workers     int64
	rate, years float64
	bits        int
	now         time.Time
}

const yearSeconds = 365.2425 * 24 * 60 * 60

// layout returns the layout with the shortest tick that has room for what is needed.
func (n need) layout(epoch time.Time) (snowflake.Layout, error) {
	switch {
	case n.workers < 1 || n.workers > 1<<40:
		return snowflake.Layout{}, usage("--workers %d, want 1 to %d", n.workers, int64(1)<<40)
	case !(n.rate > 0 && n.rate <= 1e12): // NaN, too
		return snowflake.Layout{}, usage("--rate %v, want more than 0 and at most 1e12", n.rate)
	case !(n.years > 0 && n.years <= 1e6):
		return snowflake.Layout{}, usage("--years %v, want more than 0 and at most 1000000", n.years)
	case n.bits < 10 || n.bits > 63:
		return snowflake.Layout{}, usage("--bits %d, want 10 to 63", n.bits)
	}
	seconds := n.years*yearSeconds + n.now.Sub(epoch).Seconds()
	least := math.MaxInt
	for _, tick := range []time.Duration{time.Millisecond, 10 * time.Millisecond, 100 * time.Millisecond, time.Second} {
		timeBits := bitsFor(seconds / tick.Seconds())
		workerBits := bitsFor(float64(n.workers))
		sequenceBits := bitsFor(n.rate * tick.Seconds())
		if total := timeBits + workerBits + sequenceBits; total > n.bits {
			least = min(least, total)
			continue
		}
		return snowflake.NewLayout(epoch, tick, snowflake.Field{Name: snowflake.FieldTime, Bits: timeBits},
			snowflake.Field{Name: "worker", Bits: workerBits},
			snowflake.Field{Name: snowflake.FieldSequence, Bits: n.bits - timeBits - workerBits})
	}
	return snowflake.Layout{}, fmt.Errorf("%d workers with %.0f IDs a second each, for %v years, need %d bits, and there are %d: "+
		"halve one of the three for each bit", n.workers, n.rate, n.years, least, n.bits)
}

// bitsFor returns how many bits count that many values, at least 1.
func bitsFor(values float64) int {
	return max(1, bits.Len64(uint64(math.Ceil(values))-1))
}

// description is the output of layout -json.
type description struct {
	Name   string  `json:"name,omitempty"`
	Layout string  `json:"layout"`
	Bits   int     `json:"bits"`
	Max    string  `json:"max_id"`
	Epoch  string  `json:"epoch"`
	End    string  `json:"end"`        // with a year above 9999, which a time.Time in JSON can't have
	Years  float64 `json:"years_left"` // negative after the end
	Tick   string  `json:"tick"`
	// PerTick and PerSecond are for one worker.
	Workers   int64     `json:"workers"`
	PerTick   int64     `json:"ids_per_tick"`
	PerSecond float64   `json:"ids_per_second"`
	Fields    []fieldOf `json:"fields"`
	Notes     []string  `json:"notes,omitempty"`

	ended bool // in JSON a note
}

type fieldOf struct {
	Name  string `json:"name"`
	Bits  int    `json:"bits"`
	First int    `json:"lowest_bit"`
	Max   int64  `json:"max"`
}

func describeLayout(l snowflake.Layout, now time.Time) description {
	perTick := l.MaxSequence() + 1
	years := (float64(l.End().Unix()) - float64(now.Unix())) / yearSeconds
	d := description{
		Layout: l.String(), Bits: l.Bits(), Max: strconv.FormatUint(1<<l.Bits()-1, 10),
		Epoch: l.Epoch().Format(time.RFC3339Nano), End: l.End().Format(time.RFC3339Nano),
		Years: math.Round(years*10) / 10, Tick: l.Tick().String(), Workers: l.MaxWorker() + 1, PerTick: perTick,
		PerSecond: math.Round(float64(perTick)/l.Tick().Seconds()*100) / 100,
	}
	d.ended = !l.End().After(now)
	lowest := l.Bits()
	for _, f := range l.Fields() {
		lowest -= f.Bits
		d.Fields = append(d.Fields, fieldOf{f.Name, f.Bits, lowest, 1<<f.Bits - 1})
	}
	note := func(when bool, text string) {
		if when {
			d.Notes = append(d.Notes, text)
		}
	}
	note(d.ended, "its time has ended: it reads old IDs, and issues none")
	note(!d.ended && years < 10, "it issues IDs until "+l.End().Format(time.DateOnly)+" only")
	note(l.Epoch().After(now), "its time has not begun: it issues no IDs yet")
	note(l.Bits() > 53, "its IDs can be above 2^53 - 1, which JavaScript rounds: send them as strings")
	note(d.Fields[0].Name != snowflake.FieldTime,
		"the time is not the highest field: IDs do not sort by time, and a span of time has several ranges")
	note(l.Period() > l.Tick(), "IDs of several workers sort by time only from one period of "+l.Period().String()+" to the next")
	note(l.WorkerField() == "", "it has no worker: only one generator may issue its IDs")
	return d
}

func describe(w io.Writer, l snowflake.Layout, now time.Time, asJSON bool) error {
	d := describeLayout(l, now)
	if asJSON {
		return writeJSON(w, d)
	}
	var b strings.Builder
	fmt.Fprintf(&b, `layout   %s
begins   %s
ends     %s (%.1f years from now)
workers  %d
rate     %d IDs each %s and worker: %.0f a second
greatest %s (%d bits)

`, d.Layout, d.Epoch, d.End, d.Years, d.Workers, d.PerTick, d.Tick, d.PerSecond, d.Max, d.Bits)
	table := tabwriter.NewWriter(&b, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(table, "FIELD\tBITS\tFROM BIT\tMAX\t")
	for _, f := range d.Fields {
		fmt.Fprintf(table, "%s\t%d\t%d\t%d\t\n", f.Name, f.Bits, f.First, f.Max)
	}
	_ = table.Flush() // into b
	if len(d.Notes) > 0 {
		b.WriteString("\nnote: " + strings.Join(d.Notes, "\nnote: ") + "\n")
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func listPresets(w io.Writer, now time.Time, asJSON bool) error {
	var all []description
	for _, name := range snowflake.Presets() {
		d := describeLayout(snowflake.MustPreset(name), now)
		d.Name = name
		all = append(all, d)
	}
	if asJSON {
		return writeJSON(w, all)
	}
	return writeLayouts(w, "PRESET", all)
}

func writeLayouts(w io.Writer, title string, all []description) error {
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, title+"\tWORKERS\tIDS A SECOND\tBEGINS\tENDS\tFIELDS")
	for _, d := range all {
		_, fields, _ := strings.Cut(d.Layout, "tick=")
		begins, _, _ := strings.Cut(d.Epoch, "T")
		ends, _, _ := strings.Cut(d.End, "T")
		if d.ended {
			ends += ", ended"
		}
		fmt.Fprintf(table, "%s\t%d\t%.0f\t%s\t%s\t%s\n", d.Name, d.Workers, d.PerSecond, begins, ends, fields)
	}
	return table.Flush()
}
