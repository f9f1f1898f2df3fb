package processtest

import (
	"testing"
	"time"

	"github.com/sqlflake/sqlflake/snowflake/lease"
)

const cutWindow = 300 * time.Millisecond

func TestHarmedConnectionsCostNoError(t *testing.T) {
	t.Parallel()
	eachServer(t, func(t *testing.T, p place) {
		x, far := through(t, p)
		x.harm.Store(true) // also while they start: they may have to take a worker twice
		o := Order{Place: far.String(), First: 0, Last: 3, Window: cutWindow}
		processes := []*Process{MustStart(t, o), MustStart(t, o)}
		f := &x.faults
		enough := int64(Scale(1, 8))
		Eventually(t, "all kinds of harm", func() bool {
			return f.cut.Load() >= enough && f.unheard.Load() >= 2*enough && f.half.Load() >= enough &&
				f.swallowed.Load() >= enough && f.delayed.Load() >= enough
		}, processes...)
		x.gone.Store(true)
		links := x.closeAll()
		Eventually(t, "attempts while the database is gone", func() bool { return f.refused.Load() > 1 }, processes...)
		time.Sleep(2 * cutWindow) // beyond the horizon, and the expiry
		x.gone.Store(false)
		x.harm.Store(false)
		for _, q := range processes { // no call of theirs has failed
			count, extended := q.Count(), len(q.Noted(lease.Extended))
			Eventually(t, "more IDs and extensions", func() bool {
				return q.HasEnded() || q.Count() > count+100 && len(q.Noted(lease.Extended)) > extended+1
			}, q)
			if err := q.Finish(); err != nil {
				t.Error(err)
			}
		}
		TakeCensus(processes).Check(t, p.store(t))
		t.Logf("cut %d, cut before the reply about a change %d, half closed %d, swallowed %d, delayed %d, closed %d and refused %d while gone",
			f.cut.Load(), f.unheard.Load(), f.half.Load(), f.swallowed.Load(), f.delayed.Load(), links, f.refused.Load())
	})
}
