package main

import (
	"bufio"
	"bytes"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/sqlflake/sqlflake/snowflake"
)

// rows prints IDs with their fields: as a table, as JSON with an object a line, or as CSV.
type rows struct {
	w      *bufio.Writer
	format string // table, json, csv
	layout snowflake.Layout
	zone   *time.Location
	time   string // its form
	fields []snowflake.Field
	begun  bool
	line   []byte // the current one, reused
}

// formatFlags adds -json and -csv.
func (c *command) formatFlags() func(io.Writer, snowflake.Layout, *time.Location) (*rows, error) {
	asJSON := c.flags.Bool("json", false, "print a JSON object a line, with IDs as strings")
	asCSV := c.flags.Bool("csv", false, "print CSV")
	return func(w io.Writer, layout snowflake.Layout, zone *time.Location) (*rows, error) {
		r := &rows{w: bufio.NewWriterSize(w, 64<<10), format: "table", layout: layout, zone: zone, time: timeForm(layout), fields: fieldsOf(layout)}
		switch {
		case *asJSON && *asCSV:
			return nil, usage("-json and -csv exclude each other")
		case *asJSON:
			r.format = "json"
		case *asCSV:
			r.format = "csv"
		}
		return r, nil
	}
}

// timeForm returns RFC 3339 with as many digits of a second as the layout needs, so that all times have the same width.
func timeForm(l snowflake.Layout) string {
	if l.Tick()%time.Millisecond == 0 && l.Epoch().Nanosecond()%int(time.Millisecond) == 0 {
		return "2006-01-02T15:04:05.000Z07:00"
	}
	return "2006-01-02T15:04:05.000000000Z07:00"
}

func zoneOf(name string) (*time.Location, error) {
	zone, err := time.LoadLocation(name)
	if err != nil || name == "" {
		return nil, usage("-tz %q: want UTC, Local or the name of a time zone such as Europe/Berlin", name)
	}
	return zone, nil
}

// flush writes what is buffered.
func (r *rows) flush() error { return r.w.Flush() }

// add prints an ID. The note is empty or says what is wrong with it.
func (r *rows) add(id snowflake.ID, note string) error {
	at := r.layout.Time(id).In(r.zone)
	first := !r.begun
	r.begun = true
	switch r.format {
	case "json":
		r.addJSON(id, at, note)
	case "csv":
		if first {
			r.line = append(r.line[:0], "id,time,"...)
			for _, f := range r.fields {
				r.line = append(append(r.line, f.Name...), ',')
			}
			r.line = append(r.line, "note\n"...)
			_, _ = r.w.Write(r.line)
		}
		r.addCSV(id, at, note)
	default:
		if first {
			r.head(at)
		}
		r.addTable(id, at, note)
	}
	_, err := r.w.Write(r.line) // bufio keeps an error until the next call
	return err
}

func (r *rows) addJSON(id snowflake.ID, at time.Time, note string) {
	b := r.line[:0]
	b = append(append(b, `{"id":"`...), id.String()...)
	b = append(at.AppendFormat(append(b, `","time":"`...), r.time), `","fields":{`...)
	for i, f := range r.fields {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(append(append(b, '"'), f.Name...), `":`...)
		b = strconv.AppendInt(b, r.field(id, f), 10)
	}
	b = append(b, '}')
	if note != "" {
		b = append(append(b, `,"note":`...), quoted(note)...)
	}
	b = append(b, "}\n"...)
	r.line = b
}

func (r *rows) addCSV(id snowflake.ID, at time.Time, note string) {
	b := r.line[:0]
	b = append(append(b, id.String()...), ',')
	b = append(at.AppendFormat(b, r.time), ',')
	for _, f := range r.fields {
		b = append(strconv.AppendInt(b, r.field(id, f), 10), ',')
	}
	b = append(append(b, note...), '\n') // no note has a comma or a quote
	r.line = b
}

const idWidth = 19 // of the greatest ID

// head prints the names of the columns. The width of the time is that of the first one.
func (r *rows) head(first time.Time) {
	fmt.Fprintf(r.w, "%-*s  %-*s", idWidth, "ID", len(first.Format(r.time)), "TIME")
	for _, f := range r.fields {
		fmt.Fprintf(r.w, "  %*s", width(f), strings.ToUpper(f.Name))
	}
	fmt.Fprintln(r.w)
}

func (r *rows) addTable(id snowflake.ID, at time.Time, note string) {
	b := r.line[:0]
	b = append(b, id.String()...)
	for len(b) < idWidth {
		b = append(b, ' ')
	}
	b = at.AppendFormat(append(b, "  "...), r.time)
	for _, f := range r.fields {
		var digits [20]byte
		text := strconv.AppendInt(digits[:0], r.field(id, f), 10)
		for range 2 + width(f) - len(text) {
			b = append(b, ' ')
		}
		b = append(b, text...)
	}
	if note != "" {
		b = append(append(b, "  ! "...), note...)
	}
	b = append(b, '\n')
	r.line = b
}

func (r *rows) field(id snowflake.ID, f snowflake.Field) int64 {
	value, _ := r.layout.Field(id, f.Name) // the layout has it
	return value
}

// width returns that of the field's column.
func width(f snowflake.Field) int {
	return max(len(f.Name), len(strconv.FormatInt(1<<f.Bits-1, 10)))
}

// candidates prints what the ID would be in each preset, first the presets that can have issued it by now.
func (r *rows) candidates(id snowflake.ID, now time.Time) error {
	for _, possible := range []bool{true, false} {
		for _, name := range presetNames {
			layout, err := snowflake.Preset(name)
			if err != nil {
				return err
			}
			note := ""
			if err := layout.ValidateAt(id, now); err != nil {
				note = noteOf(layout, id, now)
			}
			if (note == "") == possible {
				if err := r.candidate(id, name, layout, note); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

func (r *rows) candidate(id snowflake.ID, name string, layout snowflake.Layout, note string) (err error) {
	p := layout.Decompose(id)
	_, fields, _ := strings.Cut(p.String(), " ")
	at := p.Time.In(r.zone).Format(timeForm(layout))
	switch r.format {
	case "json":
		_, err = fmt.Fprintf(r.w, `{"id":"%v","layout":"%s","time":"%s","note":%s}`+"\n", id, name, at, quoted(note))
	case "csv":
		w := csv.NewWriter(r.w)
		if !r.begun {
			r.begun, err = true, w.Write([]string{"id", "layout", "time", "fields", "note"})
		}
		err = errors.Join(err, w.Write([]string{id.String(), name, at, fields, note}))
		w.Flush()
	default:
		if note != "" {
			fields += "  ! " + note
		}
		_, err = fmt.Fprintf(r.w, "%-*v  %-14s  %s  %s\n", idWidth, id, name, at, fields)
	}
	return err
}

func quoted(s string) []byte {
	b, _ := json.Marshal(s) // a string has no error
	return b
}

// writeJSON prints a value on several lines.
func writeJSON(w io.Writer, value any) error {
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	if err := encoder.Encode(value); err != nil {
		return err
	}
	_, err := w.Write(b.Bytes())
	return err
}
