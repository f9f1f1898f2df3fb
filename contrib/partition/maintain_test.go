package partition_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sqlflake/sqlflake/contrib/partition"
	"github.com/sqlflake/sqlflake/contrib/partition/internal/engine"
	"github.com/sqlflake/sqlflake/internal/testdb"
	"github.com/sqlflake/sqlflake/snowflake"
)

func TestMaintainCreatesAheadAndDropsBeyondTheRetention(t *testing.T) {
	for name, c := range map[string]struct {
		target      func(testing.TB) testdb.Target
		columns, by string
	}{
		"postgres": {testdb.Postgres, plainColumns, "RANGE"},
		"mariadb":  {testdb.MariaDB, plainColumns, "RANGE"},
		"unsigned": {testdb.MariaDB, "id bigint unsigned PRIMARY KEY, body text", "RANGE"},
		"columns":  {testdb.MariaDB, "id bigint, body char(10), PRIMARY KEY (id, body)", "RANGE COLUMNS"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := filled(t, c.target(t), c.columns, c.by)
			e.want(-10, 3)
			retain := e.set(partition.WithRetain(3), partition.WithAhead(5))
			plan, err := retain.Plan(t.Context(), e.DB)
			e.must(err)
			for _, want := range []string{".events: 14 partitions", "create  " + dayName(5), "drop    " + dayName(-4), "beyond the retention of 3 days"} {
				if text := plan.String(); !strings.Contains(text, want) || time.Until(plan.Now).Abs() > time.Hour {
					t.Errorf("the plan lacks %q:\n%s", want, text)
				}
			}

			e.want(-10, 3) // Plan changes nothing
			e.does(retain, kinds(plan.Steps)...)
			e.want(-3, 5)
			e.rows("events", 4*4)
			e.does(retain)
			e.maintain(e.set(partition.WithRetain(2), partition.WithGrace(13*time.Hour)))
			e.want(-3, 5) // the grace keeps one more
		})
	}
}

func TestTableThatCanNotBeMaintainedIsRefused(t *testing.T) {
	const first = " (PARTITION p VALUES LESS THAN (5))"
	for _, c := range []struct {
		mysql           bool
		statement, text string
		adopt           string // the text of Adopt, if it is another one
	}{
		{false, "", "there is no table events", ""},
		{false, "CREATE VIEW events AS SELECT 1::bigint AS id", "is a view", ""},
		{false, "CREATE SEQUENCE events", `the kind "S"`, ""},
		{false, "CREATE TABLE events (n bigint PRIMARY KEY)", "is not partitioned: see Adopt", "has no column id"},
		{false, "CREATE TABLE events (id int PRIMARY KEY)", "is not partitioned", "the type integer, want bigint"},
		{false, "CREATE TABLE events (id bigint PRIMARY KEY, CONSTRAINT sqlflake_adopt CHECK (id <> 7))", "is not partitioned", "not of Adopt"},
		{false, "CREATE TABLE events (id bigint, at bigint) PARTITION BY RANGE (at)", "RANGE (at), want RANGE (id)", ""},
		{false, "CREATE TABLE events (id bigint, at bigint) PARTITION BY RANGE (id, at)", "RANGE (id, at)", ""},
		{false, "CREATE TABLE events (id bigint) PARTITION BY HASH (id)", "HASH (id)", ""},
		{false, "CREATE TABLE events (id bigint) PARTITION BY LIST (id)", "LIST (id)", ""},
		{false, "CREATE TABLE events (id bigint) PARTITION BY RANGE ((id + 1))", "want RANGE (id)", ""},
		{false, "CREATE TABLE events (id int) PARTITION BY RANGE (id)", "the type integer, want bigint", ""},
		{false, "CREATE TABLE events (id numeric) PARTITION BY RANGE (id)", "the type numeric", ""},
		{false, "CREATE TEMP TABLE events (id bigint) PARTITION BY RANGE (id)", "is temporary", ""},
		{true, "", "there is no table events", ""},
		{true, "CREATE VIEW events AS SELECT 1 AS id", "is a view", ""},
		{true, "CREATE TABLE events (id bigint PRIMARY KEY)", "is not partitioned", ""},
		{true, "CREATE TABLE events (id int PRIMARY KEY)", "want bigint", ""},
		{true, "CREATE TABLE events (n bigint PRIMARY KEY)", "has no column id", ""},
		{true, "CREATE TABLE events (id bigint, n bigint, PRIMARY KEY (id, n)) PARTITION BY RANGE (n)" + first, "by RANGE (`n`), want RANGE (id)", ""},
		{
			true, "CREATE TABLE events (id bigint, n bigint, PRIMARY KEY (id, n)) PARTITION BY RANGE COLUMNS (id, n) (PARTITION p VALUES LESS THAN (5, 5))",
			"by RANGE COLUMNS (`id`,`n`)", "",
		},
		{true, "CREATE TABLE events (id bigint PRIMARY KEY) PARTITION BY RANGE (id DIV 2)" + first, "DIV 2", ""},
		{true, "CREATE TABLE events (id bigint PRIMARY KEY) PARTITION BY HASH (id) PARTITIONS 2", "by HASH", ""},
		{true, "CREATE TABLE events (id bigint PRIMARY KEY) PARTITION BY LIST (id) (PARTITION p VALUES IN (5))", "by LIST", ""},
		{
			true, "CREATE TABLE events (id bigint, n int, PRIMARY KEY (id, n)) PARTITION BY RANGE (id) SUBPARTITION BY HASH (n) SUBPARTITIONS 2" + first,
			"has subpartitions", "",
		},
	} {
		t.Run(c.text, func(t *testing.T) {
			t.Parallel()
			e := newEvents(t, map[bool]func(testing.TB) testdb.Target{false: testdb.Postgres, true: testdb.MariaDB}[c.mysql](t), "")
			e.SetMaxOpenConns(1) // of the temporary table
			e.exec(c.statement)
			before := e.tables()
			e.same(e.fails(e.set(), partition.ErrTable, c.text))
			e.same(e.tables(), before...)
			if c.mysql {
				return
			}

			_, err := e.set().PlanAdopt(e.limit(), e.DB)
			e.is(err, partition.ErrTable, cmp.Or(c.adopt, c.text))
			_, err = e.set().Adopt(e.limit(), e.DB)
			e.is(err, partition.ErrTable, cmp.Or(c.adopt, c.text))
			e.same(e.tables(), before...)
		})
	}
}

