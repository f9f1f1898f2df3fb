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

	"github.com/sqlflake/sqlflake/cmd/sqlflake/internal/timetext"
	"github.com/sqlflake/sqlflake/snowflake"
)

type layoutOptions struct {
	wanted  wantedLayout
	compute bool // a flag of wanted is given
	epoch   string
	until   string
	json    bool
}

func layoutCommand(now func() time.Time) *cobra.Command {
	o := &layoutOptions{}
	c := &cobra.Command{
		Use:   "layout [LAYOUT | OLD NEW]",
		Short: "Describe a layout, compare two, or compute one",
		Long: `A LAYOUT is the name of a preset, or a text. Without arguments and flags all
presets are listed.

Two layouts are compared, to say when NEW can follow OLD in a table: from when
on all its IDs are greater, if the last generator of OLD ends at --until, or why
they never are; and whether an ID of NEW can be equal to one of OLD. Let --until
have some seconds to spare for the clocks and the lead of the old generators.

With --workers, --rate, --years, --epoch or --bits a layout is computed. It has
ticks of 1 ms if they fit, otherwise of 10 ms, 100 ms or 1 s. Bits that are left
over are given to the sequence, so that bursts are served faster.`,
		Example: `  sqlflake layout
  sqlflake layout twitter
  sqlflake layout \
    "epoch=2026-01-01T00:00:00Z tick=1ms time:41 worker:8 sequence:14"
  sqlflake layout --until 2026-12-01T03:00:00Z sonyflake default
  sqlflake layout --workers 5000 --rate 200000 --years 40
  sqlflake layout --workers 16 --rate 1000 --years 100 --bits 53`,
		Args:      cobra.MaximumNArgs(2),
		ValidArgs: snowflake.Presets(),
		RunE: func(c *cobra.Command, args []string) error {
			c.Flags().Visit(func(f *pflag.Flag) {
				if f.Name != "json" && f.Name != "until" {
					o.compute = true
				}
			})
			return o.run(c.OutOrStdout(), now().UTC(), args)
		},
	}
	o.addFlags(c)
	return c
}

func (o *layoutOptions) addFlags(c *cobra.Command) {
	c.Flags().Int64Var(&o.wanted.workers, "workers", 1024, "compute a layout for this `number` of workers")
	c.Flags().Float64Var(&o.wanted.rate, "rate", 4_096_000,
		"compute a layout for this `number` of IDs a second and worker")
	c.Flag("rate").DefValue = "4096000" // not 4.096e+06
	c.Flags().Float64Var(&o.wanted.years, "years", 50, "compute a layout that lasts this `number` of years from now on")
	c.Flags().StringVar(&o.epoch, "epoch", "",
		"compute a layout whose times count from this `date` (default the start of this year, UTC)")
	c.Flags().IntVar(&o.wanted.bits, "bits", 63,
		"compute a layout of this `number` of bits; a JavaScript number holds IDs of 53")
	c.Flags().StringVar(&o.until, "until", "now", "`time` at which the last generator of OLD ends")
	c.Flags().BoolVar(&o.json, "json", false, "print JSON, with IDs as strings")
}

func (o *layoutOptions) run(out io.Writer, now time.Time, args []string) error {
	if o.compute && len(args) > 0 {
		return usage("give either a layout, or flags to compute one")
	}
	if len(args) < 2 && o.until != "now" {
		return usage("--until %s is for two layouts: give OLD and NEW", o.until)
	}

	layouts := make([]snowflake.Layout, len(args))
	for i, text := range args {
		var err error
		if layouts[i], err = parseLayout(text); err != nil {
			return usageError{err.Error()}
		}
	}

	switch {
	case o.compute:
		return o.computed(out, now)
	case len(layouts) == 1:
		return describe(out, layouts[0], now, o.json)
	case len(layouts) == 2:
		return o.compared(out, layouts[0], layouts[1], now)
	}
	return listPresets(out, now, o.json)
}

