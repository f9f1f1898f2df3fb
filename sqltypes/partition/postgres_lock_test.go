package partition_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sqlflake/sqlflake/snowflake/sqldb"
	"github.com/sqlflake/sqlflake/sqltypes/partition"
)

// waitFor waits until the query counts something.
func (e *events) waitFor(query string) {
	e.Helper()
	for ctx := e.limit(); e.count(query) == 0; time.Sleep(5 * time.Millisecond) {
		if ctx.Err() != nil {
			e.Fatalf("never true: %s", query)
		}
	}
}

const waitsForTheTable = `SELECT count(*) FROM pg_locks WHERE relation = 'events'::regclass AND NOT granted AND mode = 'AccessExclusiveLock'`

// A transaction that never ends prevents a drop, but nobody waits for it: neither the writers behind Maintain, nor the
// creation of partitions, nor Maintain beyond its patience.
func TestPostgresLongTransactionStopsNobody(t *testing.T) {
	e := filledEvents(t)
	end := e.hold("SELECT count(*) FROM events")
	s := e.set(partition.WithRetain(3), partition.WithAhead(5), partition.WithPatience(0))
	steps, err := s.Maintain(e.limit(), e.DB)
	if text := fmt.Sprint(err); !errors.Is(err, partition.ErrLocked) || !strings.Contains(text, "drop "+e.partition(-10)) ||
		strings.Count(text, "drop") != 1 {
		t.Errorf("the error is %v, want that of the first drop: the others wait for the same lock", err)
	}
	e.same(kinds(steps), "create "+e.partition(4), "create "+e.partition(5))
	e.want(-10, 5)

	// With patience, it is repeated until it succeeds, and each writer gets its turn between the attempts.
	done := e.maintaining(e.set(partition.WithRetain(3), partition.WithAhead(5), partition.WithPatience(time.Hour)))
	for n := range 5 {
		e.waitFor(waitsForTheTable)
		if _, err := e.ExecContext(e.limit(), "INSERT INTO events (id) VALUES ($1)", int64(idAt(e.day(0)))+int64(n)+1); err != nil {
			t.Fatalf("the insert behind it: %v", err)
		}
	}
	end()
	e.ok(<-done)
	e.want(-3, 5)
}

// A row that is no row of its partition's time may come while the drop waits for its lock.
func TestPostgresForeignRowThatComesLateIsNotDropped(t *testing.T) {
	t.Parallel()
	e := newEvents(t, eventsTable)
	e.exec(fmt.Sprintf("CREATE TABLE oldest PARTITION OF events FOR VALUES FROM (MINVALUE) TO (%d)", idAt(e.day(-50))))
	e.maintain(e.set())
	e.insert(e.day(0), e.day(1), 24*time.Hour)
	commit := e.hold("INSERT INTO events (id) VALUES (7)")
	done := e.maintaining(e.set(partition.WithRetain(3), partition.WithLockTimeout(time.Minute)))
	e.waitFor(waitsForTheTable)
	commit()
	e.is(<-done, partition.ErrBlocked, "key 7")
	e.counts(1, "SELECT count(*) FROM oldest")
}

// lockOfChange is the lock that Maintain takes for each step.
const lockOfChange = `SELECT pg_advisory_xact_lock(hashtextextended('sqlflake/partition change ' || current_schema() || '.events', 0))`

// A step waits for the end of another one, and the lock of a process ends with its transaction.
func TestPostgresMaintainWaitsForAnotherProcess(t *testing.T) {
	t.Parallel()
	e := newEvents(t, eventsTable)
	end := e.hold(lockOfChange)
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	_, err := e.set(partition.WithPatience(0)).Maintain(ctx, e.DB)
	e.is(err, context.DeadlineExceeded)
	e.same(e.partitions())
	end()
	e.maintain(e.set())
	e.want(0, 3)
}

func TestPostgresDetachConcurrentlyIsFinishedAfterAnInterrupt(t *testing.T) {
	e := filledEvents(t)
	e.exec("COMMENT ON TABLE " + e.partition(-10) + " IS 'the first\nday'")
	end := e.hold("SELECT count(*) FROM events")
	options := []partition.Option{partition.WithRetain(9), partition.WithDetachConcurrently()}
	e.fails(e.set(append(options, partition.WithPatience(0))...), partition.ErrLocked, "CONCURRENTLY")
	const pending = "SELECT count(*) FROM pg_inherits WHERE inhparent = 'events'::regclass AND inhdetachpending"
	if n := e.count(pending); n != 1 {
		t.Fatalf("%d partitions are half detached", n)
	}
	// Beside the reader nothing waits for the lock of the whole table.
	e.exec("INSERT INTO events (id) VALUES ($1)", idAt(e.day(0))+1)
	e.exec("SELECT count(*) FROM events")
	plan, err := e.set(options...).Plan(t.Context(), e.DB)
	if err != nil || !strings.Contains(fmt.Sprint(plan.Steps), "FINALIZE") {
		t.Errorf("the plan is %v, %v", plan, err)
	}
	end()
	options = append(options, partition.WithKeep(func(name string) string { return "kept_" + name }))
	steps := e.maintain(e.set(options...))
	e.same(steps, "detach "+e.partition(-10), "rename "+e.schema()+"."+e.partition(-10))
	e.want(-9, 3)
	e.same(e.texts("SELECT obj_description('kept_"+e.partition(-10)+"'::regclass, 'pg_class')"), "the first\nday")
	e.counts(24, "SELECT count(*) FROM kept_"+e.partition(-10))
}

