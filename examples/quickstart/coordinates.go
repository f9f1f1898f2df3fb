package main

import (
	"fmt"
	"regexp"
	"strconv"
)

// iso6709 matches degrees, minutes and perhaps seconds: +4230+00131 or +404251-0740023.
var iso6709 = regexp.MustCompile(`^([+-])(\d{2})(\d{2})(\d{2})?([+-])(\d{3})(\d{2})(\d{2})?$`)

// parseCoordinates returns the degrees of a place in ISO 6709 form, north and east positive.
func parseCoordinates(text string) (latitude, longitude float64, err error) {
	m := iso6709.FindStringSubmatch(text)
	if m == nil || (m[4] == "") != (m[8] == "") {
		return 0, 0, fmt.Errorf("coordinates %q: want a form such as +4230+00131 or +404251-0740023", text)
	}
	latitude, ok := degrees(m[1], m[2], m[3], m[4], 90)
	if !ok {
		return 0, 0, fmt.Errorf("coordinates %q: no such latitude, at most 90 degrees", text)
	}
	longitude, ok = degrees(m[5], m[6], m[7], m[8], 180)
	if !ok {
		return 0, 0, fmt.Errorf("coordinates %q: no such longitude, at most 180 degrees", text)
	}
	return latitude, longitude, nil
}

// degrees adds up digits that the caller has checked; "" counts as 0.
func degrees(sign, deg, minutes, seconds string, limit float64) (value float64, ok bool) {
	number := func(digits string) float64 {
		n, _ := strconv.Atoi(digits)
		return float64(n)
	}
	if number(minutes) >= 60 || number(seconds) >= 60 {
		return 0, false
	}
	value = number(deg) + number(minutes)/60 + number(seconds)/3600
	if sign == "-" {
		value = -value
	}
	return value, -limit <= value && value <= limit
}
