package report

import (
	"fmt"
	"math"
	"regexp"
	"strings"
	"testing"
)

// luminance is that of WCAG 2 for a colour "#rgb" or "#rrggbb".
func luminance(t *testing.T, color string) float64 {
	t.Helper()
	hex := strings.TrimPrefix(color, "#")
	if len(hex) == 3 {
		hex = string([]byte{hex[0], hex[0], hex[1], hex[1], hex[2], hex[2]})
	}
	var rgb [3]int
	if _, err := fmt.Sscanf(hex, "%02x%02x%02x", &rgb[0], &rgb[1], &rgb[2]); err != nil {
		t.Fatalf("%q is no colour: %v", color, err)
	}
	sum := 0.0
	for i, share := range []float64{0.2126, 0.7152, 0.0722} {
		v := float64(rgb[i]) / 255
		if v <= 0.03928 {
			v /= 12.92
		} else {
			v = math.Pow((v+0.055)/1.055, 2.4)
		}
		sum += share * v
	}
	return sum
}

// TestTextCanBeRead requires contrasts of 4.5 to 1 for text and 3 to 1 for shapes, as WCAG 2.2 does at level AA.
func TestTextCanBeRead(t *testing.T) {
	variable := regexp.MustCompile(`--(\w+):(#\w+)`)
	themes := func(style, block string) (all []map[string]string) {
		for _, part := range strings.Split(style, block+"{")[1:] {
			end := strings.Index(part, "}")
			theme := map[string]string{}
			for _, m := range variable.FindAllStringSubmatch(part[:end], -1) {
				theme[m[1]] = m[2]
			}
			all = append(all, theme)
		}
		return all
	}
	check := func(theme map[string]string, front, back string, least float64) {
		t.Helper()
		a, b := luminance(t, theme[front]), luminance(t, theme[back])
		if ratio := (max(a, b) + 0.05) / (min(a, b) + 0.05); ratio < least {
			t.Errorf("%s %s on %s %s: %.1f to 1, want %v", front, theme[front], back, theme[back], ratio, least)
		}
	}
	charts, pages := themes(chartColors, ".chart"), themes(pageStyle, ":root")
	if len(charts) != 3 || len(pages) != 3 {
		t.Fatalf("%d themes of charts and %d of the page, want light, dark and print", len(charts), len(pages))
	}
	for _, theme := range charts {
		for _, text := range []string{"ink", "soft"} {
			check(theme, text, "paper", 4.5)
		}
		for _, shape := range []string{"auto", "snow", "uuid", "text"} {
			check(theme, shape, "paper", 3)
		}
		for text, shades := range map[string][]string{"ink": {"h0", "h1", "h2"}, "on3": {"h3"}, "paper": {"h4"}} {
			for _, shade := range shades {
				check(theme, text, shade, 4.5)
			}
		}
	}
	for _, theme := range pages {
		for _, text := range []string{"ink", "soft", "link", "good", "bad", "warn"} {
			check(theme, text, "back", 4.5)
			check(theme, text, "card", 4.5)
		}
	}
}
