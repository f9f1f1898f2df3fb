package main

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/sqlflake/sqlflake/snowflake"
)

// shownFaults is how many inputs that are not IDs are named.
const shownFaults = 10

func decodeCommand(now func() time.Time) *cobra.Command {
	c := &cobra.Command{
		Use:   "decode [ID...]",
		Short: "Show the time and the fields of IDs",
		Long: `Without IDs it reads them from the standard input, in JSON, CSV, URLs, chats, or
as database clients print them. Words without a digit beside an ID are left out,
and so are a first line without digits, rules, and lines such as "(2 rows)".

An input is a decimal number, 13 characters of base 32, a typed ID such as
user_04W86BB0G4007, also with a check character, a UUID made of an ID, or 0x and
hexadecimal digits. Those of 11 characters are base 62, if there is a digit. Put
-- before a number below 0.

An input that is not an ID is reported, with its line, and the others are
decoded. An ID is decoded with a note if the layout can't have issued it by now,
if it is of the first minute of the layout, as the numbers of a counter are, or
if its digits were in groups, as in 1,582,917,533,873,852,417. In all these
cases, and without any input, the exit code is 1.`,
		Example: `  sqlflake decode 175928847299117063
  sqlflake decode --layout twitter 1541815603606036480
  sqlflake decode --layout all 1541815603606036480
  psql -At -c "SELECT id FROM users" | sqlflake decode --json
  sqlflake decode --tz Europe/Berlin --csv <ids.txt >ids.csv`,
	}
	layout := layoutFlag(c, true)
	from := choiceFlag(c, "from", "auto", "the `FORM` of the input: "+strings.Join(forms, ", ")+" (default auto)", forms...)
	zone := zoneFlag(c, "the `ZONE` of the times: UTC, Local or one such as Europe/Berlin")
	c.Flags().Bool("json", false, "print a JSON object a line, with IDs as strings")
	c.Flags().Bool("csv", false, "print CSV")
	c.MarkFlagsMutuallyExclusive("json", "csv")
	c.SetFlagErrorFunc(func(_ *cobra.Command, err error) error {
		if negative.MatchString(err.Error()) {
			err = fmt.Errorf("%w; put -- before a number below 0", err)
		}
		return err
	})
	c.RunE = func(c *cobra.Command, args []string) error {
		d := decoder{
			cmd: c, from: *from, layout: layout, now: now(),
			out: newRows(c.OutOrStdout(), formatOf(c, "json", "csv"), *zone, layout),
		}
		return d.decode(c.Context(), args)
	}
	return c
}

// negative matches the error of pflag about a number that it takes for a flag.
var negative = regexp.MustCompile(`^unknown shorthand flag: '\d'`)

// decoder decodes inputs and counts what is wrong.
type decoder struct {
	cmd    *cobra.Command
	from   string
	layout *chosenLayout
	out    *rows
	now    time.Time

	faults, notes int
	ahead         int // IDs of the future
}

func (d *decoder) decode(ctx context.Context, args []string) error {
	err := d.each(ctx, args)
	if err = errors.Join(err, d.out.w.Flush()); err != nil {
		return err
	}
	if hidden := d.faults - shownFaults; hidden > 0 {
		d.cmd.PrintErrf("sqlflake decode: %d more inputs are not IDs\n", hidden)
	}
	if d.ahead > 0 && !d.layout.given {
		d.cmd.PrintErrln("note: IDs of the future are often those of another layout; --layout all shows the time in each preset")
	}
	if d.faults+d.notes > 0 {
		return errReported
	}
	return nil
}

// each decodes the arguments, or the standard input.
func (d *decoder) each(ctx context.Context, args []string) error {
	if len(args) == 0 {
		return eachInput(ctx, d.cmd, d.out.w.Flush, func(word string, line int) error { return d.one(ctx, word, "line", line) })
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
		if d.faults++; d.faults <= shownFaults {
			d.cmd.PrintErrf("sqlflake decode: %s %d: %s\n", place, number, reasonOf(text, err))
		}
		return nil
	}
	if d.layout.all {
		return d.out.candidates(id, d.now)
	}
	note := noteOf(d.layout.Layout, id, d.now)
	if note == "" && grouped.MatchString(text) {
		note = "read from groups of digits"
	}
	if note != "" {
		d.notes++
	}
	if strings.HasPrefix(note, ahead) {
		d.ahead++
	}
	return d.out.add(d.layout.Layout, id, note)
}

const ahead = "ahead of now by "

// noteOf says why the layout can't have issued the ID by now; "" if it can have. It is Layout.Validate in few words.
func noteOf(l snowflake.Layout, id snowflake.ID, now time.Time) string {
	switch {
	case id == 0:
		return "0 means no ID"
	case id < 0:
		return "negative"
	case l.Bits() < 63 && id>>l.Bits() != 0:
		return fmt.Sprintf("above %d bits", l.Bits())
	case isSmall(l, id):
		return "in the first minute of the layout: a small number, and not an ID?"
	case l.Time(id).After(now.Add(snowflake.MaxLead)):
		return ahead + span(now, l.Time(id))
	}
	return ""
}

// isSmall reports whether a number is rather one of a counter, as databases have, than an ID: as one it would be of the
// first minute of the layout, when nobody used it.
func isSmall(l snowflake.Layout, id snowflake.ID) bool {
	return l.Time(id).Before(l.Epoch().Add(time.Minute))
}

// span prints the duration between two times with one unit.
func span(from, to time.Time) string {
	d := to.Sub(from)
	if d >= 365*24*time.Hour { // which can be more than a Duration holds
		return strconv.FormatFloat(float64(to.Unix()-from.Unix())/yearSeconds, 'f', 1, 64) + " years"
	}
	return inDays(d)
}

// inDays prints a duration, from two days on in these.
func inDays(d time.Duration) string {
	const day = 24 * time.Hour
	switch {
	case d >= 2*day:
		return strconv.Itoa(int(d/day)) + " days"
	case d >= time.Second:
		d = d.Round(time.Second)
	}
	return d.String()
}
