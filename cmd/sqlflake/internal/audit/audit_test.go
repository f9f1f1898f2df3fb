package audit

import (
	"cmp"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sqlflake/sqlflake/snowflake"
)

// synthetic is a generator of one of the kinds that libraries have.
type synthetic struct {
	layout snowflake.Layout
	kind   string // how the sequence of a new tick begins: zero, five, random, counts (on)
	worker int64
	ahead  int64 // of the clock, in ticks
	others int   // IDs for other tables, such as of the parent, before each of this one
	last   int64
	seq    int64
	*rand.Rand
}

func (g *synthetic) next(t testing.TB, tick int64) snowflake.ID {
	for range g.others {
		g.issue(t, tick)
	}
	return g.issue(t, tick)
}

func (g *synthetic) issue(t testing.TB, tick int64) snowflake.ID {
	tick += g.ahead
	start := map[string]int64{"five": 5, "random": g.Int64N(g.layout.MaxSequence() + 1), "counts": (g.seq + 1) & g.layout.MaxSequence()}[g.kind]
	switch g.seq++; {
	case tick > g.last:
		g.last, g.seq = tick, start
	case g.seq > g.layout.MaxSequence() && g.kind == "counts": // in the same tick
		g.seq = 0
	case g.seq > g.layout.MaxSequence():
		g.last, g.seq = g.last+1, start
	}

	id, err := g.layout.Compose(snowflake.Parts{Time: g.layout.Start(g.last), Worker: g.worker, Sequence: g.seq})
	must(t, err)
	return id
}

// kinds are a layout of each kind. perTick is how many IDs all workers issue in a tick.
var kinds = []struct {
	kind, layout string
	perTick      float64
}{
	{"zero", "default", 0.01},
	{"zero", "bwmarrin", 3},
	{"zero", "sonyflake2", 40},
	{"zero", "baidu", 500},
	{"random", "default", 2},
	{"random", "default", 0.2},
	{"random", "multiclock", 40},
	{"counts", "discord", 5},
	{"counts", "instagram", 40},
	{"five", "yitter", 5},
	{"random", "mastodon", 2},
	{"random", "scattered", 0.01},
}

func layoutOf(name string) snowflake.Layout {
	all := candidates()
	return all[slices.IndexFunc(all, func(c Guess) bool { return c.Name == name })].layout
}

// stream makes n IDs up to now, or up to the end of the layout, that several workers issued in turn.
func stream(t testing.TB, r *rand.Rand, generators []*synthetic, perTick float64, n int, before ...func(i int)) []snowflake.ID {
	l := generators[0].layout
	end := now
	if l.End().Before(now) {
		end = l.End()
	}

	span := float64(n) / perTick
	begin := float64(end.Add(-time.Hour).Sub(l.Epoch())/l.Tick()) - span
	if l.Epoch().Year() < 1980 {
		begin = float64(end.UnixMilli()) - 3_600_000 - span
	}

	var ids []snowflake.ID
	at := begin
	for i := range n {
		for _, change := range before {
			change(i)
		}
		if generators[0].kind == "random" && perTick < 1 {
			at += r.ExpFloat64() / perTick
		} else if r.IntN(20) == 0 { // traffic has bursts
			at += r.ExpFloat64() * 20 / perTick
		}
		ids = append(ids, generators[r.IntN(len(generators))].next(t, int64(at)))
	}

	return ids
}

// now is the time in the tests.
var now = time.Date(2026, 11, 22, 21, 40, 0, 0, time.UTC)

// rowsOf returns rows of IDs.
func rowsOf(ids []snowflake.ID) (all []Row) {
	for _, id := range ids {
		all = append(all, Row{ID: id})
	}
	return all
}

// auditOf is the audit of IDs.
func auditOf(t testing.TB, layout string, ids []snowflake.ID, issued bool, slack time.Duration) *Report {
	t.Helper()
	o := Options{Issued: issued, Slack: slack}
	if layout != "" {
		o.Layout = layoutOf(layout)
	}
	return report(t, o, rowsOf(ids))
}

// report is the audit of rows.
func report(t testing.TB, o Options, rows []Row) *Report {
	t.Helper()
	o.Now = func() time.Time { return now }
	a := New(o)
	err := a.Read(Source{Rows: func(take func(Row)) error {
		for _, row := range rows {
			take(row)
		}
		return nil
	}})

	must(t, err)
	r, err := a.Report(t.Context())
	must(t, err)
	return r
}

