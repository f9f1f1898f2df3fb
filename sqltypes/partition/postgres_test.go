package partition_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/jackc/pgx/v5/stdlib"

	"github.com/sqlflake/sqlflake/internal/testdb"
	"github.com/sqlflake/sqlflake/sqltypes/partition"
)

func TestPostgresCreatesAheadAndDropsBeyondTheRetention(t *testing.T) {
	e := filledEvents(t)
	e.want(-10, 3)
	retain := e.set(partition.WithRetain(3), partition.WithAhead(5))
	plan, err := retain.Plan(t.Context(), e.DB)
	e.must(err)
	text := plan.String()
	for _, want := range []string{"create  " + e.partition(5), "drop    " + e.partition(-5), "beyond the retention of 3 days"} {
		if !strings.Contains(text, want) {
			t.Errorf("the plan lacks %q:\n%s", want, text)
		}
	}
	e.want(-10, 3) // Plan changes nothing
	if steps := e.maintain(retain); len(steps) != len(plan.Steps) {
		t.Errorf("Maintain did %q, the plan was\n%s", steps, text)
	}
	e.want(-3, 5)
	e.counts(4*24, "SELECT count(*) FROM events")
	if again := e.maintain(retain); again != nil {
		t.Errorf("a second Maintain did %q", again)
	}
	e.tableCount(e.tables(), 1+3+1+5)
	e.maintain(e.set(partition.WithRetain(2), partition.WithGrace(13*time.Hour)))
	e.want(-3, 5) // the grace keeps one more
}

// What a table made by hand with PARTITION OF has, a partition has too.
func TestPostgresPartitionsAreLikeThoseOfPartitionOf(t *testing.T) {
	t.Parallel()
	e := newEvents(t, `CREATE TABLE users (id bigint PRIMARY KEY);
CREATE TABLE events (gone int, id bigint NOT NULL, n bigint GENERATED ALWAYS AS IDENTITY, body text DEFAULT 'x' CHECK (body <> ''),
	size int GENERATED ALWAYS AS (length(body)) STORED, "User" bigint REFERENCES users, PRIMARY KEY (id)) PARTITION BY RANGE (id);
ALTER TABLE events DROP COLUMN gone;
CREATE INDEX ON events (body);
CREATE FUNCTION shout() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN NEW.body = upper(NEW.body); RETURN NEW; END $$;
CREATE TRIGGER shout BEFORE INSERT ON events FOR EACH ROW EXECUTE FUNCTION shout()`)
	e.exec(fmt.Sprintf("CREATE TABLE by_hand PARTITION OF events FOR VALUES FROM (0) TO (%d)", idAt(e.day(-100))))
	e.maintain(e.set())
	const columns = `SELECT concat_ws(' ', attname, format_type(atttypid, atttypmod), attnotnull, attidentity, attgenerated, pg_get_expr(adbin, adrelid))
FROM pg_attribute LEFT JOIN pg_attrdef ON adrelid = attrelid AND adnum = attnum
WHERE attrelid = $1::regclass AND attnum > 0 AND NOT attisdropped ORDER BY attnum`
	const others = `SELECT pg_get_constraintdef(oid) FROM pg_constraint WHERE conrelid = $1::regclass
UNION ALL SELECT concat(indnatts, indisunique) FROM pg_index WHERE indrelid = $1::regclass
UNION ALL SELECT tgname FROM pg_trigger WHERE tgrelid = $1::regclass AND NOT tgisinternal ORDER BY 1`
	for _, query := range []string{columns, others} {
		byHand, made := e.texts(query, "by_hand"), e.texts(query, e.partition(0))
		if len(made) < 3 || !slices.Equal(made, byHand) {
			t.Errorf("the partition has\n%q, one made by hand\n%q", made, byHand)
		}
	}
	e.exec("INSERT INTO events (id, body) VALUES ($1, 'abc')", idAt(e.today))
	e.same(e.texts("SELECT concat_ws(' ', n, body, size) FROM "+e.partition(0)), "1 ABC 3")
}

