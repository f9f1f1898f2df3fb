package main

import (
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/sqlflake/sqlflake/cmd/sqlflake/internal/timetext"
	"github.com/sqlflake/sqlflake/snowflake"
)

type layoutOptions struct {
	until string
	json  bool
}

func layoutCommand(now func() time.Time) *cobra.Command {
	o := &layoutOptions{}
	c := &cobra.Command{
		Use:   "layout [LAYOUT | OLD NEW]",
		Short: "Describe a layout, or compare two",
		Long: `A LAYOUT is the name of a preset, or a text. Without arguments all presets are
listed; with the name of one its fields and its text are shown.

Two layouts are compared, to say when NEW can follow OLD in a table: from when
on all its IDs are greater, if the last generator of OLD ends at --until, or why
they never are; and whether an ID of NEW can be equal to one of OLD. Let --until
have some seconds to spare for the clocks and the lead of the old generators.`,
		Example: `  sqlflake layout
  sqlflake layout twitter
  sqlflake layout \
    "epoch=2026-01-01T00:00:00Z tick=1ms time:41 worker:8 sequence:14"
  sqlflake layout --until 2026-12-01T03:00:00Z sonyflake default`,
		Args:      cobra.MaximumNArgs(2),
		ValidArgs: snowflake.Presets(),
		RunE:      func(c *cobra.Command, args []string) error { return o.run(c.OutOrStdout(), now().UTC(), args) },
	}
	c.Flags().StringVar(&o.until, "until", "now", "`time` at which the last generator of OLD ends")
	c.Flags().BoolVar(&o.json, "json", false, "print JSON, with IDs as strings")
	return c
}

func (o *layoutOptions) run(out io.Writer, now time.Time, args []string) error {
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

	switch len(layouts) {
	case 0:
		all := presetsAt(now)
		return printResult(out, o.json, all, func(w io.Writer) { writeLayouts(w, "PRESET", all) })
	case 1:
		d := describeLayout(layouts[0], now)
		return printResult(out, o.json, d, d.write)
	}

	next := now.Truncate(time.Second).Add(time.Second)
	until, _, err := parseTime(o.until, next, time.UTC)
	if err != nil {
		return usage("--until: %v", err)
	}
	d := compare(layouts[0], layouts[1], until, now)
	return printResult(out, o.json, d, d.write)
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

func describeLayout(l snowflake.Layout, now time.Time) *description {
	perTick := l.MaxSequence() + 1
	d := &description{
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
	notes := []struct {
		applies bool
		text    string
	}{
		{d.ended, "its time has ended: it reads old IDs, and issues none"},
		{
			!d.ended && timetext.Years(now, l.End()) < 10,
			"it issues IDs until " + l.End().Format(time.DateOnly) + " only",
		},
		{l.Epoch().After(now), "its time has not begun: it issues no IDs yet"},
		{l.Bits() > 53, "its IDs can be above 2^53 - 1, which JavaScript rounds: send them as strings"},
		{
			d.Fields[0].Name != snowflake.FieldTime,
			"the time is not the highest field: IDs do not sort by time, and a span of time has several ranges",
		},
		{
			l.Period() > l.Tick(),
			"IDs of several workers sort by time only from one period of " + l.Period().String() + " to the next",
		},
		{l.WorkerField() == "", "it has no worker: only one generator may issue its IDs"},
	}

	for _, note := range notes {
		if note.applies {
			d.Notes = append(d.Notes, note.text)
		}
	}
}

func (d *description) write(w io.Writer) {
	fmt.Fprintf(w, `layout   %s
begins   %s
ends     %s (%.1f years from now)
workers  %d
rate     %d IDs each %s and worker: %.0f a second
greatest %s (%d bits)

`, d.Layout, d.Epoch, d.End, d.Years, d.Workers, d.PerTick, d.Tick, d.PerSecond, d.Max, d.Bits)

	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(table, "FIELD\tBITS\tFROM BIT\tMAX\t")
	for _, f := range d.Fields {
		fmt.Fprintf(table, "%s\t%d\t%d\t%d\t\n", f.Name, f.Bits, f.First, f.Max)
	}
	_ = table.Flush()

	for i, note := range d.Notes {
		if i == 0 {
			fmt.Fprintln(w)
		}
		fmt.Fprint(w, wrap("note: ", note))
	}
}

// presetsAt describes all presets.
func presetsAt(now time.Time) []*description {
	var all []*description
	for _, name := range snowflake.Presets() {
		d := describeLayout(snowflake.MustPreset(name), now)
		d.Name = name
		all = append(all, d)
	}
	return all
}

func writeLayouts(w io.Writer, title string, all []*description) {
	table := tabwriter.NewWriter(w, 0, 0, 1, ' ', 0) // two would make a line of 81 columns
	fmt.Fprintln(table, title+"\tWORKERS\tENDS\tFIELDS")
	for _, d := range all {
		_, fields, _ := strings.Cut(d.Layout, "tick=")
		year, _, _ := strings.Cut(d.End, "-")
		if d.ended {
			fields += ", ended"
		}
		fmt.Fprintf(table, "%s\t%d\t%s\t%s\n", d.Name, d.Workers, year, fields)
	}
	_ = table.Flush()
}

// difference is the output of layout OLD NEW --json.
type difference struct {
	Old   *description     `json:"old"`
	New   *description     `json:"new"`
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
	if err != nil {
		d.Equal = "no: NEW has no IDs of that time"
		return
	}
	if uint64(id)>>old.Bits() != 0 {
		d.Equal = "no: its IDs have more bits than the IDs of OLD"
		return
	}

	at := old.Time(id)
	d.Equal = map[int]string{
		-1: "yes, an old one", 0: "yes, unless the workers differ", 1: "no, but one that OLD would issue later",
	}[at.Compare(until)]
	d.ID, d.Time = id.String(), at.Format(time.RFC3339Nano)
}

func (d *difference) write(w io.Writer) {
	d.Old.Name, d.New.Name = "OLD", "NEW"
	writeLayouts(w, "LAYOUT", []*description{d.Old, d.New})
	fmt.Fprintf(w, `
If the last generator of OLD ends at %s,
%sIs an ID that NEW issues at that time one of OLD?
%s.
`, d.Until.Format(time.RFC3339Nano), wrap("", d.start+"."), d.Equal)
	if d.ID != "" {
		fmt.Fprintln(w, d.ID, "is one of", d.Time, "in OLD.")
	}
}
