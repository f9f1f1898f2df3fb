package chart

import (
	"encoding/xml"
	"regexp"
	"testing"
)

func TestSVGIsWellFormed(t *testing.T) {
	bad := regexp.MustCompile(`NaN|Inf|="-\d`)
	picture := SVG("<&>",
		Bars("a; b", "c", []Bar{{Label: "<&>", Value: 3, Part: 1, Text: "3"}, {Label: "b", Value: 5}}))
	if found := bad.FindString(picture); found != "" {
		t.Errorf("%q in\n%s", found, picture)
	}
	if err := xml.Unmarshal([]byte(picture), new(struct{})); err != nil {
		t.Errorf("%v in\n%s", err, picture)
	}
}