// compared prints whether one layout can follow another one.
func (o *layoutOptions) compared(out io.Writer, old, layout snowflake.Layout, now time.Time) error {
	next := now.Truncate(time.Second).Add(time.Second)
	until, _, err := parseTime(o.until, next, time.UTC)
	if err != nil {
		return err
	}

	d := compare(old, layout, until, now)
	if o.json {
		return writeJSON(out, d)
	}
	return d.write(out)
}

// computed prints the layout that is wanted.
func (o *layoutOptions) computed(out io.Writer, now time.Time) error {
	epoch, err := epochOf(o.epoch, now)
	if err != nil {
		return err
	}
	layout, err := o.wanted.compute(epoch, now)
	if err != nil {
		return err
	}
	return describe(out, layout, now, o.json)
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

// wantedLayout is what a computed layout has to have.
type wantedLayout struct {
	workers     int64
	rate, years float64 // IDs a second and worker; from now on
	bits        int
}

// check also refuses NaN.
func (w wantedLayout) check() error {
	hasRate := w.rate > 0 && w.rate <= 1e12
	hasYears := w.years > 0 && w.years <= 1e6

	switch {
	case w.workers < 1 || w.workers > 1<<40:
		return usage("--workers %d, want 1 to %d", w.workers, int64(1)<<40)
	case !hasRate:
		return usage("--rate %v, want more than 0 and at most 1e12", w.rate)
	case !hasYears:
		return usage("--years %v, want more than 0 and at most 1000000", w.years)
	case w.bits < 10 || w.bits > 63:
		return usage("--bits %d, want 10 to 63", w.bits)
	}
	return nil
}

// compute returns the layout with the shortest tick that has room for all.
func (w wantedLayout) compute(epoch, now time.Time) (snowflake.Layout, error) {
	if err := w.check(); err != nil {
		return snowflake.Layout{}, err
	}

	seconds := w.years*timetext.YearSeconds + now.Sub(epoch).Seconds()
	least := math.MaxInt
	for _, tick := range []time.Duration{time.Millisecond, 10 * time.Millisecond, 100 * time.Millisecond, time.Second} {
		timeBits := bitsFor(seconds / tick.Seconds())
		workerBits := bitsFor(float64(w.workers))
		sequenceBits := bitsFor(w.rate * tick.Seconds())

		if total := timeBits + workerBits + sequenceBits; total > w.bits {
			least = min(least, total)
			continue
		}
		return snowflake.NewLayout(epoch, tick,
			snowflake.Field{Name: snowflake.FieldTime, Bits: timeBits},
			snowflake.Field{Name: "worker", Bits: workerBits},
			snowflake.Field{Name: snowflake.FieldSequence, Bits: w.bits - timeBits - workerBits})
	}
	return snowflake.Layout{}, fmt.Errorf("%d workers with %.0f IDs a second each, for %v years, need %d bits, and "+
		"there are %d: halve one of the three for each bit", w.workers, w.rate, w.years, least, w.bits)
}

// bitsFor returns how many bits count that many values, at least 1.
func bitsFor(values float64) int {
	return max(1, bits.Len64(uint64(math.Ceil(values))-1))
}

// description is the output of layout --json.
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
	d := description{
		Layout: l.String(), Bits: l.Bits(), Max: strconv.FormatUint(1<<l.Bits()-1, 10),
		Epoch: l.Epoch().Format(time.RFC3339Nano), End: l.End().Format(time.RFC3339Nano),
		Years: math.Round(timetext.Years(now, l.End())*10) / 10, Tick: l.Tick().String(),
		Workers: l.MaxWorker() + 1, PerTick: perTick,
		PerSecond: math.Round(float64(perTick)/l.Tick().Seconds()*100) / 100,
		ended:     !l.End().After(now),
	}

	lowest := l.Bits()
	for _, f := range l.Fields() {
		lowest -= f.Bits
		d.Fields = append(d.Fields, fieldOf{f.Name, f.Bits, lowest, 1<<f.Bits - 1})
	}
	d.addNotes(l, now)
	return d
}

