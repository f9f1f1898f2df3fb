package scenario

import (
	"os"
	"slices"
	"testing"
	"time"

	"github.com/sqlflake/sqlflake/benchmarks/internal/measure"
	"github.com/sqlflake/sqlflake/benchmarks/peers/internal/bench"
	"github.com/sqlflake/sqlflake/internal/testdb"
)

func TestMain(m *testing.M) {
	if !Child() {
		os.Exit(testdb.Main(m))
	}
}

// Who gives IDs twice, and when, is what READMEs say.
func TestWhoRepeatsIDs(t *testing.T) {
	repeat := map[string][]string{
		"instances": {"bwmarrin", "sonyflake", "yitter"},
		"processes": {"bwmarrin", "sonyflake", "godruoyi", "yitter", "fixed"},
		"restart":   {"bwmarrin", "sonyflake", "godruoyi", "yitter", "fixed"},
		"crash":     {"yitter"},
		"workers":   {"yitter"},
		"end":       {"godruoyi"},
	}
	for _, c := range Cases() {
		t.Run(c.Scenario, func(t *testing.T) {
			t.Parallel()
			want := map[string]bool{}
			for _, name := range repeat[c.Scenario] {
				want[name] = true
			}
			var found map[string]bench.Result
			for range 3 { // a process that starts late repeats nothing
				var err error
				if found, err = c.Run(t.Context(), 1, func(time.Duration) {}); err != nil {
					t.Fatal(err)
				}
				if !slices.ContainsFunc(repeat[c.Scenario], func(name string) bool { return found[name].Values["duplicates"] == 0 }) {
					break
				}
			}
			for _, kind := range c.Kinds {
				r := found[kind]
				if len(r.Values) == 0 {
					if cell := c.Scenario + " " + kind; cell != "end yitter" && cell != "workers leased" && cell != "instances godruoyi" || r.Note == "" {
						t.Errorf("%s: no result, %s", kind, r.Note)
					}
					continue
				}
				if got := r.Values["duplicates"] > 0; got != want[kind] {
					t.Errorf("%s: %s", kind, Cell(measure.Record{Values: r.Values, Note: r.Note}))
				}
				if negative := r.Values["negative"] > 0; negative != (c.Scenario == "end" && kind == "bwmarrin") {
					t.Errorf("%s: %v negative IDs", kind, r.Values["negative"])
				}
				if c.Scenario == "end" && (r.Values["failed"] > 0) != (kind == "sonyflake" || kind == "fixed" || kind == "leased") {
					t.Errorf("%s: %v calls failed", kind, r.Values["failed"])
				}
				if share, ok := r.Values["share"]; ok && (share < 25) != (c.Scenario == "remainder-even") {
					t.Errorf("%s: %v %% of the IDs have one remainder", kind, share)
				}
			}
		})
	}
}

func TestProcessesShareADatabase(t *testing.T) {
	target := testdb.Postgres(t)
	for _, c := range Processes(target.DSN, 1000)[:2] {
		found, err := c.Run(t.Context(), 1, func(time.Duration) {})
		for _, kind := range c.Kinds {
			if err != nil || found[kind].Values["rate"] <= 0 || found[kind].Values["open"] <= 0 {
				t.Errorf("%s: %v, %v", c.Title, found, err)
			}
		}
	}
	var left int
	err := target.Open(t).QueryRowContext(t.Context(),
		"SELECT count(*) FROM information_schema.tables WHERE table_schema = current_schema()").Scan(&left)
	if left > 0 || err != nil {
		t.Errorf("%d tables are left, %v", left, err)
	}
}

func TestCells(t *testing.T) {
	for _, tt := range []struct {
		values map[string]float64
		note   string
		want   string
	}{
		{nil, "it can't", "–"},
		{map[string]float64{"ids": 2000, "duplicates": 0}, "", "0"},
		{map[string]float64{"ids": 2000, "duplicates": 1000}, "", "1,000 of 2,000"},
		{map[string]float64{"duplicates": 0, "negative": 7}, "", "0, 7 negative"},
		{map[string]float64{"duplicates": 0, "failed": 7}, "time is over", "0, returns an error"},
		{map[string]float64{"duplicates": 0}, "no free worker", "0, one is refused"},
		{map[string]float64{"duplicates": 0, "longest": 950}, "", "0, waits 0.9 s"},
		{map[string]float64{"duplicates": 0, "share": 6.4}, "", "6 %"},
	} {
		if got := Cell(measure.Record{Values: tt.values, Note: tt.note}); got != tt.want {
			t.Errorf("%v: %q, want %q", tt.values, got, tt.want)
		}
	}
}
