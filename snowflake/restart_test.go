package snowflake_test

import (
	"testing"
	"time"

	"github.com/sqlflake/sqlflake/snowflake"
)

// A crash right after the greatest burst, and a restart before the clock has moved at all: the worst that can happen
// without a step of the clock.
func TestAProcessStartsAboveAllThatADeadOneCanHaveLedTo(t *testing.T) {
	for _, l := range []snowflake.Layout{snowflake.Default(), layoutOf("wide"), layoutOf("sonyflake"), layoutOf("seconds"), layoutOf("instagram")} {
		for _, lead := range []time.Duration{0, time.Millisecond, 10 * time.Millisecond, snowflake.MaxLead} {
			clock := newFakeClock(epoch2025.Add(time.Hour + 123456789))
			var last snowflake.ID
			for restart := range 50 {
				g := mustNew(t, 3, snowflake.WithLayout(l), snowflake.WithClock(clock), snowflake.WithLead(lead))
				first, err := g.Next()
				if err != nil || first <= last {
					t.Fatalf("%v, lead %v: the ID after restart %d is %d, %v, before it %d", l, lead, restart, first, err, last)
				}
				burst := (lead/l.Tick()+1)*time.Duration(l.MaxSequence()+1) - 1
				ids := fill(t, g, int(min(burst, 20_000)))
				// It might as well have issued all of the last tick that it may lead to.
				if last, err = l.Compose(snowflake.Parts{
					Time:   clock.Now().Add(lead / l.Tick() * l.Tick()),
					Worker: 3, Sequence: l.MaxSequence(),
				}); err != nil {
					t.Fatal(err)
				}
				if ids[len(ids)-1] > last {
					t.Fatalf("%v, lead %v: %d is beyond the lead, %d", l, lead, ids[len(ids)-1], last)
				}
			}
		}
	}
}
