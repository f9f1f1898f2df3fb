package processtest

import (
	"encoding/binary"
	"log/slog"
	"slices"
	"testing"
	"time"

	"github.com/sqlflake/sqlflake/snowflake"
	"github.com/sqlflake/sqlflake/snowflake/lease"
)

// TestABackfillBesideLiveProcessesRepeatsNoID makes IDs for the very times at which four processes, of which each is
// killed and followed by another, issue theirs.
func TestABackfillBesideLiveProcessesRepeatsNoID(t *testing.T) {
	t.Parallel()
	eachPlace(t, func(t *testing.T, p place) {
		const reserved = 3
		ctx, store := t.Context(), p.store(t)
		l := openPatiently(t, func() (*lease.Lease, error) {
			return lease.Open(ctx, store, lease.WithWorkers(0, 5), lease.WithLogger(slog.New(slog.DiscardHandler)))
		})
		if err := l.Reserve(ctx, reserved, "orders"); err != nil {
			t.Fatal(err)
		}
		if err := l.Close(ctx); err != nil {
			t.Fatal(err)
		}
		b, err := snowflake.NewBackfill(reserved, snowflake.WithClock(lateClock{-time.Hour}))
		if err != nil {
			t.Fatal(err)
		}
		o := Order{Place: p.String(), First: 0, Last: 5, Window: 200 * time.Millisecond}
		old := &Process{Ended: make(chan struct{})}
		close(old.Ended)
		begin := time.Now()
		fill := func() {
			for range 20_000 {
				id, err := b.Next(time.Now())
				if err != nil {
					t.Fatal(err)
				}
				old.ids.add(binary.LittleEndian.AppendUint64(nil, uint64(id)))
			}
		}
		all := []*Process{old}
		for range 4 {
			all = append(all, MustStart(t, o))
		}
		for i := 1; i <= 4; i++ {
			if err := all[i].AwaitID(); err != nil {
				t.Fatal(err)
			}
			fill()
			if err := all[i].Kill(); err != nil {
				t.Fatal(err)
			}
			all = append(all, MustStart(t, o))
		}
		for _, q := range all[5:] {
			if err := q.AwaitID(); err != nil {
				t.Fatal(err)
			}
		}
		Eventually(t, "an ID of a live process in a millisecond of the backfill", func() bool {
			fill()
			return mixed(all) > 0
		}, all[5:]...)
		for _, q := range all[5:] {
			if err := q.Finish(); err != nil {
				t.Fatal(err)
			}
		}
		live := TakeCensus(all[1:])
		live.Check(t, store)
		for reign := range live.reigns {
			if reign[0] == reserved {
				t.Errorf("a process got the worker %d", reserved)
			}
		}
		// Of the census of all only what it has found counts, as the backfill has no horizon.
		both := TakeCensus(all)
		slices.SortFunc(both.spans, func(a, b span) int { return int(a.first - b.first) })
		for i, s := range both.spans[1:] {
			if before := both.spans[i]; s.first <= before.last {
				t.Fatalf("ID %d came twice: from process %d and process %d", s.first, before.by, s.by)
			}
		}
		if e := Entries(t, store)[reserved]; !e.Reserved() || e.Epoch != 1 || e.Horizon != 0 {
			t.Errorf("the reserved worker is %+v", e)
		}
		t.Logf("%d IDs of rows beside %d, in %d shared milliseconds, %v", old.ids.count, live.IDs, mixed(all), time.Since(begin))
	})
}

// mixed returns how often an ID of the first process is beside one of another process with the same tick.
func mixed(all []*Process) (n int) {
	var spans []span
	for by, p := range all {
		p.mu.Lock()
		for _, s := range p.ids.spans {
			s.by = by
			spans = append(spans, s)
		}
		p.mu.Unlock()
	}
	slices.SortFunc(spans, func(a, b span) int { return int(a.first - b.first) })
	for i, s := range spans[1:] {
		if before := spans[i]; (s.by == 0) != (before.by == 0) && tickOf(s.first) == tickOf(before.last) {
			n++
		}
	}
	return n
}
