package audit

import (
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/sqlflake/sqlflake/snowflake"
)

// plant is a table that a library has filled, in the order of issue.
type plant struct {
	layout  snowflake.Layout
	kind    string
	perTick float64
	workers []int64
	r       *rand.Rand
	n       int
}

// plants have the bits of libraries. Yitter's are below 2^53, so nothing rounds them.
func plants() map[string]*plant {
	all := map[string]*plant{
		"bwmarrin":   {kind: "zero", perTick: 3, workers: []int64{30, 10, 26}},
		"sonyflake":  {kind: "zero", perTick: 4, workers: []int64{900, 600, 300}},
		"sonyflake2": {kind: "zero", perTick: 4, workers: []int64{900, 600, 300}},
		"godruoyi":   {kind: "zero", perTick: 3, workers: []int64{30, 10, 26}},
		"yitter":     {kind: "five", perTick: 5, workers: []int64{30, 10, 26}},
	}
	for name, p := range all {
		p.layout, p.r, p.n = layoutOf(name), rand.New(rand.NewPCG(7, 7)), 3000
	}
	return all
}

// ticks returns how many ticks of the layout a duration has.
func (p *plant) ticks(d time.Duration) int64 { return int64(d / p.layout.Tick()) }

func (p *plant) generator(worker int64, ahead time.Duration) *synthetic {
	return &synthetic{layout: p.layout, kind: p.kind, worker: worker, ahead: p.ticks(ahead), Rand: p.r}
}

// ids are of the workers and of another generator; the first one is changed halfway.
func (p *plant) ids(t *testing.T, change func(first *synthetic), more ...*synthetic) []snowflake.ID {
	t.Helper()
	var all []*synthetic
	for _, worker := range p.workers {
		all = append(all, p.generator(worker, 0))
	}
	return stream(t, p.r, append(all, more...), p.perTick, p.n, func(i int) {
		if i == p.n/2 && change != nil {
			change(all[0])
		}
	})
}

// replaced returns the IDs with a share of them changed.
func (p *plant) replaced(ids []snowflake.ID, share float64, change func(snowflake.ID) snowflake.ID) []snowflake.ID {
	ids = slices.Clone(ids)
	for i, id := range ids {
		if p.r.Float64() < share {
			ids[i] = change(id)
		}
	}
	return ids
}

// mode is how an audit is called.
type mode struct{ layout, issued bool }

// audited returns the findings of a text.
func (p *plant) audited(t *testing.T, text string, m mode) *Report {
	t.Helper()
	var rows []Row
	for word := range strings.FieldsSeq(text) {
		id, err := snowflake.Parse(word)
		rows = append(rows, Row{ID: id, Fault: err})
	}

	o := Options{Issued: m.issued, Slack: snowflake.MaxLead}
	if m.layout {
		o.Layout = p.layout
	}
	return report(t, o, rows)
}