// counts returns the kinds of the findings, and their counts.
func (r *Report) counts() map[string]int64 {
	all := map[string]int64{}
	for _, f := range r.Findings {
		all[f.Kind] = f.Count
	}
	return all
}

// TestACleanTableHasNoFindings has each kind of generator, with rows that were deleted, and with IDs that went to other
// tables: one in three at random, or most of them in batches.
func TestACleanTableHasNoFindings(t *testing.T) {
	for _, k := range kinds {
		for _, n := range []int{1000, 100_000, 1_000_000} {
			isLong := n == 1_000_000 && os.Getenv("SNOWFLAKE_TEST_LONG") == ""
			if isLong || n == 1_000_000 && k.layout != "bwmarrin" {
				continue
			}

			t.Run(fmt.Sprint(k.kind, " ", k.layout, " ", n), func(t *testing.T) {
				t.Parallel()
				r := rand.New(rand.NewPCG(uint64(n), 1))
				var all []*synthetic
				for worker := range min(layoutOf(k.layout).MaxWorker()+1, 4) {
					all = append(all, &synthetic{layout: layoutOf(k.layout), kind: k.kind, worker: worker, Rand: r})
				}

				ids := stream(t, r, all, k.perTick, n)
				batch, m := 0, masksOf(layoutOf(k.layout))
				for name, keep := range map[string]func(snowflake.ID) bool{
					"all":     func(snowflake.ID) bool { return true },
					"deleted": func(snowflake.ID) bool { return r.IntN(3) > 0 },
					"few":     func(snowflake.ID) bool { return r.IntN(100) == 0 },
					"batches": func(snowflake.ID) bool { batch++; return batch/37%10 == 0 },
					"a job":   func(id snowflake.ID) bool { batch++; return batch/137%5 == 0 || m.generator(id) != 0 },
				} {
					if n == 1_000_000 && name != "all" && name != "deleted" {
						continue
					}
					kept := slices.DeleteFunc(slices.Clone(ids), func(id snowflake.ID) bool { return !keep(id) })
					if found := auditOf(t, k.layout, kept, true, 0).Findings; len(found) > 0 {
						t.Errorf("%s: %+v", name, found)
					}
				}
			})
		}
	}
}

// TestFaultsAreFound plants one fault each in clean IDs.
func TestFaultsAreFound(t *testing.T) {
	for _, k := range kinds {
		for _, n := range []int{1000, 30_000} {
			t.Run(fmt.Sprint(k.kind, " ", k.layout, " ", n), func(t *testing.T) {
				t.Parallel()
				r := rand.New(rand.NewPCG(uint64(n), 2))
				l := layoutOf(k.layout)
				second := int64(time.Second / l.Tick())
				made := func(kind string, worker, ahead int64) *synthetic {
					return &synthetic{layout: l, kind: kind, worker: worker, ahead: ahead, Rand: r}
				}
				workers := func(more ...*synthetic) []*synthetic {
					for worker := range min(l.MaxWorker()+1, 4) {
						more = append(more, made(k.kind, worker, 0))
					}
					return more
				}
				// check wants a finding, and no other but those that it brings about.
				check := func(ids []snowflake.ID, issued bool, want string, others ...string) {
					t.Helper()
					found := auditOf(t, k.layout, ids, issued, time.Second).counts()
					for kind := range found {
						if kind != want && !slices.Contains(others, kind) || found[want] == 0 {
							t.Errorf("want %s, found %v", want, found)
						}
					}
					if len(found) == 0 {
						t.Errorf("want %s, found nothing", want)
					}
				}
				clean := stream(t, r, workers(), k.perTick, n)
				insert := func(id snowflake.ID) []snowflake.ID { return slices.Insert(slices.Clone(clean), n/2, id) }

				check(insert(clean[n/3]), false, "duplicate")
				if l.Bits() < 63 {
					check(insert(1<<l.Bits()), true, "impossible")
				}
				check(stream(t, r, workers(made(k.kind, 0, -2*second)), k.perTick, n), true, "interleaved", "duplicate")
				back := workers()
				check(stream(t, r, back, k.perTick, n, func(i int) {
					if i == n/2 {
						back[0] = made(k.kind, 0, -5*second)
					}
				}), true, "step_back", "duplicate")
				if k.kind == "zero" && k.perTick < 40 { // those that meet in a tick have equal sequences
					check(stream(t, r, workers(made(k.kind, 0, 0)), max(k.perTick, 1), n), false, "duplicate")
				}
				if n == 1000 || l.MaxSequence() < 1023 || k.kind == "zero" && k.perTick < 1 {
					return
				}
				unique := func(ids []snowflake.ID) []snowflake.ID { slices.Sort(ids); return slices.Compact(ids) }
				if k.kind == "zero" { // at lower rates all are rounded to a sequence of 0, as it would be without
					clean = stream(t, r, workers(), float64(l.MaxSequence()), n)
				}
				for i := range clean {
					clean[i] = snowflake.ID(int64(float64(clean[i])))
				}
				check(unique(clean), false, "rounded")
			})
		}
	}
}

