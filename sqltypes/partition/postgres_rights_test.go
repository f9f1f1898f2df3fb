package partition_test

import (
	"testing"

	"github.com/sqlflake/sqlflake/sqltypes/partition"
)

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
