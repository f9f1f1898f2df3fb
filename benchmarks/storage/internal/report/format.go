package report

import (
	"math"
	"strconv"
	"strings"

	"github.com/sqlflake/sqlflake/benchmarks/storage/internal/measure"
)

// number formats a value with commas between thousands.
func number(value float64, digits int) string {
	if math.IsNaN(value) || math.IsInf(value, 0) {
		return "-"
	}
	text := strconv.FormatFloat(value, 'f', digits, 64)
	whole, rest, _ := strings.Cut(text, ".")
	sign := ""
	if strings.HasPrefix(whole, "-") {
		sign, whole = "-", whole[1:]
	}
	for i := len(whole) - 3; i > 0; i -= 3 {
		whole = whole[:i] + "," + whole[i:]
	}
	if rest != "" {
		whole += "." + rest
	}
	return sign + whole
}

// factor formats a ratio: "1.84", "12.3", "104", and small ones with two significant digits.
func factor(ratio float64) string {
	switch {
	case math.IsNaN(ratio) || math.IsInf(ratio, 0):
		return "-"
	case ratio == 0:
		return "0"
	case ratio >= 99.5:
		return number(ratio, 0)
	case ratio >= 9.95:
		return number(ratio, 1)
	case ratio > 0 && ratio < 0.0995:
		return number(ratio, 3)
	}
	return number(ratio, 2)
}

// withUnit formats a value for a sentence or a bar.
func withUnit(m measure.Metric, value float64) string {
	text := number(value, m.Digits)
	switch m.Unit {
	case "":
		return text
	case "1/s":
		return text + "/s"
	case "%":
		return text + " %"
	}
	return text + " " + m.Unit
}

// paramText formats the parameters of a group: "100,000 rows, 1,000 a statement".
func paramText(p measure.Params) string {
	parts := make([]string, len(p))
	for i, param := range p {
		parts[i] = paramWords(param)
	}
	return strings.Join(parts, ", ")
}

// styles are the ways to save a graph, in words.
var styles = map[string]string{"rows": "row by row", "statements": "a statement for each level", "pipelined": "pipelined"}

func paramWords(param measure.Param) string {
	value := param.Value
	if n, err := strconv.Atoi(value); err == nil {
		value = number(float64(n), 0)
	}
	switch param.Name {
	case "rows", "parents", "clients", "workers", "graphs":
		return value + " " + plural(param.Name, value)
	case "rate":
		return value + " rows/s"
	case "batch":
		return value + " a statement"
	case "drawn":
		return value + " drawn at once"
	case "create":
		return value + " a Create"
	case "bulk":
		return "in bulk, " + value + " at a time"
	case "of":
		return "of " + value + " parents"
	case "style":
		if words := styles[value]; words != "" {
			return words
		}
	case "fill":
		return "fill factor " + value
	}
	return param.Name + " " + value
}

func plural(name, count string) string {
	if count == "1" {
		return strings.TrimSuffix(name, "s")
	}
	return name
}

// list joins words: "a, b and c".
func list(words []string) string {
	if len(words) < 2 {
		return strings.Join(words, "")
	}
	return strings.Join(words[:len(words)-1], ", ") + " and " + words[len(words)-1]
}

// capital makes the first letter upper case.
func capital(s string) string {
	if s == "" {
		return s
	}
	return strings.ToUpper(s[:1]) + s[1:]
}
