package settled_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sqlflake/sqlflake/contrib/settled"
	"github.com/sqlflake/sqlflake/internal/testdb"
	"github.com/sqlflake/sqlflake/snowflake"
)

func TestReaderMissesNoRow(t *testing.T) {
	const snapshot = "START TRANSACTION WITH CONSISTENT SNAPSHOT"
	parts, err := snowflake.ParseLayout("epoch=2025-01-01T00:00:00Z tick=1ms time:33 worker:10 time:8 sequence:12") // periods of 256 ms
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		open   func(testing.TB) testdb.Target
		begin  string
		layout snowflake.Layout
	}{
		"postgres": {testdb.Postgres, "BEGIN", snowflake.Default()},
		"mariadb":  {testdb.MariaDB, snapshot, snowflake.Default()},
		"parts":    {testdb.MariaDB, snapshot, parts},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			testTrial(t, c.open(t), c.begin, c.layout)
		})
	}
}

// testTrial follows a table while transactions write to it. They are longer than the margin, so they are what counts. On a
// slow machine there are more of them, until a row has been read beside them.
func testTrial(t *testing.T, target testdb.Target, begin string, layout snowflake.Layout) {
	const writers, transactions = 6, 15
	db := target.Open(t)
	exec(t, db, "CREATE TABLE events (id bigint PRIMARY KEY)")
	var written, seen []snowflake.ID
	var found atomic.Bool
	var mu sync.Mutex
	var writing, reading sync.WaitGroup
	for worker := range writers {
		conn, gen := session(t, db), newGenerator(t, int64(worker), snowflake.WithLayout(layout))
		writing.Go(func() {
			for n := 0; n < transactions || n < 100*transactions && !found.Load(); n++ {
				ids, err := transact(t.Context(), conn, gen, begin)
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
		return settled.Read(t.Context(), db, dialectOf(target), layout, settled.WithMargin(200*time.Millisecond))
	}
	ctx, stop := context.WithCancel(t.Context())
	reading.Go(func() {
		for ctx.Err() == nil {
			time.Sleep(10 * time.Millisecond)
			bound, err := read()
			if err == nil {
				seen, err = follow(t.Context(), db, seen, bound)
				found.Store(found.Load() || len(seen) > 0)
			}
			if err != nil && !errors.Is(err, settled.ErrUnknown) { // other tests may read the lists of the server all the time
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
	if len(seen) == 0 {
		t.Error("no row was read while others were written: the trial shows nothing")
	}
	slices.Sort(written)
	seen, err := follow(t.Context(), db, seen, passes(t, written[len(written)-1], read))
	if err != nil || !slices.Equal(seen, written) {
		t.Errorf("%d of %d rows were read, %v", len(seen), len(written), err)
	}
}

// transact inserts some rows in a transaction, which commits late or rolls back, and returns the IDs that it has
// committed.
func transact(ctx context.Context, conn *sql.Conn, gen *snowflake.Generator, begin string) ([]snowflake.ID, error) {
	if _, err := conn.ExecContext(ctx, begin); err != nil {
		return nil, err
	}
	ids := make([]snowflake.ID, 1+rand.N(8))
	if err := gen.Fill(ctx, ids); err != nil {
		return nil, err
	}
	pause := rand.N(5 * time.Millisecond)
	if rand.N(8) == 0 {
		pause = rand.N(1200 * time.Millisecond)
	}
	for i, id := range ids {
		if _, err := conn.ExecContext(ctx, insert(id)); err != nil {
			return nil, err
		}
		if i == len(ids)/2 {
			time.Sleep(pause)
		}
	}
	if rand.N(10) == 0 {
		_, err := conn.ExecContext(ctx, "ROLLBACK")
		return nil, err
	}
	_, err := conn.ExecContext(ctx, "COMMIT")
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
