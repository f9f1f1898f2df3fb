package partition_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/sqlflake/sqlflake/sqltypes/partition"
)

// The comment of a table of another role does not make the role that maintains read it, which would execute its code.
func TestPostgresMarkedTableOfAnotherRoleIsIgnored(t *testing.T) {
	t.Parallel()
	e := newEvents(t, eventsTable)
	e.fill()
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
		if !slices.Contains(e.tables(), table) {
			t.Errorf("the table %s of another role was dropped", table)
		}
	}
	// A table of the owner is one of events.
	e.exec("ALTER TABLE other OWNER TO current_user")
	e.maintain(e.set(partition.WithRetain(3)))
	if slices.Contains(e.tables(), "other") {
		t.Error("the table of the owner is still there")
	}
}