// PostgreSQL detaches no other partition concurrently while one is half detached.
func TestPostgresNoPartitionIsDetachedBehindAnInterruptedOne(t *testing.T) {
	e := filledEvents(t)
	end := e.hold("SELECT count(*) FROM events")
	options := []partition.Option{partition.WithRetain(6), partition.WithDetachConcurrently()}
	s := e.set(append(options, partition.WithPatience(0))...)
	for range 2 { // the second call finds the one that the first left half detached
		if _, err := s.Maintain(e.limit(), e.DB); strings.Count(fmt.Sprint(err), "CONCURRENTLY")+strings.Count(fmt.Sprint(err), "FINALIZE") != 1 {
			t.Errorf("the error is %v", err)
		}
		e.counts(1, "SELECT count(*) FROM pg_inherits WHERE inhparent = 'events'::regclass AND obj_description(inhrelid, 'pg_class') <> ''")
	}
	// Half detached and not beyond the retention any more, it is left to people.
	e.fails(e.set(partition.WithRetain(100)), partition.ErrBlocked, "FINALIZE")
	end()
	e.maintain(e.set(options...))
	e.want(-6, 3)
}

// The table is not locked for long by a process that stops within a step, as one whose network ends.
func TestPostgresLocksOfAStoppedProcessEnd(t *testing.T) {
	t.Parallel()
	e := newEvents(t, eventsTable)
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
	e := filledEvents(t)
	e.exec("COMMENT ON TABLE " + e.partition(-10) + " IS 'the first\nsqlflake: detached from \"b\", keys 1 to 2\nsqlflake: detached from \"c\", keys 1 to 2'")
	end := e.hold("LOCK TABLE ONLY events IN SHARE UPDATE EXCLUSIVE MODE")
	s := e.set(partition.WithRetain(9), partition.WithPatience(0), partition.WithDetachConcurrently())
	e.fails(s, partition.ErrLocked)
	end()
	e.does(e.set(), "alter "+e.partition(-10))
	e.same(e.texts("SELECT obj_description('"+e.partition(-10)+"'::regclass, 'pg_class')"), "the first")
	e.exec("ALTER TABLE events DETACH PARTITION " + e.partition(-10))
	e.maintain(s)
	e.hasTable(e.partition(-10), true)
}

// Somebody who has locked old partitions for hours stops their drops only. Writers get a pause after each.
func TestPostgresLockedPartitionStopsNothingElse(t *testing.T) {
	e := filledEvents(t)
	e.hold("LOCK TABLE " + e.partition(-10) + ", " + e.partition(-9) + " IN ACCESS EXCLUSIVE MODE")
	start := time.Now()
	steps, err := e.set(partition.WithRetain(7), partition.WithAhead(4), partition.WithPatience(0)).Maintain(e.limit(), e.DB)
	if want := []string{"create " + e.partition(4), "drop " + e.partition(-8)}; !errors.Is(err, partition.ErrLocked) || !slices.Equal(kinds(steps), want) {
		t.Errorf("the steps are %q, want %q; the error is %v", kinds(steps), want, err)
	}
	if took := time.Since(start); took < 2*(50+100)*time.Millisecond {
		t.Errorf("two waits of 50 ms and two pauses took %v", took)
	}
}

// Nobody waits for a step that waits for VACUUM of its partition.
func TestPostgresVacuumedPartitionStopsNoWriters(t *testing.T) {
	e := filledEvents(t)
	end := e.hold("LOCK TABLE " + e.partition(-10) + " IN SHARE UPDATE EXCLUSIVE MODE") // that of VACUUM
	done := e.maintaining(e.set(partition.WithRetain(9), partition.WithLockTimeout(time.Minute)))
	e.waitFor("SELECT count(*) FROM pg_locks WHERE relation = '" + e.partition(-10) + "'::regclass AND NOT granted")
	e.counts(0, "SELECT count(*) FROM pg_locks WHERE relation = 'events'::regclass AND mode = 'AccessExclusiveLock'")
	end()
	e.ok(<-done)
	e.want(-9, 3)
}

