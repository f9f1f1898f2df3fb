package partition_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sqlflake/sqlflake/sqltypes/partition"
)

const eventsWithTrigger = `CREATE TABLE events (gone int, id bigint PRIMARY KEY, body text, n int NOT NULL DEFAULT 0,
	twice int GENERATED ALWAYS AS (n * 2) STORED, seq bigint GENERATED ALWAYS AS IDENTITY) PARTITION BY RANGE (id);
ALTER TABLE events DROP COLUMN gone;
CREATE TABLE deleted (id bigint);
CREATE FUNCTION note() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN INSERT INTO deleted VALUES (OLD.id); RETURN OLD; END $$;
CREATE TRIGGER note BEFORE DELETE ON events FOR EACH ROW EXECUTE FUNCTION note()`

// Rows in the default partition prevent the partition of their time, are reported, and are moved beside readers and writers, who
// find each row at any time.
func TestPostgresMoveDefaultHidesAndLosesNothing(t *testing.T) {
	t.Parallel()
	e := onPostgres(t, eventsWithTrigger)
	e.maintain(e.set(partition.WithDefault()))
	e.exec("ALTER TABLE events_default ENABLE ALWAYS TRIGGER note")
	e.insert(day(-3), day(8), time.Hour)
	s := e.set(partition.WithDefault(), partition.WithAhead(7))
	e.fails(s, partition.ErrBlocked, dayName(4), "MoveDefault")
	const begin = 11 * 24
	row := func() int64 { return int64(idAt(day(-3).Add(time.Duration(rand.IntN(begin)) * time.Hour))) } // one that there is
	var inserts, updates atomic.Int64
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
	for range 2 {
		loop(func() error {
			if inserts.Load() >= 700 { // or a slow MoveDefault would never be done
				<-ctx.Done()
				return nil
			}
			_, err := e.ExecContext(ctx, "INSERT INTO events (id) VALUES ($1)", row()+1+rand.Int64N(int64(time.Hour)))
			if err == nil {
				inserts.Add(1)
			}
			return err
		})
		loop(func() error {
			id := row()
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
			before, n, different := begin+inserts.Load(), int64(0), int64(0)
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
	if moved < 7*24 {
		t.Errorf("%d rows moved", moved)
	}
	e.rows("events_default", 0)
	e.rows("deleted", 0)
	if n, sum := e.count("SELECT count(*) FROM events"), e.count("SELECT sum(n) FROM events"); n < begin+int(inserts.Load()) || sum < int(updates.Load())-1 {
		t.Errorf("%d rows and %d updates are left, want %d and %d", n, sum, begin+inserts.Load(), updates.Load())
	}
	e.same(e.texts("SELECT DISTINCT tgenabled::text FROM pg_trigger WHERE tgrelid = 'events_default'::regclass AND tgname = 'note'"), "A")
	// A day with more rows than a batch has several partitions; the retention counts their bounds.
	second := dayName(-2) + "_2"
	e.hasTable(second, true)
	e.maintain(e.set(partition.WithDefault(), partition.WithRetain(1)))
	e.hasTable(second, false)
	e.hasTable(dayName(-2), false)
	e.hasTable(dayName(-1), true)
	t.Logf("%d rows moved beside %d inserts and %d updates", moved, inserts.Load(), updates.Load())
}

func TestPostgresMoveDefaultLeavesWhatHasNoPartition(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		id     int64
		option partition.Option
	}{
		"negative":             {-5, partition.WithAhead(3)},
		"after the layout":     {1<<63 - 1, partition.WithAhead(3)},
		"beyond the retention": {int64(idAt(day(-9))), partition.WithRetain(5)},
		"before the start":     {17, partition.WithStart(noon)},
	} {
		e := onPostgres(t, eventsTable)
		s := e.set(c.option, partition.WithDefault())
		e.maintain(s)
		e.exec("INSERT INTO events (id) VALUES ($1), ($2)", c.id, idAt(day(5)))
		moved, err := s.MoveDefault(e.limit(), e.DB, 10)
		if e.is(err, partition.ErrBlocked, strconv.FormatInt(c.id, 10)); moved != 1 {
			t.Errorf("%s: %d rows moved", name, moved)
		}
		e.counts(int(c.id), "SELECT id FROM events_default")
	}
}

// ON DELETE CASCADE would delete what refers to a row that is moved.
func TestPostgresMoveDefaultRefusesRowsThatOthersReferTo(t *testing.T) {
	e := onPostgres(t, eventsTable+"; CREATE TABLE notes (event bigint REFERENCES events ON DELETE CASCADE)")
	s := e.set(partition.WithDefault(), partition.WithPatience(time.Second))
	e.maintain(s)
	e.exec(fmt.Sprintf("INSERT INTO events VALUES (%d);\nINSERT INTO notes VALUES (%[1]d)", idAt(day(5))))
	end := e.hold("SELECT * FROM notes") // whose reader has not to be waited for
	_, err := s.MoveDefault(e.limit(), e.DB, 10)
	e.is(err, partition.ErrTable, "of notes")
	end()
	e.rows("notes JOIN events_default ON id = event", 1)
	_, err = s.MoveDefault(t.Context(), e.DB, 0)
	e.is(err, partition.ErrOption)
}

// A transaction that writes to a table which a foreign key refers to delays a move before the readers of the table wait.
func TestPostgresMoveDefaultWaitsForReferredTablesFirst(t *testing.T) {
	t.Parallel()
	e := onPostgres(t, `CREATE TABLE users (id bigint PRIMARY KEY);
CREATE TABLE events (id bigint PRIMARY KEY, "user" bigint REFERENCES users) PARTITION BY RANGE (id)`)
	e.maintain(e.set(partition.WithDefault()))
	e.exec("INSERT INTO events (id) VALUES ($1)", idAt(day(5)))
	end := e.hold("INSERT INTO users VALUES (1)")
	done := background(func() error {
		_, err := e.set(partition.WithDefault(), partition.WithLockTimeout(time.Minute)).MoveDefault(e.limit(), e.DB, 10)
		return err
	})
	e.waitFor("SELECT count(*) FROM pg_locks WHERE relation = 'users'::regclass AND NOT granted")
	e.counts(0, "SELECT count(*) FROM pg_locks WHERE relation = 'events'::regclass AND mode = 'AccessExclusiveLock'")
	end()
	e.ok(<-done)
	e.rows("events_default", 0)
}
