package partition_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sqlflake/sqlflake/sqltypes/partition"
)

const eventsWithTrigger = `CREATE TABLE events (gone int, id bigint PRIMARY KEY, n int NOT NULL DEFAULT 0,
	twice int GENERATED ALWAYS AS (n * 2) STORED, seq bigint GENERATED ALWAYS AS IDENTITY) PARTITION BY RANGE (id);
ALTER TABLE events DROP COLUMN gone;
CREATE TABLE deleted (id bigint);
CREATE FUNCTION note() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN INSERT INTO deleted VALUES (OLD.id); RETURN OLD; END $$;
CREATE TRIGGER note BEFORE DELETE ON events FOR EACH ROW EXECUTE FUNCTION note()`

// Rows in the default partition prevent the partition of their time, are reported, and are moved beside readers and writers, who
// find each row at any time.
func TestPostgresMoveDefaultHidesAndLosesNothing(t *testing.T) {
	t.Parallel()
	e := newEvents(t, eventsWithTrigger)
	e.maintain(e.set(partition.WithDefault()))
	e.exec("ALTER TABLE events_default ENABLE ALWAYS TRIGGER note")
	e.insert(e.day(-3), e.day(8), time.Hour)
	s := e.set(partition.WithDefault(), partition.WithAhead(7))
	e.fails(s, partition.ErrBlocked, e.partition(4), "MoveDefault")
	var all struct {
		sync.Mutex
		ids []int64
	}
	for at := e.day(-3); at.Before(e.day(8)); at = at.Add(time.Hour) {
		all.ids = append(all.ids, int64(idAt(at)))
	}
	var inserted atomic.Int64
	inserted.Store(int64(len(all.ids)))
	ctx, cancel := context.WithCancel(t.Context())
	var group sync.WaitGroup
	loop := func(f func() error) {
		group.Go(func() {
			for ctx.Err() == nil {
				if err := f(); err != nil && ctx.Err() == nil {
					t.Error(err)
					return
				}
			}
		})
	}
	var updates atomic.Int64
	for range 2 {
		loop(func() error {
			if inserted.Load() >= 1000 { // or a slow MoveDefault would never be done
				<-ctx.Done()
				return nil
			}
			id := int64(idAt(e.day(-3))) + rand.Int64N(int64(idAt(e.day(8)))-int64(idAt(e.day(-3))))
			if _, err := e.ExecContext(ctx, "INSERT INTO events (id) VALUES ($1)", id); err != nil {
				return err
			}
			inserted.Add(1)
			all.Lock()
			all.ids = append(all.ids, id)
			all.Unlock()
			return nil
		})
		loop(func() error {
			all.Lock()
			id := all.ids[rand.IntN(len(all.ids))]
			all.Unlock()
			result, err := e.ExecContext(ctx, "UPDATE events SET n = n + 1 WHERE id = $1", id)
			if err != nil {
				return err
			}
			updates.Add(1)
			if n, err := result.RowsAffected(); err != nil || n != 1 {
				return fmt.Errorf("%d rows with the key %d: %w", n, id, err)
			}
			return nil
		})
		loop(func() error {
			before, n, different := inserted.Load(), int64(0), int64(0)
			err := e.QueryRowContext(ctx, "SELECT count(*), count(DISTINCT id) FROM events").Scan(&n, &different)
			if err == nil && (n < before || n != different) {
				return fmt.Errorf("a reader found %d rows, %d different ones, of %d", n, different, before)
			}
			return err
		})
	}
	moved, err := s.MoveDefault(e.limit(), e.DB, 20)
	e.ok(err)
	e.maintain(s)
	cancel()
	group.Wait()
	if moved < 7*24 || e.count("SELECT count(*) FROM events_default") != 0 || e.count("SELECT count(*) FROM deleted") != 0 {
		t.Errorf("%d rows moved, %d stayed, %d deleted", moved, e.count("SELECT count(*) FROM events_default"), e.count("SELECT count(*) FROM deleted"))
	}
	if n := e.count("SELECT count(*) FROM events"); n < len(all.ids) {
		t.Errorf("%d rows, want %d", n, len(all.ids))
	}
	if n := e.count("SELECT coalesce(sum(n), 0) FROM events"); n < int(updates.Load())-1 {
		t.Errorf("%d updates are left of %d", n, updates.Load())
	}
	e.same(e.texts("SELECT DISTINCT tgenabled::text FROM pg_trigger WHERE tgrelid = 'events_default'::regclass AND tgname = 'note'"), "A")
	// A day with more rows than a batch has several partitions; the retention counts their bounds.
	second := e.partition(-2) + "_2"
	e.hasTable(second, true)
	e.maintain(e.set(partition.WithDefault(), partition.WithRetain(1)))
	if got := e.tables(); slices.Contains(got, second) || slices.Contains(got, e.partition(-2)) || !slices.Contains(got, e.partition(-1)) {
		t.Errorf("the tables are %q", got)
	}
	t.Logf("%d rows moved beside %d inserts and %d updates", moved, inserted.Load(), updates.Load())
}

