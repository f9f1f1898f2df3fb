package redislease_test

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"slices"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/sqlflake/sqlflake/snowflake"
	"github.com/sqlflake/sqlflake/snowflake/lease"
	"github.com/sqlflake/sqlflake/snowflake/lease/redislease"
)

// span is a run of IDs without a gap, both ends included.
type span struct {
	first, last snowflake.ID
	by          int // the process
}

// record has all IDs that a process has printed, in spans: a busy generator uses
// up whole ticks, so these are a thousand times fewer.
type record struct {
	spans []span
	count int
	last  snowflake.ID
	err   error // the first ID that was not above the one before
}

// add takes whole IDs in the form in which issuers write them.
func (r *record) add(text []byte) {
	for ; len(text) > 0; text = text[idBytes:] {
		id := snowflake.ID(binary.LittleEndian.Uint64(text))
		if id <= r.last && r.err == nil {
			r.err = fmt.Errorf("ID %d came after %d", id, r.last)
		}
		r.count++
		if n := len(r.spans); n > 0 && id == r.last+1 {
			r.spans[n-1].last = id
		} else {
			r.spans = append(r.spans, span{first: id, last: id})
		}
		r.last = id
	}
}

// census is the set of the IDs that all processes have ever printed.
type census struct {
	spans     []span
	ids       int
	processes int
	workers   map[int64]bool
	notes     map[string]int
	takeovers int
	reigns    map[[2]int64]int // by worker and epoch: the process
	errs      []error
}

func takeCensus(processes []*process) *census {
	c := &census{workers: map[int64]bool{}, notes: map[string]int{}, reigns: map[[2]int64]int{}}
	for by, p := range processes {
		c.add(by, p)
	}
	return c
}

func (c *census) add(by int, p *process) {
	<-p.ended
	c.processes++
	c.ids += p.ids.count
	for _, err := range []error{p.ids.err, p.err} {
		if err != nil {
			c.errs = append(c.errs, fmt.Errorf("process %d: %w", by, err))
		}
	}
	for _, s := range p.ids.spans {
		s.by = by
		c.spans = append(c.spans, s)
	}
	var horizon int64
	for _, n := range p.notes {
		c.notes[n.Kind]++
		switch n.Kind {
		case string(lease.Acquired):
			c.acquired(by, n)
			horizon = 0
			fallthrough
		case string(lease.Extended):
			if n.Horizon < horizon {
				c.errs = append(c.errs, fmt.Errorf("process %d: the horizon %d comes after %d", by, n.Horizon, horizon))
			}
			horizon = n.Horizon
		}
	}
}

func (c *census) acquired(by int, n note) {
	c.workers[n.Worker] = true
	if n.Epoch > 1 {
		c.takeovers++
	}
	reign := [2]int64{n.Worker, n.Epoch}
	if other, ok := c.reigns[reign]; ok {
		c.errs = append(c.errs, fmt.Errorf("processes %d and %d both had worker %d under epoch %d", other, by, n.Worker, n.Epoch))
	}
	c.reigns[reign] = by
}

// check fails the test if an ID came twice, was out of order within its process,
// or is at or above the horizon that the store has at the end.
func (c *census) check(t *testing.T, addr, prefix string) {
	t.Helper()
	horizons := storedHorizons(t, addr, prefix)
	if c.ids == 0 {
		t.Error("no IDs at all")
	}
	for _, err := range c.errs {
		t.Error(err)
	}
	slices.SortFunc(c.spans, func(a, b span) int { return cmp.Compare(a.first, b.first) })
	layout := snowflake.Default()
	var before span
	for _, s := range c.spans {
		if s.first <= before.last {
			t.Fatalf("ID %d (%v) came twice: from process %d and process %d",
				s.first, layout.Decompose(s.first), before.by, s.by)
		}
		before = s
		worker := layout.Decompose(s.last).Worker
		if horizon := horizons[worker]; tickOf(s.last) >= horizon {
			t.Fatalf("process %d: ID %d (%v) has tick %d, the store's horizon is %d",
				s.by, s.last, layout.Decompose(s.last), tickOf(s.last), horizon)
		}
	}
	t.Logf("%d IDs of %d processes under %d workers and %d epochs, %d takeovers, notes %v",
		c.ids, c.processes, len(c.workers), len(c.reigns), c.takeovers, c.notes)
}

func tickOf(id snowflake.ID) int64 {
	layout := snowflake.Default()
	return int64(layout.Time(id).Sub(layout.Epoch()) / layout.Tick())
}

// storedHorizons returns what Redis has at the end, by worker.
func storedHorizons(t *testing.T, addr, prefix string) map[int64]int64 {
	t.Helper()
	client := redis.NewClient(&redis.Options{Addr: addr})
	defer func() { _ = client.Close() }()
	rows, err := open(t, client, redislease.WithPrefix(prefix)).List(t.Context(), lease.DefaultNamespace)
	if err != nil {
		t.Fatal(err)
	}
	horizons := make(map[int64]int64, len(rows))
	for _, row := range rows {
		horizons[row.Worker] = row.Horizon
	}
	return horizons
}
