package processtest

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sqlflake/sqlflake/snowflake"
	"github.com/sqlflake/sqlflake/snowflake/lease"
	"github.com/sqlflake/sqlflake/snowflake/lease/sqllease"
)

// Processes with one layout end, every other one killed, and the namespace moves to another one, which differs in the order
// of the fields only; those with that layout follow. One of the old layout starts after it. Then the same way back.
func TestProcessesThatFollowAMoveNeverRepeatAnIDAndKeepTheOrder(t *testing.T) {
	t.Parallel()
	const each = 6
	layouts := []snowflake.Layout{snowflake.Default(), snowflake.MustLayout(snowflake.Default().Epoch(), time.Millisecond,
		snowflake.Field{Name: "time", Bits: 41}, snowflake.Field{Name: "sequence", Bits: 12}, snowflake.Field{Name: "worker", Bits: 10})}
	eachDatabase(t, func(t *testing.T, p place) {
		o := Order{Place: p.String(), First: 0, Last: 2*each - 1, Window: 3 * time.Second, Pace: time.Millisecond}
		store := p.store(t).(*sqllease.Store)
		begin := func(layout snowflake.Layout) (started []*Process) {
			o.Layout = layout.String()
			for range each {
				started = append(started, MustStart(t, o))
			}
			for _, q := range started {
				Eventually(t, "an ID", func() bool { return q.Count() > 0 || q.HasEnded() }, q)
				if q.HasEnded() {
					t.Fatalf("ended: %s", q)
				}
			}
			return started
		}

		generations := [][]*Process{begin(layouts[0])}
		for n, now := range []int{1, 0} { // there, and back
			var held *sqllease.HeldError
			if _, err := store.Move(t.Context(), lease.DefaultNamespace, layouts[now]); !errors.As(err, &held) {
				t.Errorf("a move while processes run: %v, want a *HeldError", err)
			}
			for i, q := range generations[n] {
				end := q.Finish
				if i%2 == 0 {
					end = q.Kill
				}
				if err := end(); err != nil {
					t.Error(err)
				}
			}
			Eventually(t, "the move, when the leases of the killed have ended", func() bool {
				_, err := store.Move(t.Context(), lease.DefaultNamespace, layouts[now])
				if err != nil && !errors.As(err, &held) {
					t.Fatal(err)
				}
				return err == nil
			})
			generations = append(generations, begin(layouts[now]))
			o.Layout = layouts[1-now].String()
			late := MustStart(t, o)
			Eventually(t, "a refusal", func() bool { return late.HasEnded() }, late)
			if notes := late.Noted(Refused); len(notes) != 1 || !strings.Contains(notes[0].Err, lease.ErrLayout.Error()) {
				t.Errorf("a process of the other layout: %s", late)
			}
		}
		for _, q := range generations[2] {
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