func TestPostgresNameThatIsTakenIsAProblem(t *testing.T) {
	for _, statement := range []string{
		"CREATE TABLE %s (id bigint)", "CREATE TYPE %s AS ENUM ()",
		"CREATE TABLE other (id bigint) PARTITION BY RANGE (id); CREATE TABLE %s PARTITION OF other FOR VALUES FROM (0) TO (1000)",
	} {
		e := onPostgres(t, eventsTable+";\n"+fmt.Sprintf(statement, dayName(0)))
		e.same(e.fails(e.set(partition.WithAhead(1)), partition.ErrBlocked, dayName(0)), "create "+dayName(1))
	}
}

// oldest returns the partition for all before the tenth day.
func (e *events) oldest() string {
	e.Helper()
	if !e.mysql {
		e.exec(fmt.Sprintf("CREATE TABLE oldest PARTITION OF events FOR VALUES FROM (MINVALUE) TO (%d)", idAt(day(-10))))
	}
	return e.either("oldest", dayName(-10))
}

// A row below the period of a partition without a lower bound is somebody else's: the drop is blocked.
func TestPartitionWithForeignRowsIsNotDropped(t *testing.T) {
	test := func(t *testing.T, e *events) {
		oldest := e.oldest()
		e.exec("INSERT INTO events VALUES (7, 'of a sequence')")
		s := e.set(partition.WithRetain(3))
		if steps := e.fails(s, partition.ErrBlocked, oldest, "the key 7"); len(steps) < 6 || slices.Contains(steps, "drop "+oldest) {
			t.Errorf("the steps are %q", steps)
		}
		e.rows("events WHERE id = 7", 1)
		e.exec("DELETE FROM events WHERE id = 7")
		e.does(s, "drop "+oldest)
		e.want(-3, 3)
	}

	both(t, test)
	t.Run("unsigned", func(t *testing.T) {
		test(t, filled(t, testdb.MariaDB(t), "id bigint unsigned PRIMARY KEY, body text", "RANGE"))
	})
}