func (e *events) schema() string { return e.texts("SELECT current_schema()")[0] }

func TestPostgresKeepRenames(t *testing.T) {
	e := filledEvents(t)
	schema, db := e.schema()+"_old", e.DB
	e.exec("CREATE SCHEMA " + schema)
	t.Cleanup(func() {
		if _, err := db.ExecContext(context.WithoutCancel(t.Context()), "DROP SCHEMA "+schema+" CASCADE"); err != nil {
			t.Error(err)
		}
	})
	kept := schema + ".it's \"" + e.partition(-10)
	names := func(name string) string {
		if name == e.partition(-10) {
			return kept
		}
		return schema + "." + name
	}
	e.maintain(e.set(partition.WithRetain(3), partition.WithKeep(names)))
	got := e.texts("SELECT relnamespace::regnamespace || '.' || relname FROM pg_class WHERE relnamespace = $1::regnamespace "+
		"AND relkind = 'r' ORDER BY 1 DESC", schema)
	if len(got) != 7 || got[0] != kept || got[1] != names(e.partition(-4)) || got[6] != names(e.partition(-9)) {
		t.Errorf("the kept tables are %q", got)
	}
	e.counts(24, `SELECT count(*) FROM "`+strings.ReplaceAll(strings.ReplaceAll(kept, `"`, `""`), ".", `"."`)+`"`)
	// A name that is taken is the error of its step.
	e = newEvents(t, eventsTable)
	e.fill()
	_, err := e.set(partition.WithRetain(3), partition.WithKeep(func(string) string { return "events" })).Maintain(e.limit(), e.DB)
	e.says(err, `relation "events" already exists`)
	e.want(-10, 3)
	_, err = e.set(partition.WithRetain(3), partition.WithKeep(func(string) string { return "" })).Maintain(e.limit(), e.DB)
	if !errors.Is(err, partition.ErrOption) || !errors.Is(err, partition.ErrBlocked) {
		t.Errorf("the error is %v", err)
	}
	e.want(-10, 3)
}

func TestPostgresArchiveDropsOnlyWhatIsArchived(t *testing.T) {
	e := filledEvents(t)
	var got []string
	var failure error
	archive := func(ctx context.Context, table string) error {
		got = append(got, table)
		if _, err := e.ExecContext(ctx, "CREATE TABLE IF NOT EXISTS archive AS SELECT * FROM "+table); err != nil {
			return err
		}
		return failure
	}
	s := e.set(partition.WithRetain(9), partition.WithArchive(archive))
	e.exec("ALTER TABLE " + e.partition(-10) + ` RENAME TO "the first"`)
	first, quoted := e.schema()+".the first", e.schema()+`."the first"`
	failure = errors.New("no space")
	e.fails(s, failure, "archive "+first)
	e.want(-9, 3)
	e.counts(24, "SELECT count(*) FROM "+quoted)
	// A table that was written to since then has rows that are not in the archive.
	for _, id := range []int64{int64(idAt(e.day(-10))) - 1, int64(idAt(e.day(-9)))} {
		e.exec("INSERT INTO "+quoted+" (id) VALUES ($1)", id)
		e.blocked(s, "has rows outside of its bounds")
		e.exec("DELETE FROM "+quoted+" WHERE id = $1", id)
	}
	// With a longer retention the table is none to drop.
	e.fails(e.set(partition.WithRetain(100)), partition.ErrBlocked)
	// It is none of another table's.
	e.exec("CREATE TABLE event (id bigint) PARTITION BY RANGE (id)")
	other, err := partition.New(sqldb.Postgres, "event", partition.Day, partition.WithRetain(9))
	e.must(err)
	e.maintain(other)
	failure = nil
	e.does(s, "archive "+first, "drop "+first)
	e.same(got, quoted, quoted)
	e.hasTable("the first", false)
}

// While one process archives, which may take hours, the others maintain the rest and return.
func TestPostgresOneProcessArchivesAtATime(t *testing.T) {
	e := filledEvents(t)
	begun, finish := make(chan struct{}), make(chan struct{})
	calls := 0
	archive := func(ctx context.Context, _ string) error {
		if calls++; calls == 1 {
			close(begun)
			<-finish
		}
		return ctx.Err()
	}
	done := e.maintaining(e.set(partition.WithRetain(3), partition.WithArchive(archive)))
	<-begun
	other := func(_ context.Context, table string) error { return fmt.Errorf("called for %s as well", table) }
	steps := e.maintain(e.set(partition.WithRetain(3), partition.WithAhead(5), partition.WithArchive(other)))
	if want := "create " + e.partition(5); !slices.Contains(steps, want) {
		t.Errorf("the steps are %q, without %s", steps, want)
	}
	close(finish)
	e.ok(<-done)
	e.tableCount(e.tables(), 1+3+1+5)
}