// TestALikenessOfAFaultIsNoFault has what is nearly one of two generators on a worker.
func TestALikenessOfAFaultIsNoFault(t *testing.T) {
	l := snowflake.Default()
	put := func(at time.Duration, worker, sequence int64) snowflake.ID {
		id, err := l.Compose(snowflake.Parts{Time: now.Add(at - time.Hour), Worker: worker, Sequence: sequence})
		must(t, err)
		return id
	}

	var jobs, back []snowflake.ID
	for i := range time.Duration(10_000) {
		// Worker 0 writes rows with 2,000 children each, whose keys are in another table.
		for worker := range int64(4) {
			jobs = append(jobs, put(i*10*time.Millisecond, worker, 0), put(i*10*time.Millisecond, worker, max(1, 2001*(1-worker))))
		}
		// The clock is set back by 5 s four times, and each time is where it was 5 s later.
		back = append(back, put((i-i/2000*500)*10*time.Millisecond, 1, int64(i/2000)))
	}

	if found := auditOf(t, "default", jobs, true, 0).Findings; len(found) > 0 {
		t.Errorf("%+v", found)
	}

	if found := auditOf(t, "default", back, true, time.Second).counts(); !maps.Equal(found, map[string]int64{"step_back": 4}) {
		t.Errorf("%v", found)
	}

	// One row in 50 is inserted 9 s after its ID was made, as the transaction of the request was as long.
	late := map[snowflake.ID]time.Duration{}
	for i := range time.Duration(10_000) {
		id := put(i*100*time.Millisecond, int64(i)%3, 0)
		late[id] = i * 100 * time.Millisecond
		if i%50 == 25 {
			late[id] += 9 * time.Second
		}
	}

	ids := slices.SortedFunc(maps.Keys(late), func(a, b snowflake.ID) int { return cmp.Compare(late[a], late[b]) })
	if found := auditOf(t, "", ids, true, snowflake.MaxLead).Findings; len(found) > 0 {
		t.Errorf("%+v", found)
	}

	found := auditOf(t, "", ids, true, 5*time.Second).Findings
	if len(found) != 1 || found[0].Kind != "interleaved" || !strings.Contains(found[0].Shows, "by 9s at most") ||
		!strings.Contains(found[0].Shows, "so much later than their ID was made, which a greater --slack leaves out") {
		t.Errorf("%+v", found)
	}
}

