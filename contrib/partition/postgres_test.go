package partition_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sqlflake/sqlflake/contrib/partition"
)

const pendingParts = "SELECT count(*) FROM pg_inherits WHERE inhparent = 'events'::regclass AND inhdetachpending"

// PostgreSQL detaches no other partition concurrently while one is half detached.
func TestPostgresDetachConcurrentlyIsFinishedAfterAnInterrupt(t *testing.T) {
	e := filledPostgres(t)
	e.exec("COMMENT ON TABLE " + dayName(-10) + " IS 'the first\nday'")
	end := e.hold("SELECT count(*) FROM events")
	options := []partition.Option{partition.WithRetain(8), partition.WithDetachConcurrently()}
	for _, statement := range []string{"CONCURRENTLY", "FINALIZE"} { // the second call finds what the first left
		_, err := e.set(append(options, partition.WithPatience(0))...).Maintain(e.limit(), e.DB)
		if e.is(err, partition.ErrLocked, statement); strings.Count(err.Error(), "CONCURRENTLY")+strings.Count(err.Error(), "FINALIZE") != 1 {
			t.Errorf("the error is %v, want that of one partition", err)
		}
		e.counts(1, pendingParts)
		e.counts(1, "SELECT count(*) FROM pg_inherits WHERE inhparent = 'events'::regclass AND obj_description(inhrelid, 'pg_class') LIKE '%sqlflake%'")
	}
	// Beside the reader nothing waits for the lock of the whole table.
	e.exec("INSERT INTO events (id) VALUES ($1)", idAt(day(0))+1)
	// Half detached and not beyond the retention any more, it is left to people.
	e.fails(e.set(partition.WithRetain(100)), partition.ErrBlocked, "FINALIZE")
	plan, err := e.set(options...).Plan(t.Context(), e.DB)
	if err != nil || !strings.Contains(fmt.Sprint(plan.Steps), "FINALIZE") {
		t.Errorf("the plan is %v, %v", plan, err)
	}
	end()
	e.does(e.set(append(options, partition.WithKeep(keepAsOld))...), "detach "+dayName(-10), "detach "+dayName(-9),
		"rename "+e.schema()+"."+dayName(-10), "rename "+e.schema()+"."+dayName(-9))
	e.want(-8, 3)
	if got := e.comment("old_" + dayName(-10)); got != "the first\nday" {
		t.Errorf("the comment is %q", got)
	}
	e.rows("old_"+dayName(-10), 4)
}

// The table is not locked for long by a process that stops within a step, as one whose network ends.
func TestPostgresLocksOfAStoppedProcessEnd(t *testing.T) {
	t.Parallel()
	e := onPostgres(t, eventsTable)
	err := e.set(partition.WithStalls(time.Second, time.Second)).Alone(e.limit(), e.DB, func() error {
		_, err := e.ExecContext(e.limit(), lockOfChange) // waits until the server ends the transaction of the step
		return err
	})
	if err == nil || errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("the error is %v, want that of a lost connection", err)
	}
}

// The mark that an interrupted call leaves on a partition must not drop it after somebody has detached it to keep it.
func TestPostgresMarkOfAnInterruptedDetachIsRemoved(t *testing.T) {
	e := filledPostgres(t)
	e.exec("COMMENT ON TABLE " + dayName(-10) + " IS 'the first\nsqlflake: detached from \"b\", keys 1 to 2\nsqlflake: detached from \"c\", keys 1 to 2'")
	end := e.hold("LOCK TABLE ONLY events IN SHARE UPDATE EXCLUSIVE MODE")
	s := e.set(partition.WithRetain(9), partition.WithPatience(0), partition.WithDetachConcurrently())
	e.fails(s, partition.ErrLocked)
	end()
	e.does(e.set(), "alter "+dayName(-10))
	if got := e.comment(dayName(-10)); got != "the first" {
		t.Errorf("the comment is %q", got)
	}
	e.exec("ALTER TABLE events DETACH PARTITION " + dayName(-10))
	e.maintain(s)
	e.hasTable(dayName(-10), true)
}

// Somebody who has locked old partitions for hours stops their drops only. Writers get a pause after each.
func TestPostgresLockedPartitionStopsNothingElse(t *testing.T) {
	e := filledPostgres(t)
	e.hold("LOCK TABLE " + dayName(-10) + ", " + dayName(-9) + " IN ACCESS EXCLUSIVE MODE")
	start := time.Now()
	e.same(e.fails(e.set(partition.WithRetain(7), partition.WithAhead(4), partition.WithPatience(0)), partition.ErrLocked),
		"create "+dayName(4), "drop "+dayName(-8))
	if took := time.Since(start); took < 2*(50+100)*time.Millisecond {
		t.Errorf("two waits of 50 ms and two pauses took %v", took)
	}
}

// Nobody waits for a step that waits for VACUUM of its partition.
func TestPostgresVacuumedPartitionStopsNoWriters(t *testing.T) {
	e := filledPostgres(t)
	end := e.hold("LOCK TABLE " + dayName(-10) + " IN SHARE UPDATE EXCLUSIVE MODE") // that of VACUUM
	done := e.maintaining(e.set(partition.WithRetain(9), partition.WithLockTimeout(time.Minute)))
	e.waitFor("SELECT count(*) FROM pg_locks WHERE relation = '" + dayName(-10) + "'::regclass AND NOT granted")
	e.counts(0, "SELECT count(*) FROM pg_locks WHERE relation = 'events'::regclass AND mode = 'AccessExclusiveLock'")
	end()
	e.ok(<-done)
	e.want(-9, 3)
}

