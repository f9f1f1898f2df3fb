package main

import (
	_ "embed"
	"fmt"
	"strings"
)

// The two tables come from the tz database (https://www.iana.org/time-zones) and are in the public domain.
var (
	//go:embed data/iso3166.tab
	countriesFile string
	//go:embed data/zone1970.tab
	zonesFile string
)

// tzdata is the content of the two files, each row once, in the files' order.
type tzdata struct {
	countries []countryRow
	zones     []zoneRow
}

type countryRow struct{ code, name string }

type zoneRow struct {
	codes               []string // of the countries that the zone lies in
	name, comment       string
	latitude, longitude float64 // degrees
}

func embeddedData() (tzdata, error) { return parseTzdata(countriesFile, zonesFile) }

// parseTzdata reads the contents of iso3166.tab and zone1970.tab. Every line is read or is an error that names it.
func parseTzdata(countries, zones string) (tzdata, error) {
	var data tzdata
	known := map[string]bool{} // country codes
	err := eachLine("iso3166.tab", countries, 2, 2, func(fields []string) error {
		code, name := fields[0], fields[1]
		switch {
		case !isCode(code):
			return fmt.Errorf("country code %q: want two capital letters", code)
		case known[code]:
			return fmt.Errorf("country code %q is there twice", code)
		case name == "":
			return fmt.Errorf("country %s has no name", code)
		}
		known[code] = true
		data.countries = append(data.countries, countryRow{code, name})
		return nil
	})
	if err != nil {
		return tzdata{}, err
	}
	seen := map[string]bool{} // zone names
	err = eachLine("zone1970.tab", zones, 3, 4, func(fields []string) error {
		zone, err := parseZone(fields, known)
		switch {
		case err != nil:
			return err
		case seen[zone.name]:
			return fmt.Errorf("zone %q is there twice", zone.name)
		}
		seen[zone.name] = true
		data.zones = append(data.zones, zone)
		return nil
	})
	if err != nil {
		return tzdata{}, err
	}
	return data, nil
}

// eachLine calls f with the tab-separated fields of each line that is neither a comment nor empty, and puts the place
// before an error.
func eachLine(file, content string, least, most int, f func(fields []string) error) error {
	number := 0
	for line := range strings.Lines(content) {
		number++
		line = strings.TrimRight(line, "\r\n")
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		fields := strings.Split(line, "\t")
		if len(fields) < least || len(fields) > most {
			return fmt.Errorf("%s:%d: %d fields in %q, want %d to %d between tabs", file, number, len(fields), line, least, most)
		}
		if err := f(fields); err != nil {
			return fmt.Errorf("%s:%d: %w", file, number, err)
		}
	}
	return nil
}

func parseZone(fields []string, known map[string]bool) (zoneRow, error) {
	zone := zoneRow{codes: strings.Split(fields[0], ","), name: fields[2]}
	if len(fields) > 3 {
		zone.comment = fields[3]
	}
	if zone.name == "" {
		return zoneRow{}, fmt.Errorf("a zone of %s has no name", fields[0])
	}
	here := map[string]bool{}
	for _, code := range zone.codes {
		switch {
		case !known[code]:
			return zoneRow{}, fmt.Errorf("zone %s: country code %q is not in iso3166.tab", zone.name, code)
		case here[code]:
			return zoneRow{}, fmt.Errorf("zone %s: country code %q is there twice", zone.name, code)
		}
		here[code] = true
	}
	var err error
	if zone.latitude, zone.longitude, err = parseCoordinates(fields[1]); err != nil {
		return zoneRow{}, fmt.Errorf("zone %s: %w", zone.name, err)
	}
	return zone, nil
}

func isCode(s string) bool {
	return len(s) == 2 && 'A' <= min(s[0], s[1]) && max(s[0], s[1]) <= 'Z'
}
