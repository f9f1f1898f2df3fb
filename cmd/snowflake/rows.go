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
	csv    *csv.Writer // has no buffer but w
	format string      // table, json, csv
	layout snowflake.Layout
	zone   *time.Location
	time   string // its form
	fields []snowflake.Field
	begun  bool
}

// formatFlags adds -json and -csv.
func (c *command) formatFlags() func(io.Writer, snowflake.Layout, *time.Location) (*rows, error) {
	asJSON := c.flags.Bool("json", false, "print a JSON object a line, with IDs as strings")
	asCSV := c.flags.Bool("csv", false, "print CSV")
	return func(w io.Writer, layout snowflake.Layout, zone *time.Location) (*rows, error) {
		r := &rows{w: bufio.NewWriterSize(w, 64<<10), format: "table", layout: layout, zone: zone, time: timeForm(layout), fields: fieldsOf(layout)}
		r.csv = csv.NewWriter(r.w)
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

// row is a line of JSON.
type row struct {
	ID     snowflake.ID `json:"id"`
	Layout string       `json:"layout,omitempty"`
	Time   string       `json:"time"`
	Fields values       `json:"fields,omitempty"`
	Note   any          `json:"note,omitempty"` // a string
}

// values are fields of an ID in the order of the layout.
type values []value

type value struct {
	snowflake.Field
	number int64
}

func (v values) MarshalJSON() ([]byte, error) { //nolint:unparam // json.Marshaler has an error
	var b []byte
	for _, f := range v {
		b = fmt.Appendf(b, ",%q:%d", f.Name, f.number)
	}
	b = append(b, '}')
	b[0] = '{'
	return b, nil
}

func (r *rows) values(id snowflake.ID) values {
	all := make(values, len(r.fields))
	for i, f := range r.fields {
		number, _ := r.layout.Field(id, f.Name) // the layout has it
		all[i] = value{f, number}
	}
	return all
}

// add prints an ID. The note is empty or says what is wrong with it.
func (r *rows) add(id snowflake.ID, note string) (err error) {
	at := r.layout.Time(id).In(r.zone).Format(r.time)
	fields := r.values(id)
	first := !r.begun
	r.begun = true
	switch r.format {
	case "json":
		line := row{ID: id, Time: at, Fields: fields}
		if note != "" {
			line.Note = note
		}
		return json.NewEncoder(r.w).Encode(line)
	case "csv":
		names, cells := []string{"id", "time"}, []string{id.String(), at}
		for _, f := range fields {
			names, cells = append(names, f.Name), append(cells, strconv.FormatInt(f.number, 10))
		}
		if first {
			err = r.csv.Write(append(names, "note"))
		}
		return errors.Join(err, r.csv.Write(append(cells, note)))
	}
	if first { // the width of the time is that of the first one
		fmt.Fprintf(r.w, "%-*s  %-*s", idWidth, "ID", len(at), "TIME")
		for _, f := range fields {
			fmt.Fprintf(r.w, "  %*s", f.width(), strings.ToUpper(f.Name))
		}
		fmt.Fprintln(r.w)
	}
	fmt.Fprintf(r.w, "%-*v  %s", idWidth, id, at)
	for _, f := range fields {
		fmt.Fprintf(r.w, "  %*d", f.width(), f.number)
	}
	if note != "" {
		note = "  ! " + note
	}
	_, err = fmt.Fprintln(r.w, note) // bufio keeps an error until the next call
	return err
}

const idWidth = 19 // of the greatest ID

// width returns that of the field's column.
func (v value) width() int {
	return max(len(v.Name), len(strconv.FormatInt(1<<v.Bits-1, 10)))
}

// candidates prints what the ID would be in each preset, first the presets that can have issued it by now.
func (r *rows) candidates(id snowflake.ID, now time.Time) error {
	for _, possible := range []bool{true, false} {
		for _, name := range presetNames {
			layout, err := snowflake.Preset(name)
			if err != nil {
				return err
			}
			note := noteOf(layout, id, now)
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
		return json.NewEncoder(r.w).Encode(row{ID: id, Layout: name, Time: at, Note: note})
	case "csv":
		if !r.begun {
			r.begun, err = true, r.csv.Write([]string{"id", "layout", "time", "fields", "note"})
		}
		return errors.Join(err, r.csv.Write([]string{id.String(), name, at, fields, note}))
	}
	if note != "" {
		fields += "  ! " + note
	}
	_, err = fmt.Fprintf(r.w, "%-*v  %-14s  %s  %s\n", idWidth, id, name, at, fields)
	return err
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
