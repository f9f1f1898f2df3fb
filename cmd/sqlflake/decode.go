package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/mattn/go-isatty"
	"github.com/spf13/cobra"

	"github.com/sqlflake/sqlflake/snowflake"
)

// shownFaults is how many inputs that are not IDs are named.
const shownFaults = 10

func decodeCommand(now func() time.Time) *cobra.Command {
	c := &cobra.Command{
		Use:   "decode [ID...]",
		Short: "Show the time and the fields of IDs",
		Long: `Without IDs it reads them from the standard input. There they are separated by
spaces, line ends, commas, semicolons, quotes, brackets or bars, so that JSON,
CSV and what database clients print can be pasted.

An input is a decimal number, 13 characters of base 32, a typed ID such as
user_04W86BB0G4007, also with a check character, a UUID made of an ID, or 0x and
hexadecimal digits. Those of 11 characters are base 62. Put -- before a number
below 0.

An input that is not an ID is reported, with its line, and the others are
decoded. An ID that the layout can't have issued by now is decoded with a note.
In both cases the exit code is 1.`,
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
	var err error
	for i, arg := range args {
		if err == nil {
			err = d.one(ctx, arg, "argument", i+1)
		}
	}
	if len(args) == 0 {
		err = eachInput(ctx, d.cmd, d.out.w.Flush, func(text string, line int) error { return d.one(ctx, text, "line", line) })
	}
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

// eachInput reads the standard input. It calls wait before a read that may wait.
func eachInput(ctx context.Context, c *cobra.Command, wait func() error, one func(text string, line int) error) error {
	if f, ok := c.InOrStdin().(*os.File); ok && isatty.IsTerminal(f.Fd()) {
		c.PrintErrln("reading IDs from the terminal; end with Ctrl-D (on Windows Ctrl-Z and Enter)")
	}
	// An interrupt ends the pipe, but not the copy's read of a terminal.
	read, write := io.Pipe()
	defer func() { _ = read.Close() }()
	go func() {
		_, err := io.Copy(write, c.InOrStdin())
		_ = write.CloseWithError(err) // nil is the end
	}()
	defer context.AfterFunc(ctx, func() { _ = write.CloseWithError(ctx.Err()) })()
	in := bufio.NewReaderSize(read, 64<<10)
	for number := 1; ; number++ {
		if in.Buffered() == 0 { // the read may wait
			if err := wait(); err != nil {
				return err
			}
		}
		line, err := in.ReadString('\n') // of any length
		if number == 1 {
			line = strings.TrimPrefix(line, "\ufeff")
		}
		for text := range strings.FieldsFuncSeq(line, separates) {
			if err := one(text, number); err != nil {
				return err
			}
		}
		switch {
		case err == io.EOF:
			return nil
		case err != nil:
			return err
		}
	}
}

// reasonOf returns the error without what it repeats.
func reasonOf(text string, err error) string {
	var of *snowflake.ParseError
	if secret.MatchString(text) {
		return "it looks like a DSN, and is not an ID"
	}
	if errors.As(err, &of) {
		return fmt.Sprintf("%.40q is not an ID: %s", text, of.Reason)
	}
	return err.Error()
}

func separates(r rune) bool { return strings.ContainsRune(" \t\r\n\v\f,;\"'`|[](){}", r) }

// one decodes one input.
func (d *decoder) one(ctx context.Context, text, place string, number int) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	id, err := parseID(text, d.from)
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
	case l.Time(id).After(now.Add(snowflake.MaxLead)):
		return ahead + span(now, l.Time(id))
	}
	return ""
}

// span prints the duration between two times with one unit.
func span(from, to time.Time) string {
	const day = 24 * time.Hour
	d := to.Sub(from)
	switch {
	case d >= 365*day: // which can be more than a Duration holds
		return strconv.FormatFloat(float64(to.Unix()-from.Unix())/yearSeconds, 'f', 1, 64) + " years"
	case d >= 2*day:
		return strconv.Itoa(int(d/day)) + " days"
	}
	return d.Round(time.Second).String()
}
