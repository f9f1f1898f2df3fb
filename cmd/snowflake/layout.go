package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"math"
	"math/bits"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/sqlflake/sqlflake/snowflake"
)

func layoutCommand() *command {
	c := newCommand("layout", "[LAYOUT]", "describe a layout, or compute one", `
With a LAYOUT, the name of a preset or a text, it is described. With any flag but
-json a layout is computed. With neither, the presets are listed.

A computed layout has ticks of 1 ms if they fit, otherwise of 10 ms, 100 ms or 1 s.
Bits that are left over are given to the sequence, so that bursts are served
faster.
`, `
snowflake layout
snowflake layout twitter
snowflake layout "epoch=2026-01-01T00:00:00Z tick=1ms time:41 worker:8 sequence:14"
snowflake layout -workers 5000 -rate 200000 -years 40
snowflake layout -workers 16 -rate 1000 -years 100 -bits 53
`)
	workers := c.flags.Int64("workers", 1024, "compute a layout for so many workers `N`")
	rate := c.flags.Float64("rate", 4_096_000, "compute a layout in which each worker issues so many IDs `N` a second")
	years := c.flags.Float64("years", 50, "compute a layout that lasts for `N` years from now on")
	epoch := c.flags.String("epoch", "", "the `DATE` that the times of a computed layout count from (default the start of this year, UTC)")
	width := c.flags.Int("bits", 63, "the width `N` of a computed layout; 53 for IDs that a JavaScript number holds")
	asJSON := c.flags.Bool("json", false, "print JSON")
	c.run = func(_ context.Context, env environment, args []string) error {
		if len(args) > 1 {
			return usage("%d arguments; put quotes around the text of a layout", len(args))
		}
		compute := false
		c.flags.Visit(func(f *flag.Flag) { compute = compute || f.Name != "json" })
		switch {
		case compute && len(args) == 1:
			return usage("a LAYOUT, and flags to compute one")
		case compute:
			n := need{*workers, *rate, *years, *width, env.now().UTC()}
			begin, err := epochOf(*epoch, n.now)
			if err != nil {
				return err
			}
			layout, err := n.layout(begin)
			if err != nil {
				return err
			}
			return describe(env.out, layout, n.now, *asJSON)
		case len(args) == 1:
			layout, err := parseLayout(args[0])
			if err != nil {
				return usage("%v", err)
			}
			return describe(env.out, layout, env.now().UTC(), *asJSON)
		}
		return listPresets(env.out, env.now().UTC(), *asJSON)
	}
	return c
}

func epochOf(text string, now time.Time) (time.Time, error) {
	if text == "" {
		return time.Date(now.Year(), 1, 1, 0, 0, 0, 0, time.UTC), nil
	}
	at, _, err := parseTime(text, now, time.UTC)
	if err == nil && at.After(now) {
		err = usage("-epoch %s is in the future, so no ID could be issued now", text)
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
		return snowflake.Layout{}, usage("-workers %d, want 1 to %d", n.workers, int64(1)<<40)
	case !(n.rate > 0 && n.rate <= 1e12): // NaN, too
		return snowflake.Layout{}, usage("-rate %v, want more than 0 and at most 1e12", n.rate)
	case !(n.years > 0 && n.years <= 1e6):
		return snowflake.Layout{}, usage("-years %v, want more than 0 and at most 1000000", n.years)
	case n.bits < 10 || n.bits > 63:
		return snowflake.Layout{}, usage("-bits %d, want 10 to 63", n.bits)
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
	note(!l.End().After(now), "its time has ended: it reads old IDs, and issues none")
	note(l.End().After(now) && years < 10, "it issues IDs until "+l.End().Format(time.DateOnly)+" only")
	note(l.Epoch().After(now), "its time has not begun: it issues no IDs yet")
	note(l.Bits() > 53, "its IDs can be above 2^53 - 1, which JavaScript rounds: send them as strings")
	note(d.Fields[0].Name != snowflake.FieldTime,
		"the time is not the highest field: IDs do not sort by time, and a span of time has several ranges")
	note(l.WorkerField() == "", "it has no worker: only one generator may issue its IDs")
	return d
}

func describe(w io.Writer, l snowflake.Layout, now time.Time, asJSON bool) error {
	d := describeLayout(l, now)
	if asJSON {
		return writeJSON(w, d)
	}
	var b strings.Builder
	fmt.Fprintf(&b, "layout   %s\n", d.Layout)
	fmt.Fprintf(&b, "begins   %s\n", d.Epoch)
	fmt.Fprintf(&b, "ends     %s (%.1f years from now)\n", d.End, d.Years)
	fmt.Fprintf(&b, "workers  %d\n", d.Workers)
	fmt.Fprintf(&b, "rate     %d IDs each %s and worker: %.0f a second\n", d.PerTick, d.Tick, d.PerSecond)
	fmt.Fprintf(&b, "greatest %s (%d bits)\n\n", d.Max, d.Bits)
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
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "PRESET\tWORKERS\tIDS A SECOND\tBEGINS\tENDS\tFIELDS")
	for _, d := range all {
		_, fields, _ := strings.Cut(d.Layout, "tick=")
		begins, _, _ := strings.Cut(d.Epoch, "T")
		ends, _, _ := strings.Cut(d.End, "T")
		fmt.Fprintf(table, "%s\t%d\t%.0f\t%s\t%s\t%s\n", d.Name, d.Workers, d.PerSecond, begins, ends, fields)
	}
	return table.Flush()
}
