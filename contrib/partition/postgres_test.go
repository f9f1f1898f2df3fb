package partition_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sqlflake/sqlflake/contrib/partition"
	"github.com/sqlflake/sqlflake/internal/testdb"
)

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
	for _, statement := range statements {
		_, execErr := tx.Exec(statement, id)
		err = errors.Join(err, execErr)
		time.Sleep(5 * time.Millisecond)
	}
	return errors.Join(err, tx.Commit())
}

// Who attaches a detached table again, and detaches it later to keep it, keeps it: the mark is gone by then.
func TestPostgresMarkOfAnAttachedTableIsRemoved(t *testing.T) {
	e := filledPostgres(t)
	failing := partition.WithArchive(func(context.Context, string) error { return errors.New("no space") })
	e.exec("COMMENT ON TABLE " + dayName(-10) + " IS 'the first'")
	e.fails(e.set(partition.WithRetain(9), failing), nil, "no space")
	e.exec(fmt.Sprintf("ALTER TABLE events ATTACH PARTITION %s FOR VALUES FROM ('%d') TO ('%d')", dayName(-10), idAt(day(-10)), idAt(day(-9))))
	e.does(e.set(), "alter "+dayName(-10))
	e.same([]string{e.comment(dayName(-10))}, "the first")
	e.exec("ALTER TABLE events DETACH PARTITION " + dayName(-10))
	e.maintain(e.set(partition.WithRetain(9)))
	e.rows(dayName(-10), 4)
}

// The statements of the README move rows out of a default partition.
func TestRowsOfADefaultPartitionAreMovedByTheStatementsOfTheREADME(t *testing.T) {
	page, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}

	_, section, _ := strings.Cut(string(page), "BEGIN; -- PostgreSQL\n")
	onPostgres, section, _ := strings.Cut(section, "COMMIT;")
	_, onMySQL, _ := strings.Cut(section, "MariaDB\n")
	onMySQL, _, _ = strings.Cut(onMySQL, ";\n")
	both(t, func(t *testing.T, e *events) {
		e.exec(e.either("CREATE TABLE events_default PARTITION OF events DEFAULT",
			"ALTER TABLE events ADD PARTITION (PARTITION events_default VALUES LESS THAN (MAXVALUE))"))
		e.insert(day(4), day(5), time.Hour)
		s := e.set(partition.WithAhead(4))
		e.blocked(s, e.either(fmt.Sprintf("FROM (%d) TO (%d)", idAt(day(4)), idAt(day(5))), "split it"))
		text := strings.NewReplacer("LO", idAt(day(4)).String(), "HI", idAt(day(5)).String(), "events_2027_01", dayName(4)).Replace(e.either(onPostgres, onMySQL))
		e.exec(text + ";\n")
		e.rows(e.either(dayName(4), "events PARTITION ("+dayName(4)+")"), 24)
		e.rows("events", 11*4+24)
		e.maintain(s)
	})
}

// Whoever may only create objects in a schema of the search_path runs nothing as the role that maintains a table. The
// table's own functions have the search_path of the session.
func TestNoCodeOfAStrangerRuns(t *testing.T) {
	testdb.EachTrapped(t, func(t *testing.T, victim testdb.Trapped) {
		e := newEvents(t, victim.Target, "")
		e.DB = victim.Safe // the traps are for the Sets only
		db := victim.Open(t)
		e.exec(`CREATE TABLE users (id bigint PRIMARY KEY);
CREATE TABLE checked (id bigint);
CREATE FUNCTION check_body(body text) RETURNS boolean LANGUAGE plpgsql IMMUTABLE AS $$
	BEGIN PERFORM FROM checked; RETURN true; END $$;
CREATE TABLE events (id bigint PRIMARY KEY, "user" bigint REFERENCES users, body text CHECK (check_body(body)));
CREATE TABLE lines (id bigint PRIMARY KEY, event bigint REFERENCES events ON DELETE CASCADE);
CREATE INDEX ON events (check_body(body));
CREATE STATISTICS events_stat ON id, body FROM events;
COMMENT ON TABLE events IS 'all of them';
CREATE FUNCTION note() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN INSERT INTO checked VALUES (NEW.id); RETURN NEW; END $$;
CREATE TRIGGER note AFTER INSERT ON events FOR EACH ROW EXECUTE FUNCTION note();
ALTER DEFAULT PRIVILEGES GRANT SELECT ON TABLES TO PUBLIC;
ALTER TABLE events REPLICA IDENTITY FULL`)
		e.exec("INSERT INTO events (id) VALUES ($1)", idAt(day(0)))
		plan := func(s *partition.Set) {
			t.Helper()
			_, err := s.Plan(t.Context(), db)
			e.ok(err)
		}
		maintain := func(options ...partition.Option) {
			t.Helper()
			s := e.set(options...)
			plan(s)
			_, err := s.Maintain(t.Context(), db)
			e.ok(err)
		}

		s := e.set()
		_, err := s.PlanAdopt(t.Context(), db)
		e.ok(err)
		_, err = s.Adopt(t.Context(), db)
		e.ok(err)
		e.exec("DROP TABLE lines")

		e.exec("CREATE TABLE events_default PARTITION OF events DEFAULT")
		maintain(partition.WithAhead(4))

		e.exec("DROP TABLE events")
		e.exec(eventsTable)
		maintain(partition.WithStart(day(-10)))
		e.insert(day(-10), day(1), 6*60*60*1e9)
		maintain(partition.WithRetain(9))
		maintain(partition.WithRetain(8), partition.WithKeep())
		maintain(partition.WithRetain(7), archiveNothing)
		e.want(-7, 3)
	})
}

// BenchmarkLookup finds rows by their ID in one table, in partitions by the key, and in partitions by a time, whose key
// is (id, made): of those a lookup by ID reads all. Each of 120 partitions has 20 rows.
func BenchmarkLookup(b *testing.B) {
	const columns, rows = "CREATE TABLE looked_up (id bigint, made timestamptz, PRIMARY KEY (", 120 * 20
	const loop = `DO $$ BEGIN FOR i IN 0..119 LOOP EXECUTE format(
		'CREATE TABLE looked_up_%s PARTITION OF looked_up FOR VALUES FROM (%L) TO (%L)', i, `
	for name, create := range map[string]string{
		"by=id/partitions=1":     columns + "id))",
		"by=id/partitions=120":   columns + "id)) PARTITION BY RANGE (id); " + loop + "i * 20, i * 20 + 20); END LOOP; END $$",
		"by=made/partitions=120": columns + "id, made)) PARTITION BY RANGE (made); " + loop + "to_timestamp(i * 20), to_timestamp(i * 20 + 20)); END LOOP; END $$",
	} {
		b.Run(name, func(b *testing.B) {
			db := testdb.Postgres(b).Open(b)
			_, err := db.Exec(create + "; INSERT INTO looked_up SELECT n, to_timestamp(n) FROM generate_series(0, 2399) AS n")
			for made := (time.Time{}); err == nil && b.Loop(); {
				err = db.QueryRow("SELECT made FROM looked_up WHERE id = $1", rand.IntN(rows)).Scan(&made)
			}
			if err != nil {
				b.Fatal(err)
			}
		})
	}
}
