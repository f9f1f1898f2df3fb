package partition_test

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sqlflake/sqlflake/sqltypes/partition"
)

// richTable has all that Adopt carries over. Roles are shared by the databases of a server: the tests use those that
// every server has.
const richTable = `
CREATE TABLE kinds (id bigint PRIMARY KEY);
INSERT INTO kinds VALUES (1), (2);
CREATE FUNCTION noted() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN INSERT INTO notes VALUES (TG_NAME); RETURN new; END';
CREATE FUNCTION noted_after() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN INSERT INTO notes VALUES (TG_NAME); RETURN NULL; END';
CREATE TABLE notes (name text);
CREATE TABLE events (
	id bigint, gone int, number bigserial, kind bigint NOT NULL DEFAULT 1,
	text varchar(40) COLLATE "C" DEFAULT 'it''s', "Odd ""name" numeric(10, 2) CHECK ("Odd ""name" > 0),
	twice bigint GENERATED ALWAYS AS (kind * 2) STORED, tags text[], at timestamptz DEFAULT now(),
	CONSTRAINT events_pkey PRIMARY KEY (id) WITH (fillfactor = 80),
	CONSTRAINT events_again UNIQUE (text, id) INCLUDE (kind) DEFERRABLE INITIALLY DEFERRED,
	CONSTRAINT events_kind_fkey FOREIGN KEY (kind) REFERENCES kinds ON UPDATE CASCADE DEFERRABLE,
	CONSTRAINT sane CHECK (kind < 100 AND text <> '')
) WITH (fillfactor = 90);
ALTER TABLE events DROP COLUMN gone;
CREATE UNIQUE INDEX events_kind_id ON events (kind, id);
CREATE INDEX "events Lower" ON events (lower(text) text_pattern_ops DESC NULLS LAST) WITH (fillfactor = 50) WHERE kind > 1;
CREATE INDEX events_tags ON events USING gin (tags);
CREATE INDEX events_at ON events USING brin (at);
CREATE STATISTICS events_stat (ndistinct, dependencies) ON kind, text FROM events;
ALTER STATISTICS events_stat SET STATISTICS 500;
CREATE TRIGGER "Before each" BEFORE INSERT ON events FOR EACH ROW WHEN (new.kind = 1) EXECUTE FUNCTION noted();
CREATE TRIGGER after_statement AFTER INSERT ON events REFERENCING NEW TABLE AS added FOR EACH STATEMENT EXECUTE FUNCTION noted_after();
CREATE CONSTRAINT TRIGGER late AFTER INSERT ON events DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION noted_after();
CREATE TRIGGER off AFTER INSERT ON events FOR EACH ROW EXECUTE FUNCTION noted_after();
ALTER TABLE events DISABLE TRIGGER off;
CREATE TRIGGER always AFTER DELETE ON events FOR EACH ROW EXECUTE FUNCTION noted_after();
ALTER TABLE events ENABLE ALWAYS TRIGGER always;
ALTER TABLE events ALTER COLUMN kind SET STATISTICS 300;
ALTER TABLE events ALTER COLUMN text SET (n_distinct = -0.5);
ALTER TABLE events ALTER COLUMN text SET STORAGE EXTERNAL;
ALTER TABLE events ALTER COLUMN tags SET COMPRESSION pglz;
ALTER TABLE events REPLICA IDENTITY USING INDEX events_kind_id;
COMMENT ON TABLE events IS 'all ''events''';
COMMENT ON COLUMN events.text IS 'a column';
COMMENT ON CONSTRAINT sane ON events IS 'a check';
COMMENT ON CONSTRAINT events_pkey ON events IS 'a key';
COMMENT ON CONSTRAINT events_kind_fkey ON events IS 'a reference';
COMMENT ON INDEX events_kind_id IS 'an index';
COMMENT ON TRIGGER off ON events IS 'a trigger';
COMMENT ON STATISTICS events_stat IS 'statistics';
GRANT SELECT, INSERT ON events TO pg_monitor WITH GRANT OPTION;
GRANT SELECT (text), UPDATE (kind) ON events TO pg_read_all_stats;
GRANT SELECT ON events TO PUBLIC;
CREATE TABLE lines (id bigint PRIMARY KEY, event bigint CONSTRAINT lines_event REFERENCES events ON DELETE CASCADE);
COMMENT ON CONSTRAINT lines_event ON lines IS 'of two
lines';
CREATE TABLE pairs (event bigint, kind bigint, CONSTRAINT pairs_fkey FOREIGN KEY (kind, event) REFERENCES events (kind, id) DEFERRABLE INITIALLY DEFERRED);
CREATE TABLE loose (event bigint);
INSERT INTO loose VALUES (-5);
ALTER TABLE loose ADD CONSTRAINT loose_fkey FOREIGN KEY (event) REFERENCES events NOT VALID;
`

