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
	bad := regexp.MustCompile(`NaN|Inf|="-\d`)
	var b strings.Builder
	err := Write(&b, "<&>",
		Bars("a; b", "c", []Bar{{Label: "<&>", Value: 3, Part: 1, Text: "3"}, {Label: "b", Value: 5}}),
		Bars("no values", "", []Bar{{Label: "a"}, {Label: "b", Value: math.NaN()}, {Label: "c", Value: math.Inf(1)}}))
	if err != nil {
		t.Fatal(err)
	}

	if found := bad.FindString(b.String()); found != "" {
		t.Errorf("%q in\n%s", found, &b)
	}

	for in := xml.NewDecoder(strings.NewReader(b.String())); ; {
		if _, err := in.Token(); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatalf("%v in\n%s", err, &b)
		}
	}
}
