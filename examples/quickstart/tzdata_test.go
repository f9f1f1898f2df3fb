package main

import (
	"math"
	"reflect"
	"strings"
	"testing"
)

func TestEveryLineOfTheFilesIsRead(t *testing.T) {
	data, err := embeddedData()
	if err != nil {
		t.Fatal(err)
	}
	lines := func(content string) (n int) {
		for line := range strings.Lines(content) {
			if !strings.HasPrefix(line, "#") {
				n++
			}
		}
		return n
	}
	if got, want := len(data.countries), lines(countriesFile); got != want || want != 249 {
		t.Errorf("%d countries of %d lines, want 249", got, want)
	}
	if got, want := len(data.zones), lines(zonesFile); got != want || want != 312 {
		t.Errorf("%d zones of %d lines, want 312", got, want)
	}
}

func TestRowsOfTheFiles(t *testing.T) {
	data, err := parseTzdata("# comment\nCH\tSwitzerland\r\n\nDE\tGermany\n", "DE,CH\t+4723-00832\tEurope/Zurich\tBüsingen\n")
	if err != nil {
		t.Fatal(err)
	}
	want := tzdata{
		countries: []countryRow{{"CH", "Switzerland"}, {"DE", "Germany"}},
		zones: []zoneRow{{
			codes: []string{"DE", "CH"}, name: "Europe/Zurich", comment: "Büsingen",
			latitude: 47 + 23.0/60, longitude: -(8 + 32.0/60),
		}},
	}
	if !reflect.DeepEqual(data, want) {
		t.Errorf("got %+v, want %+v", data, want)
	}
	if n := data.size(); n != (counts{2, 1, 2}) {
		t.Errorf("size %+v", n)
	}
}

func TestMalformedLineIsAnErrorThatNamesIt(t *testing.T) {
	const countries = "# comment\nCH\tSwitzerland\nDE\tGermany\n"
	for _, tt := range []struct{ countries, zones, want string }{
		{"CH\n", "", `iso3166.tab:1: 1 fields in "CH", want 2 to 2`},
		{"#\nCH\tSwitzerland\tmore\n", "", "iso3166.tab:2: 3 fields"},
		{"ch\tSwitzerland\n", "", `iso3166.tab:1: country code "ch": want two capital letters`},
		{"CHE\tSwitzerland\n", "", `country code "CHE"`},
		{"C\xc3\tSwitzerland\n", "", "want two capital letters"},
		{"CH\t\n", "", "country CH has no name"},
		{"CH\tA\nCH\tB\n", "", `iso3166.tab:2: country code "CH" is there twice`},
		{countries, "CH\t+4723+00832\n", "zone1970.tab:1: 2 fields"},
		{countries, "CH\t+4723+00832\tEurope/Zurich\tx\ty\n", "zone1970.tab:1: 5 fields"},
		{countries, "#\n\nXX\t+4723+00832\tEurope/Zurich\n", `zone1970.tab:3: zone Europe/Zurich: country code "XX" is not in iso3166.tab`},
		{countries, "CH,\t+4723+00832\tEurope/Zurich\n", `country code "" is not`},
		{countries, "CH,CH\t+4723+00832\tEurope/Zurich\n", `country code "CH" is there twice`},
		{countries, "CH\t+4723+00832\t\n", "a zone of CH has no name"},
		{countries, "CH\t+4723\tEurope/Zurich\n", `zone1970.tab:1: zone Europe/Zurich: coordinates "+4723"`},
		{countries, "CH\t+4723+00832\tA\nDE\t+4723+00832\tA\n", `zone1970.tab:2: zone "A" is there twice`},
	} {
		data, err := parseTzdata(tt.countries, tt.zones)
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%q and %q: error %v, want %q", tt.countries, tt.zones, err, tt.want)
		}
		if data.countries != nil || data.zones != nil {
			t.Errorf("%q and %q: some rows came with the error", tt.countries, tt.zones)
		}
	}
}

func TestCoordinates(t *testing.T) {
	for _, tt := range []struct {
		text                string
		latitude, longitude float64
	}{
		{"+4230+00131", 42.5, 1 + 31.0/60},
		{"-0000-18000", 0, -180},
		{"+404251-0740023", 40 + 42.0/60 + 51.0/3600, -(74 + 23.0/3600)},
	} {
		latitude, longitude, err := parseCoordinates(tt.text)
		if err != nil || math.Abs(latitude-tt.latitude) > 1e-9 || math.Abs(longitude-tt.longitude) > 1e-9 {
			t.Errorf("%s: %v %v, error %v, want %v %v", tt.text, latitude, longitude, err, tt.latitude, tt.longitude)
		}
	}
	for _, text := range []string{
		"", "4230+00131", "+4230+0131", "+4230+001310", "+423000+00131", "+9001+00000", "+4230+18001", "+4260+00131",
		"+4230+00160", "+423060+0013100", " +4230+00131", "+4230+00131x",
	} {
		if latitude, longitude, err := parseCoordinates(text); err == nil {
			t.Errorf("%q: %v %v, want an error", text, latitude, longitude)
		}
	}
}
