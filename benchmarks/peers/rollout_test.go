package main

import (
	"database/sql"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/sqlflake/sqlflake/internal/testdb"
	"github.com/sqlflake/sqlflake/snowflake"
)

// rollout is a table that four processes write, and those processes.
type rollout struct {
	old, layout string
	dsn         string
	db          *sql.DB
	running     [4]*writer
	seen        int64 // the greatest worker
}

func newRollout(t *testing.T, old, layout string) *rollout {
	t.Helper()
	target := testdb.Postgres(t)
	r := &rollout{old: old, layout: layout, dsn: target.DSN, db: target.Open(t)}
	const tables = `CREATE TABLE orders (id bigint PRIMARY KEY, slot int, generation int, n int);
		CREATE TABLE starts (slot int, generation int, greatest bigint)` // of processes of ours

	if _, err := r.db.ExecContext(t.Context(), tables); err != nil {
		t.Fatal(err)
	}

	return r
}

// start starts a process in the place of the one that has ended.
func (r *rollout) start(t *testing.T, slot int, o order) *writer {
	t.Helper()
	o.DSN, o.Slot = r.dsn, slot
	if before := r.running[slot]; before != nil {
		o.Generation = before.o.Generation + 1
	}
	r.running[slot] = startWriter(t, o)
	return r.running[slot]
}

// oldOne has the number of its place, from 1 on.
func (r *rollout) oldOne(slot int) order { return order{Library: r.old, Node: slot + 1} }

// oneOfOurs has the same layout, and leases one of five workers beyond those that the table has seen. The window is
// short, so that the workers of killed processes are taken over.
func (r *rollout) oneOfOurs() order {
	return order{Layout: r.layout, First: r.seen + 1, Last: r.seen + 5, Window: 200 * time.Millisecond}
}

// look finds the greatest worker that the table has seen.
func (r *rollout) look(t *testing.T) {
	t.Helper()
	layout, err := snowflake.ParseLayout(r.layout)
	must(t, err)

	rows, err := r.db.QueryContext(t.Context(), "SELECT id FROM orders")
	must(t, err)
	defer rows.Close()

	for rows.Next() {
		var id snowflake.ID
		must(t, rows.Scan(&id))

		worker, err := layout.Field(id, layout.WorkerField())
		must(t, err)

		r.seen = max(r.seen, worker)
	}

	if rows.Err() != nil || r.seen != 4 {
		t.Fatalf("the greatest worker is %d, %v", r.seen, rows.Err())
	}
}

// someRows is how many a process inserts before the next event.
func someRows() int { return batch * (1 + rand.IntN(60)) }

// A rollout from four processes of another library to leased workers, one process after the other, under load and with
// kills on both sides. The clock of one old process is ahead. In the end one place goes back to an old process, and
// then forward again with an old number.
func TestRollingTakeoverRefusesNoInsertAndKeepsTheOrder(t *testing.T) {
	for _, tt := range []struct{ old, layout string }{
		{"bwmarrin", snowflake.MustPreset("bwmarrin").String()},
		{sonyflakeV1, snowflake.MustPreset("sonyflake").String()},
	} {
		t.Run(tt.old, func(t *testing.T) {
			t.Parallel()
			r := newRollout(t, tt.old, tt.layout)
			const ahead = 500 * time.Millisecond

			for slot := range r.running {
				r.start(t, slot, r.oldOne(slot)).inserts(t, batch)
			}

			for slot, w := range r.running { // an ordinary crash: numbers as before
				w.inserts(t, someRows())
				w.kill(t)
				time.Sleep(downtime) // more than the tick, or an old process would repeat IDs
				again := r.oldOne(slot)
				if slot == 0 {
					again.Ahead = ahead
				}
				r.start(t, slot, again).inserts(t, batch)
			}

			r.look(t)
			for slot, w := range r.running {
				w.inserts(t, someRows())
				if slot%2 == 0 {
					w.kill(t)
				} else {
					w.finish(t)
				}

				for range 2 { // a takeover each
					w = r.start(t, slot, r.oneOfOurs())
					w.inserts(t, someRows())
					w.kill(t)
				}

				r.start(t, slot, r.oneOfOurs()).inserts(t, batch)
			}

			r.running[3].finish(t)
			time.Sleep(downtime)
			r.start(t, 3, r.oldOne(3)).inserts(t, someRows())
			r.running[3].finish(t)
			freed := r.oneOfOurs() // no old process will come again
			freed.First, freed.Last = 1, 4
			r.start(t, 3, freed).inserts(t, someRows())

			for _, w := range r.running {
				w.finish(t)
			}

			r.check(t)
		})
	}
}

// check looks at the order of all rows. That no ID is there twice is what the primary key says, and that no insert was
// refused what the writers say.
func (r *rollout) check(t *testing.T) {
	t.Helper()
	var rows, processes, descend, overlap, starts, below, takeovers int
	if err := r.db.QueryRowContext(t.Context(), `SELECT
		(SELECT count(*) FROM orders),
		(SELECT count(DISTINCT (slot, generation)) FROM orders),
		(SELECT count(*)
			FROM (SELECT id, lag(id) OVER (PARTITION BY slot, generation ORDER BY n) AS before FROM orders) AS o
			WHERE id <= before),
		(SELECT count(*)
			FROM (SELECT min(id) AS first, lag(max(id)) OVER (PARTITION BY slot ORDER BY generation) AS before
			FROM orders GROUP BY slot, generation) AS p WHERE first <= before),
		(SELECT count(*) FROM starts),
		(SELECT count(*) FROM starts WHERE greatest >=
			(SELECT min(id) FROM orders WHERE (orders.slot, orders.generation) = (starts.slot, starts.generation))),
		(SELECT count(*) FROM snowflake_leases WHERE epoch > 1)`).
		Scan(&rows, &processes, &descend, &overlap, &starts, &below, &takeovers); err != nil {
		t.Fatal(err)
	}

	if takeovers == 0 {
		t.Error("no worker was taken over")
	}
	if starts != 4*3+1 || below > 0 {
		t.Errorf("%d processes of ours, of which %d begin below the greatest ID of the table", starts, below)
	}
	if descend > 0 || overlap > 0 || processes != 4*5+2 {
		t.Errorf("%d rows of %d processes: %d do not ascend, %d processes begin below their predecessor",
			rows, processes, descend, overlap)
	}
}