func (d *description) addNotes(l snowflake.Layout, now time.Time) {
	note := func(when bool, text string) {
		if when {
			d.Notes = append(d.Notes, text)
		}
	}

	endsSoon := !d.ended && timetext.Years(now, l.End()) < 10
	note(d.ended, "its time has ended: it reads old IDs, and issues none")
	note(endsSoon, "it issues IDs until "+l.End().Format(time.DateOnly)+" only")
	note(l.Epoch().After(now), "its time has not begun: it issues no IDs yet")
	note(l.Bits() > 53, "its IDs can be above 2^53 - 1, which JavaScript rounds: send them as strings")
	note(d.Fields[0].Name != snowflake.FieldTime,
		"the time is not the highest field: IDs do not sort by time, and a span of time has several ranges")
	note(l.Period() > l.Tick(),
		"IDs of several workers sort by time only from one period of "+l.Period().String()+" to the next")
	note(l.WorkerField() == "", "it has no worker: only one generator may issue its IDs")
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
		b.WriteString("\n")
	}
	for _, note := range d.Notes {
		b.WriteString(wrap("note: ", note))
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
	fmt.Fprintln(table, title+"\tWORKERS\tENDS\tFIELDS")
	for _, d := range all {
		_, fields, _ := strings.Cut(d.Layout, "tick=")
		year, _, _ := strings.Cut(d.End, "-")
		fmt.Fprintf(table, "%s\t%d\t%s\t%s\n", d.Name, d.Workers, year, fields)
	}
	return table.Flush()
}

// difference is the output of layout OLD NEW --json.
type difference struct {
	Old   description      `json:"old"`
	New   description      `json:"new"`
	Until timetext.Moment  `json:"until"`
	From  *timetext.Moment `json:"from"` // null for never
	Wait  string           `json:"wait,omitempty"`
	Never string           `json:"never,omitempty"`
	Equal string           `json:"equal"`
	ID    string           `json:"equal_id,omitempty"`
	Time  string           `json:"equal_time,omitempty"` // of the ID in OLD

	start string // a sentence
}

func compare(old, layout snowflake.Layout, until, now time.Time) *difference {
	d := &difference{
		Old: describeLayout(old, now), New: describeLayout(layout, now), Until: timetext.Moment{Time: until},
	}
	d.setFrom(old, layout, until)
	d.setEqual(old, layout, until)
	return d
}

// setFrom sets when NEW may start, or why it never may.
func (d *difference) setFrom(old, layout snowflake.Layout, until time.Time) {
	from, err := layout.Follows(old, until)
	if err != nil {
		d.Never = strings.TrimPrefix(err.Error(), snowflake.ErrTimeExhausted.Error()+": ")
		d.start = "NEW never follows: " + d.Never
		return
	}

	d.From, d.Wait = &timetext.Moment{Time: from}, timetext.Between(until, from)
	d.start = fmt.Sprintf("NEW may start at %s, %s later", from.Format(time.RFC3339Nano), d.Wait)
}

// setEqual sets whether an ID that NEW issues at until is one of OLD.
func (d *difference) setEqual(old, layout snowflake.Layout, until time.Time) {
	id, err := layout.Compose(snowflake.Parts{Time: until})
	switch {
	case err != nil:
		d.Equal = "no: NEW has no IDs of that time"
		return
	case uint64(id)>>old.Bits() != 0:
		d.Equal = "no: its IDs have more bits than those of OLD"
		return
	}

	answer, at := "yes, unless the workers differ", old.Time(id)
	if at.Before(until) {
		answer = "yes, an old one"
	} else if at.After(until) {
		answer = "no, but one that OLD would issue later"
	}
	d.Equal, d.ID, d.Time = answer, id.String(), at.Format(time.RFC3339Nano)
}

func (d *difference) write(w io.Writer) error {
	d.Old.Name, d.New.Name = "OLD", "NEW"
	if err := writeLayouts(w, "LAYOUT", []description{d.Old, d.New}); err != nil {
		return err
	}

	text := fmt.Sprintf(`
If the last generator of OLD ends at %s,
%sIs an ID that NEW issues at that time one of OLD?
%s.
`, d.Until.Format(time.RFC3339Nano), wrap("", d.start+"."), d.Equal)
	if d.ID != "" {
		text += d.ID + " is one of " + d.Time + " in OLD.\n"
	}
	_, err := io.WriteString(w, text)
	return err
}
