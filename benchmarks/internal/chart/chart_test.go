package chart

import (
	"encoding/xml"
	"errors"
	"io"
	"math"
	"regexp"
	"strings"
	"testing"
)

func TestSVGIsWellFormed(t *testing.T) {
	bad := regexp.MustCompile(`NaN|Inf|="-\d|d="M"`)
	for name, c := range map[string]Chart{
		"bars":      Bars("a; b", "c", []Bar{{Label: "<&>", Value: 3, Part: 1, Text: "3"}, {Label: "b", Value: 5}}),
		"no values": Bars("a", "", []Bar{{Label: "a"}, {Label: "b", Value: math.NaN()}, {Label: "c", Value: math.Inf(1)}}),
		"lines":     Lines("a", "b", []Curve{{"a", "v7", [][2]float64{{1, 2}, {99, 3}}}, {"b", "v4", [][2]float64{{1, 0}}}}),
		"zeros":     Lines("a", "b", []Curve{{"a", "auto", [][2]float64{{5, 0}, {6, 0}}}}),
	} {
		text := c.SVG("id")
		if found := bad.FindString(text); found != "" {
			t.Errorf("%s: %q in\n%s", name, found, text)
		}
		for in := xml.NewDecoder(strings.NewReader(text)); ; {
			if _, err := in.Token(); errors.Is(err, io.EOF) {
				break
			} else if err != nil {
				t.Fatalf("%s: %v in\n%s", name, err, text)
			}
		}
	}
}