// The server and the process are six days ahead of the time at which most rows were written. Today's are of the wrong
// clock.
func TestClocksOfBothThatAreAheadRemoveNothing(t *testing.T) {
	both(t, func(t *testing.T, e *events) {
		e.exec(fmt.Sprintf("DELETE FROM events WHERE id >= %d AND id < %d", idAt(day(-6)), idAt(day(0))))
		e.blocked(e.set(partition.WithRetain(8)), "there is no row from "+day(-6).Format(time.DateOnly))
		e.exec(fmt.Sprintf("DELETE FROM events WHERE id >= %d", idAt(day(0)))) // without writers
		e.blocked(e.set(partition.WithRetain(8)), "WithIdle(6)")
		e.maintain(e.set(partition.WithRetain(8), partition.WithIdle(6)))
		e.want(-8, 3)
	})
}

// A transaction that never ends prevents steps, but nobody waits for them: neither the writers behind Maintain, nor
// Maintain beyond its patience.
func TestLongTransactionStopsNobody(t *testing.T) {
	both(t, func(t *testing.T, e *events) {
		end := e.hold("SELECT count(*) FROM events")
		impatient := e.set(partition.WithRetain(3), partition.WithAhead(5), partition.WithPatience(0))
		steps, err := impatient.Maintain(e.limit(), e.DB)
		e.is(err, partition.ErrLocked, "with waits of at most "+e.either("50ms", "1s"), "drop "+dayName(-10))
		if strings.Count(err.Error(), "drop") != 1 {
			t.Errorf("the error is %v, want that of the first drop: the others wait for the same lock", err)
		}
		if e.mysql {
			e.same(kinds(steps))
		} else {
			e.same(kinds(steps), "create "+dayName(4), "create "+dayName(5))
		}
		e.fails(e.set(partition.WithRetain(9), partition.WithKeep(), partition.WithPatience(0)), partition.ErrLocked)

		// With patience, it is repeated until it succeeds, and each writer gets its turn between the attempts.
		done := e.maintaining(e.set(partition.WithRetain(3), partition.WithAhead(5), partition.WithPatience(time.Hour)))
		for n := range map[bool]int{true: 1, false: 5}[e.mysql] {
			e.waitForALock()
			e.exec(fmt.Sprintf("INSERT INTO events VALUES (%d, '')", int64(idAt(day(0)))+int64(n)+1))
		}
		end()
		e.ok(<-done)
		e.want(-3, 5)
	})
}

// A process that stops within a step, as one whose network ends, locks the table for seconds only. The next call makes
// the step.
func TestLocksOfAStoppedProcessEnd(t *testing.T) {
	both(t, func(t *testing.T, e *events) {
		err := e.set(partition.WithStalls(time.Second, time.Second)).Alone(e.limit(), e.DB, func(q engine.Querier) error {
			_, err := q.ExecContext(e.limit(), e.either("LOCK TABLE "+e.schema()+".events", "LOCK TABLES events WRITE"))
			e.must(err)
			e.exec(fmt.Sprintf("INSERT INTO events VALUES (%d, 'new')", idAt(day(0))+1)) // waits until the server ends the other
			e.does(e.set(partition.WithRetain(9)), "drop "+dayName(-10))
			_, err = q.ExecContext(e.limit(), "SELECT 1")
			return err
		})
		if err == nil || errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("the error is %v, want that of a lost connection", err)
		}
	})
}

