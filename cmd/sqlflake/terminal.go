package main

import (
	"bufio"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/mattn/go-isatty"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/sqlflake/sqlflake/snowflake"
)

// choiceFlag adds a flag with one of the values. What value has before is the default.
func choiceFlag(c *cobra.Command, value *string, name, about string, values ...string) {
	c.Flags().Func(name, about, func(text string) error {
		if !slices.Contains(values, text) {
			return fmt.Errorf("want one of %s", strings.Join(values, ", "))
		}
		*value = text
		return nil
	})
	complete(c, name, values)
}

// complete lets the shell offer the values.
func complete(c *cobra.Command, flag string, values []string) {
	_ = c.RegisterFlagCompletionFunc(flag, // it exists
		cobra.FixedCompletions(values, cobra.ShellCompDirectiveNoFileComp))
}

// formatFlag adds a flag that chooses a format of the output, which has the name of the flag.
func formatFlag(c *cobra.Command, format *string, name, about string) {
	c.Flags().BoolFunc(name, about, func(text string) error {
		given, err := strconv.ParseBool(text)
		if err != nil {
			return errors.New("want true or false")
		}
		if given {
			*format = name
		}
		return nil
	})
}

// ignoreVariable takes back what a variable has set, if the flag itself would be an error.
func ignoreVariable(f *pflag.Flag) {
	if !f.Changed {
		_ = f.Value.Set("") // a string
	}
}

// zoneFlag adds --tz.
func zoneFlag(c *cobra.Command, zone **time.Location, about string) {
	*zone = time.UTC
	c.Flags().Func("tz", about+" (default UTC)", func(name string) error {
		found, err := time.LoadLocation(name)
		if err != nil || name == "" {
			return errors.New("want UTC, Local or the name of a time zone such as Europe/Berlin")
		}
		*zone = found
		return nil
	})
}

// chosenLayout is the value of --layout.
type chosenLayout struct {
	snowflake.Layout
	given bool // not the default
	all   bool // all presets
}

const layoutHelp = "`layout` of the IDs: a preset, or a text as \"sqlflake layout\" prints it "

// layoutFlag adds --layout.
func layoutFlag(c *cobra.Command, chosen *chosenLayout) {
	addLayoutFlag(c, chosen, layoutHelp+"(default $SQLFLAKE_LAYOUT, or else \"default\")", snowflake.Presets())
}

// layoutsFlag adds --layout, which may be "all".
func layoutsFlag(c *cobra.Command, chosen *chosenLayout) {
	addLayoutFlag(c, chosen, layoutHelp+"(default $SQLFLAKE_LAYOUT, or else \"default\"); "+
		"\"all\" shows each ID in each preset", append(snowflake.Presets(), "all"))
}

func addLayoutFlag(c *cobra.Command, chosen *chosenLayout, about string, values []string) {
	chosen.Layout = snowflake.Default()
	c.Flags().Func("layout", about, func(text string) (err error) {
		chosen.given = true
		chosen.all = text == "all" && slices.Contains(values, "all")
		if !chosen.all {
			chosen.Layout, err = parseLayout(text)
		}
		return err
	})
	complete(c, "layout", values)
}

// parseLayout accepts the names of presets in upper case too.
func parseLayout(text string) (snowflake.Layout, error) {
	if layout, err := snowflake.Preset(strings.ToLower(text)); err == nil {
		return layout, nil
	}
	return snowflake.ParseLayout(text)
}

// streams are what a command reads and prints to.
type streams struct {
	in        io.Reader
	out, errs io.Writer
}

func streamsOf(c *cobra.Command) streams {
	return streams{c.InOrStdin(), c.OutOrStdout(), c.ErrOrStderr()}
}

// printResult prints a value in JSON, on several lines, or by a function for people. An error of a write is kept by
// [output].
func printResult(w io.Writer, asJSON bool, value any, write func(io.Writer)) error {
	if !asJSON {
		write(w)
		return nil
	}

	encoder := json.NewEncoder(w)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	return encoder.Encode(value)
}

// printable quotes a text that a terminal would not only show. Otherwise a person who may write to the lease table
// could end a line, or send escape sequences.
func printable(text string) string {
	isHidden := func(r rune) bool { return !unicode.IsPrint(r) }
	if !utf8.ValidString(text) || strings.ContainsFunc(text, isHidden) {
		return strconv.Quote(text)
	}
	return text
}