func TestPostgresMoveDefaultLeavesWhatHasNoPartition(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name    string
		id      func(e *events) int64
		options []partition.Option
	}{
		{"negative", func(*events) int64 { return -5 }, nil},
		{"after the layout", func(*events) int64 { return 1<<63 - 1 }, nil},
		{"beyond the retention", func(e *events) int64 { return int64(idAt(e.day(-9))) }, []partition.Option{partition.WithRetain(5)}},
		{"before the start", func(e *events) int64 { return 17 }, []partition.Option{partition.WithStart(time.Now())}},
	} {
		t.Run(c.name, func(t *testing.T) {
			e := newEvents(t, eventsTable)
			s := e.set(append(c.options, partition.WithDefault())...)
			e.maintain(s)
			e.exec("INSERT INTO events (id) VALUES ($1), ($2)", c.id(e), idAt(e.day(5)))
			moved, err := s.MoveDefault(e.limit(), e.DB, 10)
			if moved != 1 || !errors.Is(err, partition.ErrBlocked) || !strings.Contains(err.Error(), strconv.FormatInt(c.id(e), 10)) {
				t.Errorf("%d rows moved, the error is %v", moved, err)
			}
			e.counts(int(c.id(e)), "SELECT id FROM events_default")
		})
	}
}

// ON DELETE CASCADE would delete what refers to a row that is moved.
func TestPostgresMoveDefaultRefusesRowsThatOthersReferTo(t *testing.T) {
	e := newEvents(t, eventsTable+"; CREATE TABLE notes (event bigint REFERENCES events ON DELETE CASCADE)")
	s := e.set(partition.WithDefault())
	e.maintain(s)
	e.exec("INSERT INTO events (id) VALUES ($1)", idAt(e.day(5)))
	e.exec("INSERT INTO notes VALUES ($1)", idAt(e.day(5)))
	moved, err := s.MoveDefault(e.limit(), e.DB, 10)
	if moved != 0 || !errors.Is(err, partition.ErrTable) || !strings.Contains(err.Error(), "of notes") {
		t.Errorf("%d rows moved, the error is %v", moved, err)
	}
	e.counts(1, "SELECT count(*) FROM notes JOIN events_default ON id = event")
	if _, err := s.MoveDefault(t.Context(), e.DB, 0); !errors.Is(err, partition.ErrOption) {
		t.Errorf("the error is %v", err)
	}
}

// A transaction that writes to a table which a foreign key refers to delays a move before the readers of the table wait.
func TestPostgresMoveDefaultWaitsForReferredTablesFirst(t *testing.T) {
	t.Parallel()
	e := newEvents(t, `CREATE TABLE users (id bigint PRIMARY KEY);
CREATE TABLE events (id bigint PRIMARY KEY, "user" bigint REFERENCES users) PARTITION BY RANGE (id)`)
	e.maintain(e.set(partition.WithDefault()))
	e.exec("INSERT INTO events (id) VALUES ($1)", idAt(e.day(5)))
	end := e.hold("INSERT INTO users VALUES (1)")
	done := make(chan error, 1)
	go func() {
		_, err := e.set(partition.WithDefault(), partition.WithLockTimeout(time.Minute)).MoveDefault(e.limit(), e.DB, 10)
		done <- err
	}()
	e.waitFor("SELECT count(*) FROM pg_locks WHERE relation = 'users'::regclass AND NOT granted")
	e.counts(0, "SELECT count(*) FROM pg_locks WHERE relation = 'events'::regclass AND mode = 'AccessExclusiveLock'")
	end()
	e.ok(<-done)
	e.counts(0, "SELECT count(*) FROM events_default")
}
