// Package document formats figures and writes the files of reports.
package document

import (
	"math"
	"strconv"
	"strings"
)

// Number formats a value with commas between thousands.
func Number(value float64, digits int) string {
	if math.IsNaN(value) || math.IsInf(value, 0) {
		return "–"
	}
	text := strconv.FormatFloat(math.Abs(value), 'f', digits, 64)
	whole, rest, _ := strings.Cut(text, ".")
	for i := len(whole) - 3; i > 0; i -= 3 {
		whole = whole[:i] + "," + whole[i:]
	}
	if rest != "" {
		whole += "." + rest
	}
	if value < 0 {
		return "-" + whole
	}
	return whole
}

// Factor formats a ratio with about three digits.
func Factor(ratio float64) string {
	switch {
	case math.IsNaN(ratio) || math.IsInf(ratio, 0):
		return "–"
	case ratio >= 99.5:
		return Number(ratio, 0)
	case ratio >= 9.95:
		return Number(ratio, 1)
	case ratio > 0 && ratio < 0.0995:
		return Number(ratio, 3)
	}
	return Number(ratio, 2)
}

// Short formats a round number: "200k", "1.5M".
func Short(v float64) string {
	for _, unit := range []struct {
		size float64
		name string
	}{{1e6, "M"}, {1e3, "k"}} {
		if v >= unit.size {
			return strconv.FormatFloat(v/unit.size, 'g', 4, 64) + unit.name
		}
	}
	return strconv.FormatFloat(v, 'g', 4, 64)
}
