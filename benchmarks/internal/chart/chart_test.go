package chart

import (
	"encoding/xml"
	"math"
	"regexp"
	"testing"
)

func TestSVGIsWellFormed(t *testing.T) {
	bad := regexp.MustCompile(`NaN|Inf|="-\d`)
	picture := SVG("<&>",
		Bars("a; b", "c", []Bar{{Label: "<&>", Value: 3, Part: 1, Text: "3"}, {Label: "b", Value: 5}}),
		Bars("no values", "", []Bar{{Label: "a"}, {Label: "b", Value: math.NaN()}, {Label: "c", Value: math.Inf(1)}}))
	if found := bad.FindString(picture); found != "" {
		t.Errorf("%q in\n%s", found, picture)
	}
	if err := xml.Unmarshal([]byte(picture), new(struct{})); err != nil {
		t.Errorf("%v in\n%s", err, picture)
	}
}
