package main

import (
	"bufio"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/sqlflake/sqlflake/snowflake"
)

// rows prints IDs: as a table, as JSON with an object a line, or as CSV. A table has no tabwriter, which would wait for
// the last row.
type rows struct {
	w      *bufio.Writer
	csv    *csv.Writer // has no buffer but w
	format string
	layout snowflake.Layout
	fields []snowflake.Field // without the time
	zone   *time.Location
	time   string // its form
	begun  bool
}

func newRows(w io.Writer, format string, layout snowflake.Layout, zone *time.Location) *rows {
	b := bufio.NewWriterSize(w, 64<<10)
	fields := slices.DeleteFunc(layout.Fields(), func(f snowflake.Field) bool { return f.Name == snowflake.FieldTime })
	return &rows{w: b, csv: csv.NewWriter(b), format: format, layout: layout, fields: fields, zone: zone, time: timeForm(layout)}
}

// timeForm returns RFC 3339 with as many digits of a second as the layout needs, so that all times have the same width.
func timeForm(l snowflake.Layout) string {
	if l.Tick()%time.Millisecond == 0 && l.Epoch().Nanosecond()%int(time.Millisecond) == 0 {
		return "2006-01-02T15:04:05.000Z07:00"
	}
	return "2006-01-02T15:04:05.000000000Z07:00"
}

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
	name   string
	number int64
}

func (v values) MarshalJSON() ([]byte, error) { //nolint:unparam // json.Marshaler has an error
	var b []byte
	for _, f := range v {
		b = fmt.Appendf(b, ",%q:%d", f.name, f.number)
	}
	b = append(b, '}')
	b[0] = '{'
	return b, nil
}

// cell is one of a table or of CSV. A negative width aligns it to the left.
type cell struct {
	name, text string
	width      int
}

const idWidth = 19 // of the greatest ID

// add prints an ID. The note is empty or says what is wrong with it.
func (r *rows) add(id snowflake.ID, note string) error {
	line := row{ID: id, Time: r.layout.Time(id).In(r.zone).Format(r.time)}
	if note != "" {
		line.Note = note
	}
	cells := []cell{{"id", id.String(), -idWidth}, {"time", line.Time, -len(line.Time)}}
	for _, f := range r.fields {
		number, _ := r.layout.Field(id, f.Name) // the layout has it
		line.Fields = append(line.Fields, value{f.Name, number})
		cells = append(cells, cell{f.Name, strconv.FormatInt(number, 10), max(len(f.Name), len(strconv.FormatInt(1<<f.Bits-1, 10)))})
	}
	if !r.begun && r.format == "table" {
		heads := slices.Clone(cells)
		for i := range heads {
			heads[i].text = strings.ToUpper(heads[i].name)
		}
		_ = r.print(line, heads, "") // bufio keeps an error until the next call
	}
	return r.print(line, cells, note)
}

// print prints a line in the format.
func (r *rows) print(line row, cells []cell, note string) (err error) {
	first := !r.begun
	r.begun = true
	switch r.format {
	case "json":
		return json.NewEncoder(r.w).Encode(line)
	case "csv":
		var names, texts []string
		for _, c := range cells {
			names, texts = append(names, c.name), append(texts, c.text)
		}
		if first {
			err = r.csv.Write(append(names, "note"))
		}
		return errors.Join(err, r.csv.Write(append(texts, note)))
	}
	for i, c := range cells {
		fmt.Fprintf(r.w, "%s%*s", strings.Repeat("  ", min(i, 1)), c.width, c.text)
	}
	if note != "" {
		note = "  ! " + note
	}
	_, err = fmt.Fprintln(r.w, note)
	return err
}

// candidates prints what the ID would be in each preset, first the presets that can have issued it by now.
func (r *rows) candidates(id snowflake.ID, now time.Time) error {
	for _, possible := range []bool{true, false} {
		for _, name := range snowflake.Presets() {
			layout := snowflake.MustPreset(name)
			note := noteOf(layout, id, now)
			if (note == "") != possible {
				continue
			}
			p := layout.Decompose(id)
			_, fields, _ := strings.Cut(p.String(), " ")
			at := p.Time.In(r.zone).Format(timeForm(layout))
			cells := []cell{{"id", id.String(), -idWidth}, {"layout", name, -14}, {"time", at, 0}, {"fields", fields, 0}}
			if err := r.print(row{ID: id, Layout: name, Time: at, Note: note}, cells, note); err != nil {
				return err
			}
		}
	}
	return nil
}

// writeJSON prints a value on several lines.
func writeJSON(w io.Writer, value any) error {
	encoder := json.NewEncoder(w)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	return encoder.Encode(value)
}
