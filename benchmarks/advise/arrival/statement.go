package arrival

import (
	"cmp"
	"math"
	"slices"
	"time"
)

// Durations on the database server, in nanoseconds. With them the models agree with PostgreSQL and MariaDB on two cores
// within about 10 percent; other values change sizes by a few percent.
const (
	sendTime  = 100e3 // from drawing the keys until the first row is inserted, on average
	rowTime   = 5e3   // added to it for each row of the statement; also the time to insert a row
	sliceTime = 3e6   // after which a core turns to a statement that waits
)

// statement is a batch of which some rows are not yet inserted.
type statement struct {
	w     *worker
	rows  []Row
	ready float64 // when the server can continue with it
}

// core executes a statement.
type core struct {
	statement
	now, until float64 // its time, and the end of its slice
}

// statements simulates workers that write each batch in one statement. The times vary at random.
func (s *simulation) statements() {
	period := float64(time.Second) * float64(s.Workers*s.Batch) / s.Rate // between two batches of a worker
	send := sendTime + rowTime*float64(s.Batch)
	left := s.Rows
	var waiting []statement
	draw := func(w *worker) {
		n := min(s.Batch, left)
		if n == 0 {
			return
		}
		left -= n
		st := statement{w: w, ready: w.next + send*(0.5+s.random.ExpFloat64()/2) + s.lag()}
		for range n {
			st.rows = append(st.rows, w.draw(int64(w.next), s.random.Uint64()))
		}
		waiting = append(waiting, st)
	}
	for i := range s.workers { // not all at the same time
		s.workers[i].next = s.random.Float64() * period
		draw(&s.workers[i])
	}
	all := make([]core, s.Cores)
	earlier := func(a, b statement) int { return cmp.Compare(a.ready, b.ready) }
	for len(s.rows) < s.Rows {
		c := &all[0]
		for i := range all {
			if all[i].now < c.now {
				c = &all[i]
			}
		}
		if len(c.rows) == 0 {
			if len(waiting) == 0 { // the others have the last statements
				c.now = math.Inf(1)
				continue
			}
			slices.SortStableFunc(waiting, earlier)
			c.statement, waiting = waiting[0], waiting[1:]
			c.now = max(c.now, c.ready)
			c.until = c.now + sliceTime
			continue // another core may be earlier now
		}
		c.rows[0].at = int64(c.now)
		s.rows = append(s.rows, c.rows[0])
		c.rows = c.rows[1:]
		c.now += rowTime * s.vary()
		switch {
		case len(c.rows) == 0:
			c.w.next = max(c.w.next+period*s.vary(), c.now)
			draw(c.w)
		case c.now > c.until:
			c.ready = c.now
			waiting = append(waiting, c.statement)
			c.rows = nil
		}
	}
}