func TestPostgresTableThatCanNotBeMaintainedIsRefused(t *testing.T) {
	const day = "FOR VALUES FROM (0) TO (1000)"
	for _, c := range []struct {
		name, statement string
		want            error
		text            string
	}{
		{"missing", "SELECT 1", partition.ErrTable, "there is no table events"},
		{"view", "CREATE VIEW events AS SELECT 1::bigint AS id", partition.ErrTable, "is a view"},
		{"sequence", "CREATE SEQUENCE events", partition.ErrTable, `the kind "S"`},
		{"not partitioned", "CREATE TABLE events (id bigint PRIMARY KEY)", partition.ErrTable, "is not partitioned: see Adopt"},
		{"another column", "CREATE TABLE events (id bigint, at bigint) PARTITION BY RANGE (at)", partition.ErrTable, "RANGE (at), want RANGE (id)"},
		{"two columns", "CREATE TABLE events (id bigint, at bigint) PARTITION BY RANGE (id, at)", partition.ErrTable, "RANGE (id, at)"},
		{"hash", "CREATE TABLE events (id bigint) PARTITION BY HASH (id)", partition.ErrTable, "HASH (id)"},
		{"list", "CREATE TABLE events (id bigint) PARTITION BY LIST (id)", partition.ErrTable, "LIST (id)"},
		{"expression", "CREATE TABLE events (id bigint) PARTITION BY RANGE ((id + 1))", partition.ErrTable, "want RANGE (id)"},
		{"int4", "CREATE TABLE events (id int) PARTITION BY RANGE (id)", partition.ErrTable, "the type integer, want bigint"},
		{"numeric", "CREATE TABLE events (id numeric) PARTITION BY RANGE (id)", partition.ErrTable, "the type numeric"},
		{"temporary", "CREATE TEMP TABLE events (id bigint) PARTITION BY RANGE (id)", partition.ErrTable, "is temporary"},
		{"a table with the name", eventsTable + "; CREATE TABLE today (id bigint)", partition.ErrBlocked, "today"},
		{"a type with the name", eventsTable + "; CREATE TYPE today AS ENUM ()", partition.ErrBlocked, "today"},
		{"another table's partition", eventsTable + "; CREATE TABLE other (id bigint) PARTITION BY RANGE (id); " +
			"CREATE TABLE today PARTITION OF other " + day, partition.ErrBlocked, "today"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			e := newEvents(t, "SELECT 1")
			e.SetMaxOpenConns(1) // of the temporary table
			e.exec(strings.ReplaceAll(c.statement, "today", e.partition(0)))
			before := e.tables()
			s := e.set(partition.WithAhead(1))
			e.fails(s, c.want, strings.ReplaceAll(c.text, "today", e.partition(0)))
			if _, planErr := s.Plan(e.limit(), e.DB); errors.Is(c.want, partition.ErrTable) != errors.Is(planErr, partition.ErrTable) {
				t.Errorf("the error of Plan is %v", planErr)
			}
			after := slices.DeleteFunc(e.tables(), func(name string) bool { return name == e.partition(1) })
			if !slices.Equal(before, after) {
				t.Errorf("the tables were %q, are %q", before, after)
			}
		})
	}
}

// Partitions that were made by hand count by their bounds: their gaps are filled, and what is dropped is decided by them.
func TestPostgresPartitionsMadeByHandCountByTheirBounds(t *testing.T) {
	t.Parallel()
	e := newEvents(t, eventsTable)
	noon := e.day(1).Add(12 * time.Hour)
	e.exec(fmt.Sprintf(`CREATE TABLE "Übermorgen" PARTITION OF events FOR VALUES FROM (%d) TO (%d)`, idAt(noon), idAt(e.day(2))))
	e.exec(fmt.Sprintf("CREATE TABLE %s PARTITION OF events FOR VALUES FROM (%d) TO (%d)", e.partition(-90), idAt(e.day(2)), idAt(e.day(3))))
	e.exec(fmt.Sprintf("CREATE TABLE oldest PARTITION OF events FOR VALUES FROM (MINVALUE) TO (%d)", idAt(e.day(-50))))
	e.maintain(e.set())
	e.insert(e.day(0), e.day(1), 24*time.Hour)
	e.maintain(e.set(partition.WithRetain(3), partition.WithStart(e.day(-60)), partition.WithGrace(48*time.Hour)))
	got := strings.Join(e.partitions(), "\n")
	for _, want := range []string{
		fmt.Sprintf("%s FOR VALUES FROM ('%d') TO ('%d')", e.partition(1), idAt(e.day(1)), idAt(noon)),
		fmt.Sprintf("Übermorgen FOR VALUES FROM ('%d') TO ('%d')", idAt(noon), idAt(e.day(2))),
		fmt.Sprintf("%s FOR VALUES FROM ('%d') TO ('%d')", e.partition(-90), idAt(e.day(2)), idAt(e.day(3))),
		fmt.Sprintf("%s FOR VALUES FROM ('%d') TO ('%d')", e.partition(3), idAt(e.day(3)), idAt(e.day(4))),
	} {
		if !strings.Contains(got, want) {
			t.Errorf("there is no partition %q in\n%s", want, got)
		}
	}
	if strings.Contains(got, "oldest") {
		t.Error("the oldest partition was not dropped")
	}
}