// Statements of writers, with the same event and a new ID each.
var (
	event       = idAt(noon).String()
	insertKind  = "INSERT INTO kinds VALUES ($1)"
	updateKind  = "UPDATE kinds SET id = id WHERE id = 1 AND $1 > 0::bigint"
	insertEvent = "INSERT INTO events VALUES ($1)"
	updateEvent = "UPDATE events SET body = '' WHERE id = " + event + " AND $1 > 0::bigint"
	lockEvent   = "SELECT $1::bigint FROM events WHERE id = " + event + " FOR UPDATE"
	readEvents  = "SELECT $1::bigint FROM events"
	insertLine  = "INSERT INTO lines VALUES ($1, " + event + ")"
	readLines   = "SELECT $1::bigint FROM lines"
	nothing     = "SELECT $1::bigint"
)

// Whichever table writers lock first, Adopt and a drop get their locks.
func TestPostgresChangesBesideWritersInAnyOrder(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		writers [][2]string
		drop    bool // also of a partition
	}{
		"has many, and children only": {[][2]string{{insertEvent, insertLine}, {insertLine, nothing}}, true},
		"belongs to":                  {[][2]string{{insertKind, insertEvent}}, true},
		"child before parent":         {[][2]string{{insertLine, updateEvent}, {insertEvent, updateKind}}, false},
		"parent locked, child then":   {[][2]string{{lockEvent, insertLine}}, false},
		"readers of the parent first": {[][2]string{{readEvents, readLines}}, false},
		"readers of the child first":  {[][2]string{{readLines, readEvents}}, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := onPostgres(t, writtenTable+"INSERT INTO events VALUES ("+event+")")
			a.besideWriters(c.writers, func() error {
				_, err := a.set(partition.WithPatience(time.Hour)).Adopt(a.limit(), a.DB)
				return err
			})
			if !c.drop {
				return
			}
			a = onPostgres(t, strings.Replace(writtenTable, "body text)", "body text) PARTITION BY RANGE (id)", 1))
			a.maintain(a.set(partition.WithStart(day(-6))))
			a.exec("INSERT INTO events VALUES (" + event + ")")
			a.besideWriters(c.writers, func() error {
				steps, err := a.set(partition.WithPatience(time.Hour), partition.WithRetain(5)).Maintain(a.limit(), a.DB)
				a.same(kinds(steps), "drop "+dayName(-6))
				return err
			})
		})
	}
}

// besideWriters calls f while transactions of two statements each overlap.
func (e *events) besideWriters(writers [][2]string, f func() error) {
	e.Helper()
	ctx, cancel := context.WithCancel(e.Context())
	var wg sync.WaitGroup
	defer wg.Wait()
	defer cancel()
	var written atomic.Int64
	for _, pair := range slices.Repeat(writers, 4) {
		wg.Go(func() {
			for ctx.Err() == nil {
				if err := e.writeBoth(pair, int64(idAt(noon))+written.Add(1)); err != nil {
					e.Errorf("%s: %v", pair, err)
					return
				}
			}
		})
	}
	e.until("writers", func() bool { return written.Load() > 8 })
	e.ok(f())
}

// writeBoth executes two statements in a transaction, with a pause in which others begin theirs.
func (e *events) writeBoth(statements [2]string, id int64) error {
	tx, err := e.Begin()
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback() }()
	for _, statement := range statements {
		if _, err := tx.Exec(statement, id); err != nil {
			return err
		}
		time.Sleep(5 * time.Millisecond)
	}
	return tx.Commit()
}

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
		"of a sequence":        {17, partition.WithAhead(3)},
		"of a clock far ahead": {int64(idAt(day(4000))), partition.WithAhead(3)},
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
		e.maintain(s) // has no other problem by it
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
	e.is(err, partition.ErrTable, ".notes refers")
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

// A plan is what people look at before rows go: it says no figure that the database does not know.
func TestPostgresPlanSaysWhatIsUnknown(t *testing.T) {
	e := filledPostgres(t)
	e.exec("ALTER TABLE " + dayName(-10) + " SET (autovacuum_enabled = off)")
	e.exec("INSERT INTO events SELECT id + n, repeat('x', 1000) FROM events, generate_series(1, 100) AS n WHERE id < $1", idAt(day(-9)))
	plan := func() (partition.Step, string) {
		p, err := e.set(partition.WithRetain(9), partition.WithPatience(0)).Plan(e.limit(), e.DB)
		e.must(err)
		return p.Steps[0], p.String()
	}
	size := e.count("SELECT pg_total_relation_size('" + dayName(-10) + "')")
	step, text := plan()
	if step.Rows != -1 || step.Bytes != int64(size) || !regexp.MustCompile(`drop .*  -  +\d+ kB`).MatchString(text) {
		t.Errorf("%d rows, %d bytes, want -1 and %d:\n%s", step.Rows, step.Bytes, size, text)
	}

	e.exec("ANALYZE " + dayName(-10))
	end := e.hold("REINDEX INDEX " + dayName(-10) + "_pkey")
	step, text = plan()
	if step.Rows != 404 || step.Bytes != -1 || !regexp.MustCompile(`drop .*  ~404  +-  `).MatchString(text) {
		t.Errorf("locked: %d rows, %d bytes, want 404 and -1:\n%s", step.Rows, step.Bytes, text)
	}
	end()
}
