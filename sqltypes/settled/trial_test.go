package settled_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sqlflake/sqlflake/internal/testdb"
	"github.com/sqlflake/sqlflake/snowflake"
	"github.com/sqlflake/sqlflake/sqltypes/settled"
)

// trial is a schedule of writers.
type trial struct {
	begin    string // of a transaction
	drawLate bool   // the IDs are issued after begin
	margin   time.Duration
	long     time.Duration // how long one in eight transactions lasts, at most
}

func TestReaderMissesNoRow(t *testing.T) {
	testdb.Each(t, func(t *testing.T, target testdb.Target) {
		t.Parallel()
		trials := map[string]trial{
			// The transactions are longer than the margin, so they are what counts.
			"postgres": {"BEGIN", true, 200 * time.Millisecond, 1200 * time.Millisecond},
			"mariadb":  {"START TRANSACTION WITH CONSISTENT SNAPSHOT", true, 200 * time.Millisecond, 1200 * time.Millisecond},
			// The IDs are older than the write lock, by less than the margin.
			"sqlite": {"BEGIN", false, 4 * time.Second, 50 * time.Millisecond},
		}
		target.DSN = strings.Replace(target.DSN, "_busy_timeout=10000", "_busy_timeout=1000", 1)
		trials[target.Name].run(t, target)
	})
}

func (tr trial) run(t *testing.T, target testdb.Target) {
	const writers = 6
	transactions := 15
	if os.Getenv("SNOWFLAKE_TEST_LONG") == "1" {
		transactions = 100
	}
	db := target.Open(t)
	exec(t, db, "CREATE TABLE events (id bigint PRIMARY KEY)")
	var written, seen []snowflake.ID
	var mu sync.Mutex
	var writing, reading sync.WaitGroup
	for worker := range writers {
		conn, gen := session(t, db), newGenerator(t, int64(worker))
		writing.Go(func() {
			for range transactions {
				ids, err := tr.transact(t.Context(), conn, gen)
				if err != nil {
					t.Error(err)
					return
				}
				mu.Lock()
				written = append(written, ids...)
				mu.Unlock()
			}
		})
	}
	read := func() (settled.Bound, error) {
		return settled.Read(t.Context(), db, dialectOf(target), snowflake.Default(), settled.WithMargin(tr.margin))
	}
	ctx, stop := context.WithCancel(t.Context())
	reading.Go(func() {
		for ctx.Err() == nil {
			time.Sleep(10 * time.Millisecond)
			bound, err := read()
			if err == nil {
				seen, err = follow(t.Context(), db, seen, bound)
			}
			// Other tests may read the lists of the server all the time.
			if err != nil && !isLocked(err) && !errors.Is(err, settled.ErrUnknown) {
				t.Error(err)
				return
			}
		}
	})
	writing.Wait()
	stop()
	reading.Wait()
	if t.Failed() {
		return
	}
	slices.Sort(written)
	early := len(seen)
	seen, err := follow(t.Context(), db, seen, passes(t, written[len(written)-1], read))
	if err != nil || !slices.Equal(seen, written) {
		t.Errorf("%d of %d rows were read, %v", len(seen), len(written), err)
	}
	if early == 0 && tr.drawLate { // the other margin is longer than the trial
		t.Error("no row was read while others were written: the trial shows nothing")
	}
}

// transact inserts some rows in a transaction, which commits late or rolls back, and returns the IDs that it has
// committed.
func (tr trial) transact(ctx context.Context, conn *sql.Conn, gen *snowflake.Generator) ([]snowflake.ID, error) {
	ids := make([]snowflake.ID, 1+rand.N(8))
	drawn := time.Now()
	if !tr.drawLate {
		if err := gen.Fill(ctx, ids); err != nil {
			return nil, err
		}
	}
	if _, err := conn.ExecContext(ctx, tr.begin); err != nil {
		return nil, err
	}
	if tr.drawLate {
		if err := gen.Fill(ctx, ids); err != nil {
			return nil, err
		}
	}
	end := "COMMIT"
	if rand.N(10) == 0 {
		end, ids = "ROLLBACK", ids[:0]
	}
	pause := rand.N(5 * time.Millisecond)
	if rand.N(8) == 0 {
		pause = rand.N(tr.long)
	}
	for i, id := range ids {
		if _, err := conn.ExecContext(ctx, insert(id)); err != nil {
			if isLocked(err) {
				end, ids = "ROLLBACK", nil
				break
			}
			return nil, err
		}
		if i == 0 && !tr.drawLate && time.Since(drawn) > tr.margin/2 { // it got the lock too late
			end, ids = "ROLLBACK", nil
			break
		}
		if i == len(ids)/2 {
			time.Sleep(pause)
		}
	}
	_, err := conn.ExecContext(ctx, end)
	return ids, err
}

// follow reads the rows after the last one that was seen, up to the bound.
func follow(ctx context.Context, db *sql.DB, seen []snowflake.ID, bound settled.Bound) ([]snowflake.ID, error) {
	var last snowflake.ID
	if len(seen) > 0 {
		last = seen[len(seen)-1]
	}
	rows, err := db.QueryContext(ctx, fmt.Sprintf("SELECT id FROM events WHERE id > %d AND id < %d ORDER BY id", last, bound.Below))
	if err != nil {
		return seen, err
	}
	defer rows.Close()
	for rows.Next() {
		var id snowflake.ID
		if err := rows.Scan(&id); err != nil {
			return seen, err
		}
		seen = append(seen, id)
	}
	return seen, rows.Err()
}

// isLocked reports whether SQLite's busy timeout has passed.
func isLocked(err error) bool { return strings.Contains(err.Error(), "database is locked") }