// wrap breaks a text into lines of at most 80 columns, below each other and to the right of a title.
func wrap(title, text string) string {
	var done strings.Builder
	line, gap := title, ""
	for word := range strings.FieldsSeq(text) {
		if gap != "" && utf8.RuneCountInString(line+gap+word) > 80 {
			done.WriteString(line + "\n")
			line, gap = strings.Repeat(" ", len(title)), ""
		}
		line, gap = line+gap+word, " "
	}
	return done.String() + line + "\n"
}

// rows prints IDs as they come. A tabwriter would wait for the last one.
type rows struct {
	w      *bufio.Writer
	csv    *csv.Writer // has no buffer but w
	format string      // table, json or csv
	zone   *time.Location
	names  []string // of the columns, without the note
	widths []int    // in a table; below 0 aligns to the left
	begun  bool
}

// row is a line of JSON.
type row struct {
	ID     snowflake.ID     `json:"id"`
	Layout string           `json:"layout,omitempty"`
	Time   string           `json:"time"`
	Fields map[string]int64 `json:"fields,omitempty"`
	Note   string           `json:"note,omitempty"`
}

// newRows returns rows for IDs of the layout, or of each preset.
func newRows(w io.Writer, format string, zone *time.Location, layout *chosenLayout) *rows {
	b := bufio.NewWriterSize(w, 64<<10)
	r := &rows{w: b, csv: csv.NewWriter(b), format: format, zone: zone}

	at := len(r.timeOf(layout.Layout, 0))
	if layout.all {
		r.names, r.widths = []string{"id", "layout", "time", "fields"}, []int{-19, -14, -at, 0}
		return r
	}

	r.names, r.widths = []string{"id", "time"}, []int{-19, -at}
	for _, f := range layout.Fields() {
		if f.Name != snowflake.FieldTime {
			digits := len(strconv.FormatInt(1<<f.Bits-1, 10))
			r.names, r.widths = append(r.names, f.Name), append(r.widths, max(len(f.Name), digits))
		}
	}
	return r
}

// timeOf returns RFC 3339 with as many digits of a second as the layout needs, so that all times have the same width.
func (r *rows) timeOf(l snowflake.Layout, id snowflake.ID) string {
	form := "2006-01-02T15:04:05.000000000Z07:00"
	hasMillis := l.Tick()%time.Millisecond == 0 && l.Epoch().Nanosecond()%int(time.Millisecond) == 0
	if hasMillis {
		form = "2006-01-02T15:04:05.000Z07:00"
	}
	return l.Time(id).In(r.zone).Format(form)
}

// add prints an ID. The note is empty or says what is wrong with it.
func (r *rows) add(l snowflake.Layout, id snowflake.ID, note string) error {
	line := row{ID: id, Time: r.timeOf(l, id), Fields: map[string]int64{}, Note: note}
	cells := []string{id.String(), line.Time}
	for _, name := range r.names[2:] {
		number, _ := l.Field(id, name) // the layout has it
		line.Fields[name] = number
		cells = append(cells, strconv.FormatInt(number, 10))
	}
	return r.print(line, cells...)
}

// addIn prints what the ID would be in a preset.
func (r *rows) addIn(preset string, id snowflake.ID, note string) error {
	layout := snowflake.MustPreset(preset)
	_, fields, _ := strings.Cut(layout.Decompose(id).String(), " ")
	line := row{ID: id, Layout: preset, Time: r.timeOf(layout, id), Note: note}
	return r.print(line, id.String(), preset, line.Time, fields)
}

// print prints a line in the format.
func (r *rows) print(line row, cells ...string) (err error) {
	first := !r.begun
	r.begun = true

	switch r.format {
	case "json":
		return json.NewEncoder(r.w).Encode(line)
	case "csv":
		if first {
			err = r.csv.Write(append(r.names, "note"))
		}
		return errors.Join(err, r.csv.Write(append(cells, line.Note)))
	}

	if first {
		_ = r.printCells(strings.Fields(strings.ToUpper(strings.Join(r.names, " ")))) // the buffer keeps the error
	}
	if line.Note != "" {
		cells = append(cells, "! "+line.Note)
	}
	return r.printCells(cells)
}

func (r *rows) printCells(cells []string) error {
	for i, cell := range cells {
		cells[i] = fmt.Sprintf("%*s", append(r.widths, 0)[i], cell)
	}
	_, err := fmt.Fprintln(r.w, strings.TrimRight(strings.Join(cells, "  "), " "))
	return err
}

func isTerminal(stream any) bool {
	f, ok := stream.(*os.File)
	return ok && isatty.IsTerminal(f.Fd())
}