// What a table made by hand with PARTITION OF has, a partition has too.
func TestPostgresPartitionsAreLikeThoseOfPartitionOf(t *testing.T) {
	t.Parallel()
	e := onPostgres(t, `CREATE TABLE users (id bigint PRIMARY KEY);
CREATE TABLE events (gone int, id bigint NOT NULL, n bigint GENERATED ALWAYS AS IDENTITY, body text DEFAULT 'x' CHECK (body <> ''),
	size int GENERATED ALWAYS AS (length(body)) STORED, "User" bigint REFERENCES users, PRIMARY KEY (id)) PARTITION BY RANGE (id);
ALTER TABLE events DROP COLUMN gone;
CREATE INDEX ON events (body);
CREATE FUNCTION shout() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN NEW.body = upper(NEW.body); RETURN NEW; END $$;
CREATE TRIGGER shout BEFORE INSERT ON events FOR EACH ROW EXECUTE FUNCTION shout()`)

	e.exec(fmt.Sprintf("CREATE TABLE by_hand PARTITION OF events FOR VALUES FROM (0) TO (%d)", idAt(day(-100))))
	e.maintain(e.set())
	const columns = `SELECT concat_ws(' ', attname, format_type(atttypid, atttypmod), attnotnull, attidentity, attgenerated, pg_get_expr(adbin, adrelid))
FROM pg_attribute LEFT JOIN pg_attrdef ON adrelid = attrelid AND adnum = attnum
WHERE attrelid = $1::regclass AND attnum > 0 AND NOT attisdropped ORDER BY attnum`

	const others = `SELECT pg_get_constraintdef(oid) FROM pg_constraint WHERE conrelid = $1::regclass
UNION ALL SELECT concat(indnatts, indisunique) FROM pg_index WHERE indrelid = $1::regclass
UNION ALL SELECT tgname FROM pg_trigger WHERE tgrelid = $1::regclass AND NOT tgisinternal ORDER BY 1`

	for _, query := range []string{columns, others} {
		byHand := e.texts(query, "by_hand")
		if e.same(e.texts(query, dayName(0)), byHand...); len(byHand) < 3 {
			t.Errorf("the one made by hand has %q", byHand)
		}
	}

	e.exec("INSERT INTO events (id, body) VALUES ($1, 'abc')", idAt(noon))
	e.same(e.texts("SELECT concat_ws(' ', n, body, size) FROM "+dayName(0)), "1 ABC 3")
}

func TestPostgresPartitionedPartitionBeyondTheRetentionIsReported(t *testing.T) {
	e := filledPostgres(t)
	e.exec(fmt.Sprintf("CREATE TABLE oldest PARTITION OF events FOR VALUES FROM (MINVALUE) TO (%d) PARTITION BY RANGE (id)", idAt(day(-50))))
	e.blocked(e.set(partition.WithRetain(10)), "oldest: it is beyond the retention, but has partitions of its own")
	e.does(e.set(partition.WithRetain(100)))
}

// An error of a step prevents no other one, and leaves nothing behind.
func TestPostgresReferencedRowsAreNotDropped(t *testing.T) {
	e := filledPostgres(t)
	e.exec("CREATE TABLE notes (event bigint REFERENCES events)")
	e.exec("INSERT INTO notes VALUES ($1)", idAt(day(-8)))
	steps := e.fails(e.set(partition.WithRetain(7)), nil, "violates foreign key constraint \"notes_event_fkey", "drop "+dayName(-8))
	e.same(steps, "drop "+dayName(-10), "drop "+dayName(-9))
	e.want(-8, 3)
}

// role returns a role that may log in as nobody and is removed with the test.
func (e *events) role() string {
	e.Helper()
	schema := e.schema()
	role := "r" + schema
	e.exec("CREATE ROLE " + role + ";\nGRANT ALL ON SCHEMA " + schema + " TO " + role)
	e.Cleanup(func() {
		_, err := e.ExecContext(context.WithoutCancel(e.Context()), "DROP OWNED BY "+role+" CASCADE; DROP ROLE "+role)
		e.ok(err)
	})
	return role
}

func TestPostgresOnlyTheOwnerMaintains(t *testing.T) {
	t.Parallel()
	e := onPostgres(t, eventsTable)
	role := e.role()
	e.SetMaxOpenConns(1)
	e.exec("GRANT ALL ON events TO " + role + ";\nSET ROLE " + role)
	e.fails(e.set(), partition.ErrTable, "only the owner")
	// What a superuser creates belongs to the owner.
	e.exec("RESET ROLE;\nALTER TABLE events OWNER TO " + role)
	e.maintain(e.set())
	e.exec("SET ROLE " + role + ";\nDROP TABLE " + dayName(0))
	defer e.exec("RESET ROLE")
	e.maintain(e.set())
	e.want(0, 3)

	// Rows that a policy hides from the owner count.
	oldest := e.oldest()
	e.exec("INSERT INTO events VALUES (7);\nALTER TABLE oldest ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY")
	e.same(e.fails(e.set(partition.WithRetain(3), partition.WithAhead(4)), nil, "row-level security"), "create "+dayName(4))
	e.exec("ALTER TABLE oldest NO FORCE ROW LEVEL SECURITY")
	e.rows(oldest, 1)
}

