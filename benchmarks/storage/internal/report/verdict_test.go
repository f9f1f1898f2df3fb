package report

import (
	"strconv"
	"strings"
	"testing"

	"github.com/sqlflake/sqlflake/benchmarks/storage/internal/measure"
)

// growing has a rate that falls with each of ten steps.
func growing() Report {
	var records []measure.Record
	for kind, end := range map[string]float64{"auto": 100, "snowflake": 50} {
		v := values{}
		for step := range 10 {
			v["rate@"+strconv.Itoa(100_000*(step+1))] = 100 + (end-100)*float64(step)/9
		}
		records = append(records, thrice(record("postgres", "grow", measure.P("rows", 1_000_000), kind, v))...)
	}
	return New(measure.Environment{}, records, "auto")
}

func TestSummaryOfACurveIsItsEnd(t *testing.T) {
	all := growing().Verdicts()
	if len(all) != 1 || all[0].Speed.Ratio != "0.50x (0.50 to 0.50)" || all[0].Speed.Word != "loses" ||
		all[0].Speed.Short != "rows/s at 1M" {
		t.Errorf("%+v", all)
	}
}

func TestNarrowTablesKeepTheEndOfACurve(t *testing.T) {
	for _, width := range []int{120, 80, 60, 20} {
		text := written(t, func(w *strings.Builder) error { return growing().WriteText(w, Style{Width: width}) })
		if !strings.Contains(text, "at 1M") || width > 20 && !strings.Contains(text, "at 100k") {
			t.Errorf("%d columns wide:\n%s", width, text)
		}
	}
}

func TestSummaryNamesItsMetrics(t *testing.T) {
	text := written(t, func(w *strings.Builder) error { return sample().WriteMarkdown(w) })
	for _, want := range []string{
		"| rows/s 1.00x (1.00 to 1.00), tie |", "| key index 1.00x, tie |", "| median 1.00x ",
		"| table 1.00x, tie |",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("there is no %q in\n%s", want, text)
		}
	}
	page := pageOf(t, sample())
	for _, want := range []string{`<span class="of">key index</span> 1.00x`, `<span class="of">median</span> 1.00x`} {
		if !strings.Contains(page, want) {
			t.Errorf("the page has no %q", want)
		}
	}
}

func TestOutcomes(t *testing.T) {
	for want, rounds := range map[string]rounds3{
		"wins": {120, 130, 140}, "loses": {70, 80, 90}, "tie": {90, 100, 110}, "noisy": {50, 70, 90},
	} {
		g := groupOf("postgres", "load", "rate", map[string]rounds3{"auto": same(100), "snowflake": rounds})
		r := Report{Baseline: "auto", Groups: []measure.Group{g}}
		all := r.Verdicts()
		if len(all) != 1 || all[0].Speed.Word != want || all[0].Size.Word != "" {
			t.Errorf("%v: %+v, want %s", rounds, all, want)
		}
		check(t, tally(all, "auto"), map[string]string{
			"wins":  "loses to auto-increment in 0 of 1 figures, ties in 0 and wins in 1.",
			"loses": "in 1 of 1 figures, ties in 0 and wins in 0.", "tie": "in 0 of 1 figures, ties in 1 and wins in 0.",
			"noisy": "ties in 0 and wins in 0; too noisy: 1.",
		}[want])
	}
}

// TestALargerTableDoesNotWinByGivingBackMore: a tenth of a larger table is more pages.
func TestALargerTableDoesNotWinByGivingBackMore(t *testing.T) {
	var records []measure.Record
	for kind, pages := range map[string]float64{"auto": 24, "snowflake": 28, "uuidv7": 49} {
		records = append(records, record("sqlite", "retention", measure.P("rows", 25_000), kind,
			values{"freed": pages, "freed_share": 10}))
	}
	r := New(measure.Environment{}, records, "auto")
	for name, text := range map[string]string{
		"text":     written(t, func(w *strings.Builder) error { return r.WriteText(w, Style{}) }),
		"markdown": written(t, func(w *strings.Builder) error { return r.WriteMarkdown(w) }),
	} {
		if name == "markdown" && !strings.Contains(text, "On SQLite it is 10.0 % with auto-increment, 10.0 % with snowflake and") {
			t.Errorf("the shares are not told:\n%s", text)
		}
		if strings.Contains(text, "wins") || strings.Contains(text, "1.17") || strings.Contains(text, "2.04") ||
			!strings.Contains(text, "10.0") {
			t.Errorf("%s:\n%s", name, text)
		}
	}
}

func TestFewPagesAreNoReason(t *testing.T) {
	// 10,000 rows: 7 bytes a row more are 17 pages of SQLite, one byte is two.
	for _, test := range []struct {
		engine    string
		snowflake float64
		few       bool
	}{
		{"sqlite", 17, false},
		{"sqlite", 11, true},
		{"postgres", 12.8, true},
		{"postgres", 14, false},
		{"mariadb", 15, true},
		{"mariadb", 17, false},
	} {
		var records []measure.Record
		for kind, size := range map[string]float64{"auto": 10, "snowflake": test.snowflake} {
			records = append(records, record(test.engine, "load", measure.P("rows", 10_000), kind, values{"bytes_table": size}))
		}
		text := strings.Join(prose(New(measure.Environment{}, records, "auto").Groups[0], "bytes_table", "auto"), " ")
		if strings.Contains(text, "a few pages") != test.few {
			t.Errorf("%+v: %s", test, text)
		}
	}
}
