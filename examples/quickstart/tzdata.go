package main

import (
	_ "embed"
	"strings"
)

// Both files are from the tz database (https://www.iana.org/time-zones) and in the public domain.
var (
	//go:embed data/iso3166.tab
	countriesFile string
	//go:embed data/zone1970.tab
	zonesFile string
)

// readFiles returns the countries with their zones. Countries share a zone by pointing to the same struct.
func readFiles() []*Country {
	var countries []*Country
	byCode := map[string]*Country{}
	for _, fields := range rows(countriesFile) {
		country := &Country{Code: fields[0], Name: fields[1]}
		countries = append(countries, country)
		byCode[country.Code] = country
	}
	for _, fields := range rows(zonesFile) { // codes, coordinates, name, perhaps a comment
		zone := &Zone{Name: fields[2], Comment: strings.Join(fields[3:], "")}
		for code := range strings.SplitSeq(fields[0], ",") {
			byCode[code].Zones = append(byCode[code].Zones, zone)
		}
	}
	return countries
}

// rows returns the tab-separated fields of each line that is not a comment.
func rows(file string) (rows [][]string) {
	for line := range strings.Lines(file) {
		if !strings.HasPrefix(line, "#") {
			rows = append(rows, strings.Split(strings.TrimRight(line, "\r\n"), "\t"))
		}
	}
	return rows
}
