package partition_test

import (
	"context"
	"testing"

	"github.com/sqlflake/sqlflake/contrib/partition"
	"github.com/sqlflake/sqlflake/internal/testdb"
)

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
		archive := partition.WithArchive(func(context.Context, string) error { return nil })
		maintain(partition.WithRetain(7), archive)
		e.want(-7, 3)
	})
}