func TestAdoptCarriesEverythingOver(t *testing.T) {
	t.Parallel()
	a := onPostgres(t, richTable)
	a.exec(fmt.Sprintf(`INSERT INTO events (id, text) SELECT %d + n, 'row ' || n FROM generate_series(1, 1000) AS n;
		INSERT INTO lines VALUES (1, %[1]d + 7);
		INSERT INTO pairs VALUES (%[1]d + 8, 1);
`, idAt(time.Now().Add(-time.Hour))))
	before := a.describe()
	files := `SELECT string_agg(pg_relation_filenode(oid)::text, ' ' ORDER BY oid) FROM pg_class
		WHERE oid = $1::regclass OR oid IN (SELECT indexrelid FROM pg_index WHERE indrelid = $1::regclass)`
	filesBefore := a.texts(files, "events")

	set := a.newSet(partition.Day)
	plan, err := set.PlanAdopt(t.Context(), a.DB)
	a.must(err)
	if got := a.describe(); !reflect.DeepEqual(got, before) || len(plan.Problems) > 0 {
		t.Fatalf("PlanAdopt has changed the table, or: %v", plan.Problems)
	}
	steps := a.adopt(set)
	texts := func(steps []partition.Step) (texts []string) {
		for _, s := range steps {
			texts = append(texts, fmt.Sprint(s.Action, s.Partition, s.Why, s.SQL))
		}
		return texts
	}
	a.same(texts(steps), texts(plan.Steps)...)
	after := a.describe()
	for name := range before {
		a.same(after[name], before[name]...)
	}
	a.same(a.texts(files, "events_legacy"), filesBefore...)
	a.same(a.texts(`SELECT conname::text FROM pg_constraint WHERE conname LIKE 'sqlflake%' AND connamespace = current_schema()::regnamespace`))
	a.same(a.texts(`SELECT conname::text FROM pg_constraint WHERE NOT convalidated AND conrelid IN ('lines'::regclass, 'pairs'::regclass)`))
	a.same(a.texts(`SELECT count(*)::text FROM events`), "1000")

	// Triggers fire once, in the old partition and in a new one, and references hold.
	for _, at := range []time.Time{time.Now(), steps[2].To} {
		id := idAt(at) + 1
		a.exec("TRUNCATE notes")
		a.exec(fmt.Sprintf("INSERT INTO events (id, text) VALUES (%d, 'x')", id))
		a.same(a.texts(`SELECT name FROM notes ORDER BY name`), "Before each", "after_statement", "late")
		a.exec(fmt.Sprintf("INSERT INTO lines VALUES (%d, %[1]d)", id))
		a.exec(fmt.Sprintf("DELETE FROM events WHERE id = %d", id))
	}
	a.same(a.texts(`SELECT id::text FROM lines`), "1")
	if _, err := a.ExecContext(t.Context(), "INSERT INTO lines VALUES (9, 9)"); err == nil {
		t.Error("a line without an event")
	}

	// The Set fits the table, and its partition is one like others.
	a.same(kinds(a.adopt(set)))
	a.does(set)
}