func TestPostgresOneConnectionIsEnoughAndKeepsItsSettings(t *testing.T) {
	e := filledPostgres(t)
	e.SetMaxOpenConns(1)
	e.exec("SET lock_timeout = '7s'")
	e.maintain(e.set(partition.WithRetain(8)))
	e.same(e.texts("SELECT current_setting('lock_timeout')"), "7s")
	e.maintain(e.set(partition.WithRetain(3), archiveNothing))
	e.want(-3, 3)
	e.same(e.loose())
	e.same(e.texts("SELECT current_setting('lock_timeout')"), e.texts("SELECT reset_val FROM pg_settings WHERE name = 'lock_timeout'")...)
	e.counts(0, "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND pid = pg_backend_pid()")
}

// logText is a destination for a logger.
type logText struct {
	sync.Mutex
	text string
}

func (l *logText) Write(line []byte) (int, error) {
	l.Lock()
	defer l.Unlock()
	l.text += string(line)
	return len(line), nil
}

// has reports whether a line has the texts in their order.
func (l *logText) has(texts ...string) bool {
	l.Lock()
	defer l.Unlock()
	return regexp.MustCompile(strings.Join(texts, ".*")).MatchString(l.text)
}

func TestPostgresRunLogsWhatItDoesAndWhatFails(t *testing.T) {
	e := onPostgres(t, "")
	log := &logText{}
	s := e.set(partition.WithLogger(slog.New(slog.NewTextHandler(log, nil))))
	ctx, cancel := context.WithCancel(e.limit())
	defer cancel()
	done := background(func() error { return s.Run(ctx, e.DB, 10*time.Millisecond) })
	e.until("error", func() bool { return log.has("level=ERROR", "table=events", "there is no table events") })
	e.exec(eventsTable)
	e.until("step", func() bool { return log.has("level=INFO", "table=events", "create") })
	e.waitFor("SELECT count(*) / 4 FROM pg_inherits WHERE inhparent = 'events'::regclass")
	cancel()
	e.is(<-done, context.Canceled)
	e.is(s.Run(t.Context(), e.DB, 0), partition.ErrOption)
}

func TestMySQLBoundsAboveAllIDs(t *testing.T) {
	t.Parallel()
	for _, bound := range []string{"9223372036854775807", "9223372036854775808", "18446744073709551615"} {
		e := onMariaDB(t, fmt.Sprintf("CREATE TABLE events (id bigint unsigned PRIMARY KEY) PARTITION BY RANGE (id) "+
			"(PARTITION first VALUES LESS THAN (%d), PARTITION rest VALUES LESS THAN (%s))", idAt(day(0)), bound))
		e.maintain(e.set(partition.WithAhead(1)))
		e.want(0, 1, "rest MAXVALUE", ends("first", day(0)))
	}
	e := onMariaDB(t, fmt.Sprintf("CREATE TABLE events (id bigint unsigned PRIMARY KEY) PARTITION BY RANGE (id) "+
		"(PARTITION first VALUES LESS THAN (%d), PARTITION rest VALUES LESS THAN (9223372036854775808), PARTITION more VALUES LESS THAN (MAXVALUE))", idAt(day(0))))
	e.blocked(e.set(), "rest: it has no upper bound")
}

func TestMySQLDefaultPartition(t *testing.T) {
	e := onMariaDB(t, fmt.Sprintf("CREATE TABLE events (id bigint unsigned PRIMARY KEY) PARTITION BY RANGE (id) "+
		"(PARTITION first VALUES LESS THAN (%d), PARTITION rest VALUES LESS THAN (MAXVALUE))", idAt(day(0))))
	first := ends("first", day(0))
	e.maintain(e.set(partition.WithAhead(1)))
	e.want(0, 1, "rest MAXVALUE", first)
	e.exec(fmt.Sprintf("INSERT INTO events VALUES (%d), (18446744073709551614)", idAt(day(2))))
	e.blocked(e.set(partition.WithAhead(3)), "REORGANIZE") // a new partition would copy the rows of the default partition
	e.exec("DELETE FROM events PARTITION (rest)")
	e.maintain(e.set(partition.WithAhead(3)))
	e.want(0, 3, "rest MAXVALUE", first)
}

