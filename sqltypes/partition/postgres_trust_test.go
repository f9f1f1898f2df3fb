package partition_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/sqlflake/sqlflake/sqltypes/partition"
)

// The comment of a table of another role does not make the role that maintains read it, which would execute its code.
func TestPostgresMarkedTableOfAnotherRoleIsIgnored(t *testing.T) {
	e := filledEvents(t)
	role := e.role()
	e.exec(fmt.Sprintf(`CREATE TYPE kind AS ENUM ('a');
CREATE FUNCTION code(kind) RETURNS bigint LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'the code runs as %%', current_user; END $$;
CREATE CAST (kind AS bigint) WITH FUNCTION code(kind) AS IMPLICIT;
CREATE TABLE loose (id kind); INSERT INTO loose VALUES ('a');
CREATE TABLE other (id bigint);
ALTER TYPE kind OWNER TO %[1]s; ALTER TABLE loose OWNER TO %[1]s; ALTER TABLE other OWNER TO %[1]s`, role))
	for _, table := range []string{"loose", "other"} {
		e.exec(fmt.Sprintf(`COMMENT ON TABLE %s IS 'sqlflake: detached from "%s.events", keys 0 to 1000'`, table, e.schema()))
	}
	e.maintain(e.set(partition.WithRetain(3)))
	for _, table := range []string{"loose", "other"} {
		e.hasTable(table, true)
	}
	// A table of the owner is one of events.
	e.exec("ALTER TABLE other OWNER TO current_user")
	e.maintain(e.set(partition.WithRetain(3)))
	e.hasTable("other", false)
}

// The server and the process are six days ahead of the time at which most rows were written. Today's are of the wrong clock.
func TestPostgresClocksThatAreAheadRemoveNothing(t *testing.T) {
	e := filledEvents(t)
	e.clocksAhead(e.set)
}

func (e *events) clocksAhead(set func(...partition.Option) *partition.Set) {
	e.Helper()
	e.exec(fmt.Sprintf("DELETE FROM events WHERE id >= %d AND id < %d", idAt(e.day(-6)), idAt(e.day(0))))
	e.blocked(set(partition.WithRetain(8)), "there is no row from "+e.day(-6).Format(time.DateOnly))
	e.exec(fmt.Sprintf("DELETE FROM events WHERE id >= %d", idAt(e.day(0)))) // without writers
	e.blocked(set(partition.WithRetain(8)), "WithIdle(6)")
	e.maintain(set(partition.WithRetain(8), partition.WithIdle(6)))
	e.counts(0, fmt.Sprintf("SELECT count(*) FROM events WHERE id < %d", idAt(e.day(-8))))
}

// Default privileges would let a role read a partition past the policies of the table.
func TestPostgresPartitionHasNoPrivilegesOfItsOwn(t *testing.T) {
	t.Parallel()
	e := newEvents(t, eventsTable)
	role := e.role()
	e.exec(`ALTER DEFAULT PRIVILEGES IN SCHEMA ` + e.schema() + ` GRANT ALL ON TABLES TO PUBLIC, ` + role)
	e.exec("ALTER TABLE events REPLICA IDENTITY FULL")
	e.maintain(e.set())
	e.exec("ALTER TABLE events OWNER TO " + role)
	e.maintain(e.set(partition.WithAhead(4)))
	const privileges = `SELECT c.relname || ' ' || g::text FROM pg_class c, aclexplode(c.relacl) g
WHERE c.oid IN (SELECT inhrelid FROM pg_inherits WHERE inhparent = 'events'::regclass) AND g.grantee <> c.relowner`
	e.same(e.texts(privileges))
	const identities = `SELECT count(*) FROM pg_class WHERE relispartition AND relkind = 'r' AND relreplident = 'f'
AND relnamespace = current_schema()::regnamespace`
	e.counts(5, identities)
}