// A row below the period of a partition without a lower bound is somebody else's: the drop is blocked.
func TestPostgresPartitionWithForeignRowsIsNotDropped(t *testing.T) {
	t.Parallel()
	e := newEvents(t, eventsTable)
	e.exec(fmt.Sprintf("CREATE TABLE oldest PARTITION OF events FOR VALUES FROM (MINVALUE) TO (%d)", idAt(e.day(-50))))
	e.maintain(e.set())
	e.insert(e.day(0), e.day(1), 24*time.Hour)
	e.exec("INSERT INTO events (id) VALUES (7)")
	s := e.set(partition.WithRetain(3))
	e.fails(s, partition.ErrBlocked, "oldest", "key 7")
	e.counts(1, "SELECT count(*) FROM oldest")
	e.exec("DELETE FROM events WHERE id = 7")
	e.does(s, "drop oldest")
}

func TestPostgresPartitionedPartitionBeyondTheRetentionIsReported(t *testing.T) {
	t.Parallel()
	e := newEvents(t, eventsTable)
	e.exec(fmt.Sprintf("CREATE TABLE oldest PARTITION OF events FOR VALUES FROM (MINVALUE) TO (%d) PARTITION BY RANGE (id)", idAt(e.day(-50))))
	e.maintain(e.set())
	e.blocked(e.set(partition.WithRetain(3)), "oldest: it is beyond the retention, but has partitions of its own")
	e.does(e.set(partition.WithRetain(100)))
}

// An error of a step prevents no other one, and leaves nothing behind.
func TestPostgresReferencedRowsAreNotDropped(t *testing.T) {
	t.Parallel()
	e := newEvents(t, eventsTable+"; CREATE TABLE notes (event bigint REFERENCES events)")
	e.fill()
	e.exec("INSERT INTO notes VALUES ($1)", idAt(e.day(-8)))
	steps, err := e.set(partition.WithRetain(5)).Maintain(e.limit(), e.DB)
	e.says(err, "violates foreign key constraint \"notes_event_fkey", "drop "+e.partition(-8))
	if !slices.Contains(kinds(steps), "drop "+e.partition(-10)) || !slices.Contains(kinds(steps), "drop "+e.partition(-9)) {
		t.Errorf("the steps are %q", kinds(steps))
	}
	e.counts(24, "SELECT count(*) FROM events WHERE id < $1", idAt(e.day(-7)))
}

// role returns a role that may log in as nobody and is removed with the test.
func (e *events) role() string {
	e.Helper()
	role := "r" + e.texts("SELECT current_schema()")[0]
	e.exec("CREATE ROLE " + role)
	e.exec(fmt.Sprintf("GRANT ALL ON SCHEMA %s TO %s", e.texts("SELECT current_schema()")[0], role))
	e.Cleanup(func() {
		ctx := context.WithoutCancel(e.Context())
		for _, query := range []string{"DROP OWNED BY " + role + " CASCADE", "DROP ROLE " + role} {
			if _, err := e.ExecContext(ctx, query); err != nil {
				e.Error(err)
			}
		}
	})
	return role
}