// The owner and the privileges stay, whoever calls Adopt and whatever privileges new tables get by default.
func TestAdoptKeepsOwnerAndPrivileges(t *testing.T) {
	t.Parallel()
	a := onPostgres(t, "CREATE TABLE events (id bigint PRIMARY KEY)")
	role := a.role()
	schema := a.schema()
	a.exec("ALTER TABLE events OWNER TO " + role + ";\nREVOKE DELETE ON events FROM " + role)
	a.exec("ALTER DEFAULT PRIVILEGES IN SCHEMA " + schema + " GRANT SELECT ON TABLES TO PUBLIC;\nGRANT USAGE ON SCHEMA " + schema + " TO pg_monitor")
	before := a.describe()
	set := a.newSet(partition.Day)
	a.SetMaxOpenConns(1)
	a.exec("SET ROLE pg_monitor")
	if plan, err := set.PlanAdopt(t.Context(), a.DB); err != nil || !strings.Contains(fmt.Sprint(plan.Problems), "does not own") {
		t.Errorf("plan of a role that does not own the table: %v, %v", plan, err)
	}
	for _, by := range []string{"postgres", role} {
		a.exec("SET ROLE " + by)
		if by == role {
			a.exec("DROP TABLE events;\nCREATE TABLE events (id bigint PRIMARY KEY);\nREVOKE DELETE ON events FROM " + role)
		}
		a.adopt(set)
		if got := a.describe(); !reflect.DeepEqual(got, before) {
			t.Errorf("%v\nbecame\n%v\nby %s", before, got, by)
		}
	}
	a.exec("RESET ROLE")
}

// adopt adopts the table.
func (a *events) adopt(s *partition.Set) []partition.Step {
	a.Helper()
	steps, err := s.Adopt(a.limit(), a.DB)
	a.must(err)
	return steps
}

// describeQueries return what \d+ shows of a table, without its kind and partitions.
var describeQueries = map[string]string{
	"table":      `SELECT relowner::regrole || ' ' || relreplident::text || ' ' || coalesce(obj_description(oid, 'pg_class'), '') FROM pg_class WHERE oid = $1::regclass`,
	"privileges": `SELECT grantor::regrole || ' ' || grantee::text || ' ' || privilege_type || is_grantable FROM pg_class, aclexplode(relacl) WHERE oid = $1::regclass`,
	"columns": `SELECT concat_ws('|', attname, format_type(atttypid, atttypmod), attnotnull, pg_get_expr(adbin, adrelid), attgenerated, attstorage, attcompression,
		attstattarget, (SELECT string_agg(o, ' ') FROM unnest(attoptions) AS o WHERE o LIKE 'n_%'), attacl, attcollation::regcollation, col_description(attrelid, attnum), pg_get_serial_sequence($1, attname))
		FROM pg_attribute LEFT JOIN pg_attrdef ON adrelid = attrelid AND adnum = attnum WHERE attrelid = $1::regclass AND attnum > 0 AND NOT attisdropped`,
	"constraints": `SELECT concat_ws('|', conname, contype, pg_get_constraintdef(oid), convalidated, obj_description(oid, 'pg_constraint'))
		FROM pg_constraint WHERE conrelid = $1::regclass`,
	"indexes": `SELECT concat_ws('|', replace(pg_get_indexdef(indexrelid), ' ON ONLY ', ' ON '), reloptions, indisreplident, indisvalid, obj_description(indexrelid, 'pg_class'))
		FROM pg_index JOIN pg_class ON oid = indexrelid WHERE indrelid = $1::regclass`,
	"statistics": `SELECT concat_ws('|', pg_get_statisticsobjdef(oid), stxstattarget, obj_description(oid, 'pg_statistic_ext')) FROM pg_statistic_ext WHERE stxrelid = $1::regclass`,
	"triggers":   `SELECT concat_ws('|', pg_get_triggerdef(oid), tgenabled, obj_description(oid, 'pg_trigger')) FROM pg_trigger WHERE tgrelid = $1::regclass AND NOT tgisinternal`,
	"references": `SELECT concat_ws('|', conrelid::regclass, conname, pg_get_constraintdef(oid), convalidated, obj_description(oid, 'pg_constraint'))
		FROM pg_constraint WHERE confrelid = $1::regclass AND conparentid = 0`,
	"sequences": `SELECT concat_ws('|', objid::regclass, deptype) FROM pg_depend WHERE refobjid = $1::regclass AND refclassid = 'pg_class'::regclass
		AND (SELECT relkind FROM pg_class WHERE oid = objid) = 'S'`,
}

func (a *events) describe() map[string][]string {
	a.Helper()
	found := make(map[string][]string)
	for name, query := range describeQueries {
		found[name] = a.texts(query, "events")
		slices.Sort(found[name])
	}
	return found
}
