package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/sqlflake/sqlflake/cmd/sqlflake/internal/audit"
	"github.com/sqlflake/sqlflake/cmd/sqlflake/internal/timetext"
	"github.com/sqlflake/sqlflake/snowflake"
)

type decodeOptions struct {
	layout chosenLayout
	from   string
	zone   *time.Location
	format string
}

func decodeCommand(now func() time.Time) *cobra.Command {
	o := &decodeOptions{from: "auto", format: "table"}
	c := &cobra.Command{
		Use:   "decode [ID...]",
		Short: "Show the time and the fields of IDs",
		Long: `Without IDs it reads them from the standard input, in JSON, CSV, URLs, chats, or
as database clients print them. Words without a digit beside an ID are left out,
and so are a first line without digits, rules, and lines such as "(2 rows)".

An input is a decimal number, 13 characters of base 32, a typed ID such as
user_04W86BB0G4007, a UUID made of an ID, or 0x and hexadecimal digits. 11
characters with a digit are base 62. Put -- before a number below 0.

An input that is not an ID is reported, with its line, and the others are
decoded. An ID is decoded with a note if the layout can't have issued it by now,
or if it is of the first minute of the layout, as the numbers of a counter are.
In all these cases, and without any input, the exit code is 1.`,
		Example: `  sqlflake decode 175928847299117063
  sqlflake decode --layout twitter 1541815603606036480
  sqlflake decode --layout all 1541815603606036480
  psql -At -c "SELECT id FROM users" | sqlflake decode --json
  sqlflake decode --tz Europe/Berlin --csv <ids.txt >ids.csv`,
		RunE: func(c *cobra.Command, args []string) error {
			return o.run(c.Context(), streamsOf(c), now(), args)
		},
	}
	o.addFlags(c)
	return c
}

func (o *decodeOptions) addFlags(c *cobra.Command) {
	layoutsFlag(c, &o.layout)
	choiceFlag(c, &o.from, "from", "`form` of the input: "+strings.Join(forms, ", ")+" (default auto)", forms...)
	zoneFlag(c, &o.zone, "time `zone` of the output: UTC, Local or a name such as Europe/Berlin")
	formatFlag(c, &o.format, "json", "print a JSON object a line, with IDs as strings")
	formatFlag(c, &o.format, "csv", "print CSV")
	c.MarkFlagsMutuallyExclusive("json", "csv")
}

func (o *decodeOptions) run(ctx context.Context, s streams, now time.Time, args []string) error {
	d := decoder{
		streams: s, from: o.from, layout: &o.layout, now: now,
		rows: newRows(s.out, o.format, o.zone, &o.layout),
	}
	if err := errors.Join(d.each(ctx, args), d.rows.w.Flush()); err != nil {
		return err
	}

	if hidden := d.faults - shownFaults; hidden > 0 {
		d.say("sqlflake decode: %d more inputs are not IDs", hidden)
	}
	if d.ahead > 0 && !o.layout.given {
		d.say("note: IDs of the future are often those of another layout; --layout all shows the time in each preset")
	}
	if d.faults+d.notes > 0 {
		return errReported
	}
	return nil
}

// shownFaults is how many inputs that are not IDs are named.
const shownFaults = 10

// decoder decodes inputs and counts what is wrong.
type decoder struct {
	streams
	from   string
	layout *chosenLayout
	rows   *rows
	now    time.Time

	faults, notes int
	ahead         int // IDs of the future
}

func (d *decoder) say(format string, args ...any) { fmt.Fprintf(d.errs, format+"\n", args...) }

// each decodes the arguments, or the standard input.
func (d *decoder) each(ctx context.Context, args []string) error {
	if len(args) == 0 {
		return d.eachWord(ctx, d.rows.w.Flush, func(word string, line int) error {
			return d.one(ctx, word, "line", line)
		})
	}

	for i, arg := range args {
		words, _ := wordsOf(arg)
		if len(words) == 0 {
			words = []string{arg}
		}
		for _, word := range words {
			if err := d.one(ctx, word, "argument", i+1); err != nil {
				return err
			}
		}
	}
	return nil
}

// one decodes one input.
func (d *decoder) one(ctx context.Context, text, place string, number int) error {
	if err := ctx.Err(); err != nil {
		return err
	}

	id, err := readID(text, d.from)
	if err != nil {
		d.faults++
		if d.faults <= shownFaults {
			d.say("sqlflake decode: %s %d: %s", place, number, reasonOf(text, err))
		}
		return nil
	}
	if d.layout.all {
		return d.inPresets(id)
	}

	note := noteOf(d.layout.Layout, id, d.now)
	if note != "" {
		d.notes++
	}
	if strings.HasPrefix(note, ahead) {
		d.ahead++
	}
	return d.rows.add(d.layout.Layout, id, note)
}

// inPresets prints what the ID would be in each preset, first the presets that can have issued it by now.
func (d *decoder) inPresets(id snowflake.ID) error {
	for _, possible := range []bool{true, false} {
		for _, name := range snowflake.Presets() {
			note := noteOf(snowflake.MustPreset(name), id, d.now)
			if (note == "") != possible {
				continue
			}
			if err := d.rows.addIn(name, id, note); err != nil {
				return err
			}
		}
	}
	return nil
}

const ahead = "ahead of now by "

// noteOf says why the layout can't have issued the ID by now; "" if it can have. It is Layout.Validate in few words.
func noteOf(l snowflake.Layout, id snowflake.ID, now time.Time) string {
	switch {
	case id == 0:
		return "0 means no ID"
	case id < 0:
		return "negative"
	case uint64(id)>>l.Bits() != 0:
		return fmt.Sprintf("above %d bits", l.Bits())
	case audit.IsSmall(l, id):
		return "in the first minute of the layout: a small number, and not an ID?"
	case l.Time(id).After(now.Add(snowflake.MaxLead)):
		return ahead + timetext.Between(now, l.Time(id))
	}
	return ""
}