// TestAnAuditFindsWhatIsPlanted has each fault in the IDs of each library. What is found has one of the kinds wanted,
// and no other than these and those that may be found as well.
func TestAnAuditFindsWhatIsPlanted(t *testing.T) {
	const day, year = 24 * time.Hour, 365 * 24 * time.Hour
	rounds := []string{"bwmarrin", "godruoyi", "sonyflake", "sonyflake2"} // whose IDs are long enough, the last just so
	all := []string{"bwmarrin", "godruoyi", "sonyflake", "sonyflake2", "yitter"}
	for name, fault := range map[string]struct {
		plant  func(t *testing.T, p *plant) string
		issued bool     // it shows in the order of issue only
		in     []string // which libraries; others have nothing
		want   string
		also   string
	}{
		"nothing": {plant: func(t *testing.T, p *plant) string { return text(p.ids(t, nil)) }},
		"one worker twice": {in: all, want: "duplicate", plant: func(t *testing.T, p *plant) string {
			return text(p.ids(t, nil, p.generator(p.workers[0], 0)))
		}},
		"one worker twice, 45 s apart": {
			in: all, issued: true, want: "interleaved",
			plant: func(t *testing.T, p *plant) string {
				return text(p.ids(t, nil, p.generator(p.workers[0], -45*time.Second)))
			},
		},
		"a minute back": {in: all, issued: true, want: "step_back", plant: func(t *testing.T, p *plant) string {
			return text(p.ids(t, func(g *synthetic) { *g = *p.generator(g.worker, -time.Minute) }))
		}},
		"two hours back": {in: all, issued: true, want: "step_back", plant: func(t *testing.T, p *plant) string {
			return text(p.ids(t, func(g *synthetic) { *g = *p.generator(g.worker, -2*time.Hour) }))
		}},
		"a clock two hours ahead": {in: all, want: "future", plant: func(t *testing.T, p *plant) string {
			return text(p.ids(t, nil, p.generator(5, 2*time.Hour)))
		}},
		"rows twice": {in: all, want: "duplicate", plant: func(t *testing.T, p *plant) string {
			ids := p.ids(t, nil)
			return text(append(ids, ids[len(ids)-20:]...))
		}},
		"zeros": {in: all, want: "impossible", plant: func(t *testing.T, p *plant) string {
			return text(p.ids(t, nil)) + "0\n0\n0\n"
		}},
		"negative": {in: all, want: "impossible", plant: func(t *testing.T, p *plant) string {
			return text(p.ids(t, nil)) + "-5\n-9223372036854775808\n"
		}},
		"UUIDs": {in: all, want: "not_an_id", plant: func(t *testing.T, p *plant) string {
			return text(p.ids(t, nil)) + "f81d4fae-7dec-41d0-a765-00a0c91e6bf6\n"
		}},
		"a counter before": {in: all, want: "counter", plant: func(t *testing.T, p *plant) string {
			var counter []snowflake.ID
			for i := range snowflake.ID(500) {
				counter = append(counter, 1+i)
			}
			return text(append(counter, p.ids(t, nil)...))
		}},
		"a counter in between": {in: all, want: "counter", plant: func(t *testing.T, p *plant) string {
			n := snowflake.ID(123_000)
			return text(p.replaced(p.ids(t, nil), 0.01, func(snowflake.ID) snowflake.ID { n++; return n }))
		}},
		"a third five years ahead": {
			in: all, want: "layout future", also: "layout future impossible", plant: func(t *testing.T, p *plant) string {
				return text(p.ids(t, nil, p.generator(5, 5*year), p.generator(6, 5*year)))
			},
		},
		"5 % as a float64": {in: rounds[:2], want: "rounded duplicate", plant: func(t *testing.T, p *plant) string {
			return text(p.replaced(p.ids(t, nil), 0.05, toFloat))
		}},
		"all as a float64": {in: rounds[:2], want: "rounded duplicate", also: "layout", plant: func(t *testing.T, p *plant) string {
			return text(p.replaced(p.ids(t, nil), 1, toFloat))
		}},
		"as JavaScript prints them": {in: rounds[:3], want: "rounded duplicate", also: "layout", plant: func(t *testing.T, p *plant) string {
			return text(p.replaced(p.ids(t, nil), 1, printed))
		}},
		"5 % through a spreadsheet": {in: rounds, want: "rounded", also: "duplicate layout", plant: func(t *testing.T, p *plant) string {
			return text(p.replaced(p.ids(t, nil), 0.05, toSheet))
		}},
		"all through a spreadsheet": {in: rounds, want: "rounded", also: "duplicate layout future", plant: func(t *testing.T, p *plant) string {
			return text(p.replaced(p.ids(t, nil), 1, toSheet))
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for library, p := range plants() {
				in := fault.plant(t, p)
				for i := range 4 {
					m := mode{layout: i%2 == 0, issued: i/2 == 0}
					want := fault.want
					if !slices.Contains(fault.in, library) || fault.issued && !m.issued {
						want = ""
					}

					var found []string
					isFound, kinds := want == "", want+" "+fault.also
					for _, f := range p.audited(t, in, m).Findings {
						found = append(found, f.Kind)
						isFound = isFound || slices.Contains(strings.Fields(want), f.Kind)
						if !slices.Contains(strings.Fields(kinds), f.Kind) {
							t.Errorf("%s, layout %v, issued %v: a finding %s: %s", library, m.layout, m.issued, f.Kind, f.Shows)
						}
					}

					if !isFound {
						t.Errorf("%s, layout %v, issued %v: found %q, want one of %q", library, m.layout, m.issued, found, want)
					}
				}
			}
		})
	}
}

func toFloat(id snowflake.ID) snowflake.ID { return snowflake.ID(float64(id)) }

// printed returns the number that JavaScript prints: the fewest digits that name the float64, and zeros.
func printed(id snowflake.ID) snowflake.ID {
	digits, _, _ := strings.Cut(strconv.FormatFloat(float64(id), 'e', -1, 64), "e")
	digits = strings.Replace(digits, ".", "", 1)
	return parsed(digits + strings.Repeat("0", len(id.String())-len(digits)))
}

// toSheet keeps 15 digits.
func toSheet(id snowflake.ID) snowflake.ID {
	digits := id.String()
	kept := min(len(digits), 15)
	return parsed(digits[:kept] + strings.Repeat("0", len(digits)-kept))
}

func parsed(digits string) snowflake.ID {
	id, err := snowflake.Parse(digits)
	if err != nil {
		panic(err)
	}
	return id
}

func text(ids []snowflake.ID) string {
	var b strings.Builder
	for _, id := range ids {
		b.WriteString(id.String() + "\n")
	}
	return b.String()
}
