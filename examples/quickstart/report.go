package main

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"

	"gorm.io/gorm"

	"github.com/sqlflake/sqlflake/snowflake"
)

// report prints what is in the database. The first error in writing stays in err.
type report struct {
	db     *gorm.DB
	out    io.Writer
	layout snowflake.Layout
	err    error
}

func (r *report) printf(format string, args ...any) {
	if _, err := fmt.Fprintf(r.out, format, args...); r.err == nil {
		r.err = err
	}
}

func (r *report) added(n counts) {
	if n == (counts{}) {
		r.printf("nothing new: every row was there already\n")
		return
	}
	r.printf("stored %d countries, %d zones and %d links between them\n", n.countries, n.zones, n.links)
}

// check compares the database with the input and returns a lossError when a row is missing.
func (r *report) check(data tzdata) error {
	found, lines, err := missing(r.db, data)
	if err != nil {
		return err
	}
	want := data.size()
	r.printf("countries: %d lines of input, %d found in the database\n", want.countries, found.countries)
	r.printf("zones:     %d lines of input, %d found in the database\n", want.zones, found.zones)
	r.printf("links:     %d in those lines, %d found in the database\n", want.links, found.links)
	if len(lines) > 0 {
		return lossError(lines)
	}
	return nil
}

// countries prints the first rows as a table.
func (r *report) countries() error {
	var countries []Country
	const shown = 10
	if err := r.db.Preload("Zones", byKey).Order("id").Limit(shown).Find(&countries).Error; err != nil {
		return fmt.Errorf("read the countries: %w", err)
	}
	r.printf("The first countries by key, with the time and the sequence number that their keys hold:\n\n")
	table := tabwriter.NewWriter(r.out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "ID\tTIME\tSEQ\tCODE\tNAME\tZONES")
	for _, c := range countries {
		parts := r.layout.Decompose(c.ID)
		fmt.Fprintf(table, "%s\t%s\t%d\t%s\t%s\t%s\n",
			c.ID, parts.Time.Format("15:04:05.000"), parts.Sequence, c.Code, c.Name, zoneNames(c.Zones))
	}
	return table.Flush()
}

func byKey(zones *gorm.DB) *gorm.DB { return zones.Order("zones.id") }

// zoneNames lists a few zones.
func zoneNames(zones []*Zone) string {
	const most = 2
	var names []string
	for _, zone := range zones[:min(most, len(zones))] {
		names = append(names, zone.Name)
	}
	list := strings.Join(names, ", ")
	if more := len(zones) - most; more > 0 {
		list += fmt.Sprintf(" and %d more", more)
	}
	return list
}

// json prints one record as an API would send it.
func (r *report) json() error {
	var country Country
	if err := r.db.Preload("Zones", byKey).Where("code = ?", "DE").Take(&country).Error; err != nil {
		return fmt.Errorf("read the country DE: %w", err)
	}
	text, err := json.MarshalIndent(country, "", "  ")
	if err != nil {
		return err
	}
	r.printf("One record as JSON; keys are strings, since JavaScript would round such numbers:\n\n%s\n", text)
	return nil
}

// timeRange asks for the rows of two days by their keys.
func (r *report) timeRange() error {
	var first Country
	if err := r.db.Order("id").Take(&first).Error; err != nil {
		return fmt.Errorf("read the first country: %w", err)
	}
	day := r.layout.Time(first.ID).Truncate(24 * time.Hour)
	r.printf("Which countries were stored on a day? The primary key alone answers:\n\n")
	for _, from := range []time.Time{day.AddDate(0, 0, -1), day} {
		lo, hi, err := r.layout.Range(from, from.AddDate(0, 0, 1))
		if err != nil {
			return err
		}
		var n int64
		if err := r.db.Model(&Country{}).Where("id >= ? AND id < ?", lo, hi).Count(&n).Error; err != nil {
			return fmt.Errorf("count by time: %w", err)
		}
		r.printf("%s (UTC)  id >= %d AND id < %d  %d rows\n", from.Format(time.DateOnly), lo, hi, n)
	}
	return nil
}