func TestPostgresOnlyTheOwnerMaintains(t *testing.T) {
	t.Parallel()
	e := newEvents(t, eventsTable)
	role := e.role()
	e.SetMaxOpenConns(1)
	e.exec("GRANT ALL ON events TO " + role)
	e.exec("SET ROLE " + role)
	_, err := e.set().Maintain(e.limit(), e.DB)
	e.exec("RESET ROLE")
	e.is(err, partition.ErrTable, "only the owner")
	// What a superuser creates belongs to the owner.
	e.exec("ALTER TABLE events OWNER TO " + role)
	e.maintain(e.set())
	e.exec("SET ROLE " + role)
	defer e.exec("RESET ROLE")
	e.exec("DROP TABLE " + e.partition(0))
	e.maintain(e.set())
	e.want(0, 3)

	// Rows that a policy hides from the owner count.
	e.exec(fmt.Sprintf("CREATE TABLE oldest PARTITION OF events FOR VALUES FROM (MINVALUE) TO (%d)", idAt(e.day(-50))))
	e.exec("INSERT INTO events (id) VALUES (7)")
	e.exec("ALTER TABLE oldest ENABLE ROW LEVEL SECURITY; ALTER TABLE oldest FORCE ROW LEVEL SECURITY")
	steps, err := e.set(partition.WithRetain(3), partition.WithAhead(4)).Maintain(e.limit(), e.DB)
	if err == nil || !strings.Contains(err.Error(), "row-level security") || len(steps) != 1 {
		t.Errorf("the steps are %q, the error is %v", kinds(steps), err)
	}
	e.exec("ALTER TABLE oldest NO FORCE ROW LEVEL SECURITY")
	e.counts(1, "SELECT count(*) FROM oldest")
}

// All pools of database/sql do, with all that is done on its own connections.
func TestPostgresPools(t *testing.T) {
	for name, open := range map[string]func(t *testing.T, target testdb.Target) *sql.DB{
		"sql": func(t *testing.T, target testdb.Target) *sql.DB { return target.Open(t) },
		"pgxpool": func(t *testing.T, target testdb.Target) *sql.DB {
			pool, err := pgxpool.New(t.Context(), target.DSN)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(pool.Close)
			db := stdlib.OpenDBFromPool(pool)
			t.Cleanup(func() { _ = db.Close() })
			return db
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := newEvents(t, eventsTable)
			e.DB = open(t, e.target)
			e.SetMaxOpenConns(1)
			e.fill()
			e.exec("SET lock_timeout = '7s'")
			archive := func(_ context.Context, table string) error { return nil }
			s := e.set(partition.WithRetain(3), partition.WithDetachConcurrently(), partition.WithArchive(archive))
			e.maintain(s)
			e.same(e.texts("SELECT current_setting('lock_timeout')"), "7s")
			e.counts(0, "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND pid = pg_backend_pid()")
			e.tableCount(e.tables(), 1+3+1+3)
		})
	}
}

// lines is a destination for a logger.
type lines chan string

func (l lines) Write(text []byte) (int, error) {
	l <- string(text)
	return len(text), nil
}

func TestPostgresRunLogsWhatItDoesAndWhatFails(t *testing.T) {
	e := newEvents(t, "SELECT 1")
	log := make(lines, 100)
	s := e.set(partition.WithLogger(slog.New(slog.NewTextHandler(log, nil))))
	ctx, cancel := context.WithCancel(e.limit())
	defer cancel()
	done := make(chan error, 1)
	go func() { done <- s.Run(ctx, e.DB, 10*time.Millisecond) }()
	for _, want := range []string{"level=ERROR", "level=INFO"} {
		line := ""
		for !strings.Contains(line, want) {
			select {
			case line = <-log:
			case <-ctx.Done():
				t.Fatalf("no line with %s", want)
			}
		}
		if !strings.Contains(line, "table=events") || want == "level=ERROR" && !strings.Contains(line, "there is no table events") {
			t.Errorf("the line is %q", line)
		}
		if want == "level=ERROR" {
			e.exec(eventsTable)
		}
	}
	e.waitFor("SELECT count(*) / 4 FROM pg_inherits WHERE inhparent = 'events'::regclass")
	cancel()
	e.is(<-done, context.Canceled)
	if err := s.Run(t.Context(), e.DB, 0); !errors.Is(err, partition.ErrOption) {
		t.Errorf("the error is %v", err)
	}
}