// TestTheLayoutIsGuessed also holds that those which explain as much are named.
func TestTheLayoutIsGuessed(t *testing.T) {
	for _, k := range kinds {
		for _, n := range []int{100, 1000, 20_000} {
			r := rand.New(rand.NewPCG(uint64(n), 3))
			l := layoutOf(k.layout)
			generators := func(others int) (all []*synthetic) {
				for worker := range min(l.MaxWorker()+1, 4) {
					all = append(all, &synthetic{layout: l, kind: k.kind, worker: worker, others: others, Rand: r})
				}
				return all
			}

			all := generators(0)
			layout := auditOf(t, "", stream(t, r, all, k.perTick, n), n == 100, 0).Layout
			sure := layout.Layout == l.String() || k.layout == "bwmarrin" && layout.Name == "twitter" // which has the same times
			if !layout.Guessed || !sure && (n > 100 || !slices.Contains(layout.Others, k.layout)) {
				t.Errorf("%d of %s: %+v", n, k.layout, layout)
			}

			if old := k.layout == "baidu"; layout.Fits == old {
				t.Errorf("%d of %s: %+v", n, k.layout, layout)
			}

			// A table of children, whose parents are in another one; and one row in three, as the others are in other tables.
			for _, others := range []int{0, 1, 2} {
				ids := stream(t, r, generators(others), min(k.perTick, float64(l.MaxSequence())/4), n)
				ids = slices.DeleteFunc(ids, func(snowflake.ID) bool { return others == 0 && r.IntN(3) > 0 })
				some := auditOf(t, "", ids, false, 0)
				sure := some.Layout.Layout == layout.Layout || n == 100 && slices.Contains(some.Layout.Others, k.layout)
				if !sure || len(some.Findings) > 0 && k.layout != "baidu" {
					t.Errorf("%d of %s, each after %d: %+v, %v", n, k.layout, others, some.Layout, some.counts())
				}
			}

			// One clock of four is an hour ahead.
			all[0].ahead = int64(3 * time.Hour / l.Tick())
			if k.layout == "baidu" || l.MaxWorker() == 0 {
				continue
			}

			if r := auditOf(t, "", stream(t, r, all, k.perTick, n), false, 0); r.Layout.Layout != layout.Layout || r.counts()["future"] == 0 {
				t.Errorf("%d of %s ahead: %+v, %v", n, k.layout, r.Layout, r.counts())
			}
		}
	}

	// Where IDs don't sort by time, the greatest are not the latest. These are of eight months.
	l := layoutOf("scattered")
	slow := []*synthetic{{layout: l, kind: "random", worker: 3, Rand: rand.New(rand.NewPCG(1, 5))}}
	if g := auditOf(t, "", stream(t, slow[0].Rand, slow, 1e-6, 20_000), false, 0).Layout; g.Layout != l.String() || !g.Fits {
		t.Errorf("eight months of scattered: %+v", g)
	}

	// Of so many workers wide has fewer, whose sequences would have the lowest bits of the workers.
	r, all := rand.New(rand.NewPCG(1, 4)), []*synthetic(nil)
	for _, worker := range []int64{0, 1, 2, 3, 4, 5, 512, 513, 514, 515, 516, 517} {
		all = append(all, &synthetic{layout: snowflake.Default(), kind: "zero", worker: worker, Rand: r})
	}

	if r := auditOf(t, "", stream(t, r, all, 1, 14_000), false, 0); r.Layout.Name != "default" || len(r.Findings) > 0 {
		t.Errorf("%+v", r)
	}
}

// TestATableAtRestNeedsItsLayout has IDs that end months ago: a guess has nothing to prove it by then.
func TestATableAtRestNeedsItsLayout(t *testing.T) {
	for _, age := range []time.Duration{31 * 24 * time.Hour, 500 * 24 * time.Hour} {
		l, old := snowflake.Default(), []snowflake.ID(nil)
		for i := range 1000 {
			id, err := l.Compose(snowflake.Parts{Time: now.Add(time.Duration(i)*time.Second - age), Worker: int64(i % 3)})
			must(t, err)
			old = append(old, id)
		}

		if found := auditOf(t, "default", old, false, 0).counts(); len(found) > 0 {
			t.Errorf("%v: %v", age, found)
		}

		r := auditOf(t, "", old, false, 0)
		if len(r.counts()) != 1 || r.Layout.Fits || !strings.Contains(r.Findings[0].Shows, "older than 30 days") {
			t.Errorf("%v: %+v", age, r)
		}
	}

	tweets, bits := []snowflake.ID(nil), layoutOf("bwmarrin")
	for i := range 1800 {
		at := time.Date(2014, 8, 11, 0, 0, i*800, i*1_234_567, time.UTC)
		id, err := bits.Compose(snowflake.Parts{Time: at, Worker: int64(i*7%17 + 350), Sequence: int64(i % 3 / 2)})
		must(t, err)
		tweets = append(tweets, id)
	}

	layout := auditOf(t, "", tweets, false, 0).Layout
	names := slices.Concat(layout.Others, []string{layout.Name})
	if !slices.Contains(names, "twitter") || !slices.Contains(names, "bwmarrin") || layout.Fits {
		t.Errorf("tweets of 2014: %+v", layout)
	}

	var counter, noise []snowflake.ID
	for i := range snowflake.ID(10_000) {
		counter, noise = append(counter, 1_000_000+i), append(noise, i*0x123456789abc+1<<50)
	}

	for kind, ids := range map[string][]snowflake.ID{"counter": counter, "layout": noise} {
		if r := auditOf(t, "", ids, false, 0); r.counts()[kind] != 10_000 {
			t.Errorf("%s: %+v", kind, r.counts())
		}
	}
}

// must ends the test if there is an error.
func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