// The call of a process that ended may have left an ALTER TABLE that waits on the server.
func TestMySQLStatementOfADeadProcessKeepsTheLock(t *testing.T) {
	e := filledMariaDB(t)
	end := e.hold("SELECT * FROM events")
	ctx, cancel := context.WithCancel(t.Context())
	dead := background(func() error {
		_, err := e.set(partition.WithAhead(4), partition.WithLockTimeout(time.Minute)).Maintain(ctx, e.DB)
		return err
	})

	e.waitForALock()
	cancel()
	e.is(<-dead, context.Canceled)
	// Another call would find the catalog as it was, but the statement may still be executed.
	busy, stop := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer stop()
	steps, err := e.set(partition.WithAhead(5)).Maintain(busy, e.DB)
	if n := e.waiting(); n != 1 || len(steps) > 0 || !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("%v, %v and %d statements that wait, want that of the dead process only", steps, err, n)
	}

	end()
	e.maintain(e.set(partition.WithAhead(5)))
	e.want(-10, 5)
}

func TestMySQLProcessesMaintainTogether(t *testing.T) {
	e := filledMariaDB(t)
	steps := make(chan int)
	for range 4 {
		go func() {
			done, err := e.set(partition.WithAhead(6), partition.WithRetain(3)).Maintain(e.limit(), e.DB)
			e.ok(err)
			steps <- len(done)
		}()
	}

	if total := <-steps + <-steps + <-steps + <-steps; total != 3+7 {
		t.Errorf("%d steps, want each of 10 once", total)
	}

	e.want(-3, 6)
}

// quoted returns the name of a table as the callback of WithArchive gets it.
func (e *events) quoted(table string) string {
	e.Helper()
	if e.mysql {
		return "`" + e.schema() + "`.`" + table + "`"
	}
	return e.schema() + "." + table
}

// clustered inserts a row of the first and one of the last worker at each time.
func (e *events) clustered(times ...time.Time) {
	e.Helper()
	for _, at := range times {
		for _, worker := range []int64{0, snowflake.Clustered().MaxWorker()} {
			id, err := snowflake.Clustered().Compose(snowflake.Parts{Time: at, Worker: worker})
			e.must(err)
			e.exec(fmt.Sprintf("INSERT INTO events (id, body) VALUES (%d, '')", id))
		}
	}
}

func TestAdoptWithATimeInTwoParts(t *testing.T) {
	e := onPostgres(t, "CREATE TABLE events ("+plainColumns+")")
	e.clustered(time.Now().Add(-24*time.Hour), time.Now())
	s := e.set(partition.WithLayout(snowflake.Clustered()))
	plan, err := s.PlanAdopt(t.Context(), e.DB)
	e.must(err)
	for _, step := range plan.Steps {
		if to := step.To.In(noon.Location()); !step.To.IsZero() && to != day(int(to.Sub(day(0))/(24*time.Hour))) {
			t.Errorf("%s %s ends at %v, want the start of a day", step.Action, step.Partition, to)
		}
	}

	e.adopt(s)
	e.clustered(time.Now(), time.Now().Add(26*time.Hour))
	e.rows("events", 8)
	e.does(s)
}

// A partition may begin most of a day before its time. Too close a cut would be dropped, and chosen again.
func TestTheCutOfAdoptIsADayAhead(t *testing.T) {
	layout, err := snowflake.ParseLayout("epoch=2005-05-05T00:00:00Z tick=1s time:20 worker:3 time:16 sequence:9")
	if err != nil {
		t.Fatal(err)
	}

	e := onPostgres(t, ordinaryTable)
	for n := range 20 {
		now := day(n).Add(23 * time.Hour)
		s := e.set(partition.WithLayout(layout), partition.WithNow(func() time.Time { return now }))
		plan, err := s.PlanAdopt(t.Context(), e.DB)
		e.must(err)
		cut := plan.Steps[0].Hi
		for _, step := range plan.Steps {
			cut = min(cut, step.Hi)
		}

		if ahead := layout.Time(cut).Sub(now); ahead < 24*time.Hour || ahead > 3*24*time.Hour {
			t.Errorf("at %v the cut is %v ahead", now, ahead)
		}
	}
}
