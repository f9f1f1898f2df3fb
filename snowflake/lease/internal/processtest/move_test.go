package processtest

import (
	"database/sql"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/sqlflake/sqlflake/snowflake"
	"github.com/sqlflake/sqlflake/snowflake/lease"
	"github.com/sqlflake/sqlflake/snowflake/lease/sqllease"
)

// Eight processes have one layout when ten of another one start, which differs in the order of the fields only. The eight
// end one after another, every other one killed; of the ten, two are killed while they wait or begin.
func TestProcessesThatChangeTheLayoutNeverRepeatAnIDAndKeepTheOrder(t *testing.T) {
	t.Parallel()
	const each = 8
	layouts := []snowflake.Layout{snowflake.Default(), snowflake.MustLayout(snowflake.Default().Epoch(), time.Millisecond,
		snowflake.Field{Name: "time", Bits: 41}, snowflake.Field{Name: "sequence", Bits: 12}, snowflake.Field{Name: "worker", Bits: 10})}
	eachDatabase(t, func(t *testing.T, p place) {
		// Nobody waits for a lease that has expired, as it does after two windows on a machine that stands still.
		o := Order{Place: p.String(), First: 0, Last: 2*each - 1, Window: 5 * time.Second, Pace: time.Millisecond}
		begin := func(now, before int) (started []*Process) {
			o.Layout, o.Former = layouts[now].String(), layouts[before].String()
			for range each + 2 {
				started = append(started, MustStart(t, o))
			}
			return started
		}
		issue := func(processes []*Process) {
			for _, q := range processes {
				Eventually(t, "an ID", func() bool { return q.Count() > 0 || q.HasEnded() }, q)
				if q.HasEnded() {
					t.Fatalf("ended: %s", q)
				}
			}
		}
		store := p.store(t).(*sqllease.Store)
		generations := [][]*Process{begin(0, 1)}
		running := generations[0]
		issue(running)
		for _, now := range []int{1, 0} { // there, and back
			next := begin(now, 1-now)
			announced(t, p, store, layouts[now])
			for i, q := range running { // rolling
				time.Sleep(rand.N(30 * time.Millisecond))
				end := q.Finish
				if i%2 == 0 {
					end = q.Kill
				}
				if err := end(); err != nil {
					t.Error(err)
				}
				for _, q := range next {
					if i+1 < len(running) && q.Count() > 0 {
						t.Fatalf("it did not wait for the last process of the other layout: %s", q)
					}
				}
			}
			for i := range 2 { // kill -9 while they wait and begin
				if err := killAtRandom(next[i]); err != nil {
					t.Error(err)
				}
			}
			running = next[2:]
			issue(running)
			generations = append(generations, next)
			o.Layout, o.Former = layouts[1-now].String(), ""
			late := MustStart(t, o)
			Eventually(t, "a refusal", func() bool { return late.HasEnded() }, late)
			if notes := late.Noted(Refused); len(notes) != 1 || !strings.Contains(notes[0].Err, lease.ErrLayout.Error()) {
				t.Errorf("a process of the other layout: %s", late)
			}
		}
		for _, q := range running {
			if err := q.Finish(); err != nil {
				t.Error(err)
			}
		}
		last := snowflake.ID(0)
		for n, processes := range generations {
			c := TakeCensus(processes)
			for _, err := range c.errs {
				t.Error(err)
			}
			slices.SortFunc(c.spans, func(a, b span) int { return int(a.first - b.first) })
			for _, s := range c.spans {
				if s.first <= last {
					t.Fatalf("generation %d: ID %d of process %d is not above %d", n, s.first, s.by, last)
				}
				last = s.last
			}
			t.Logf("generation %d: %d IDs, %d takeovers, up to %d", n, c.IDs, c.Takeovers, last)
		}
	})
}

// announced makes an announcement that is an hour old, so that every replica knows it.
func announced(t *testing.T, p place, store *sqllease.Store, layout snowflake.Layout) {
	t.Helper()
	ready, err := store.Announce(t.Context(), lease.DefaultNamespace, layout)
	if err != nil {
		t.Fatal(err)
	}
	db, err := sql.Open(p.Driver, p.DSN)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	since := ready
	if p.Kind != "sqlite" {
		since = ready.Add(-time.Hour)
	}
	milli := func(at time.Time) string { return `"since":` + strconv.FormatInt(at.UnixMilli(), 10) }
	query := "UPDATE snowflake_leases SET version = REPLACE(version, '" + milli(since) + "', '" + milli(since.Add(-time.Hour)) + "') " +
		"WHERE namespace = '" + lease.DefaultNamespace + "' AND worker = -1" // by the key, or it would lock the rows of all workers
	if _, err := db.ExecContext(t.Context(), query); err != nil {
		t.Fatal(err)
	}
}
